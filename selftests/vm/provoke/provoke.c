// SPDX-License-Identifier: GPL-2.0
/*
 * Does, when loaded, one thing that a kernel must not do, so that the tests
 * of tools/vm/run can see that it is noticed.
 */
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/string.h>

static char *how = "warn";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "What to provoke: warn, oops or panic");

static int __init provoke_init(void)
{
	if (!strcmp(how, "warn")) {
		WARN(1, "provoked on request\n");
	} else if (!strcmp(how, "oops")) {
		WRITE_ONCE(*(int *)8, 0);
	} else if (!strcmp(how, "panic")) {
		panic("provoked on request");
	} else {
		pr_err("provoke: how=%s is not known\n", how);
		return -EINVAL;
	}
	return 0;
}
module_init(provoke_init);

static void __exit provoke_exit(void)
{
}
module_exit(provoke_exit);

MODULE_DESCRIPTION("Provokes a kernel report on request");
MODULE_LICENSE("GPL");
