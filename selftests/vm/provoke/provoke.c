// SPDX-License-Identifier: GPL-2.0
/*
 * Does, when loaded, one thing that a kernel must not do, so that the tests
 * of tools/vm/run can see that it is noticed.
 */
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *how = "warn";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "What to provoke: warn, oops, panic, use-after-free, bounds, leak or keep");

static struct sk_buff_head kept;

/* READ_ONCE: or the compiler sees through it. */
static noinline void use_after_free(void)
{
	u8 *p = kmalloc(32, GFP_KERNEL);

	kfree(p);
	if (p)
		pr_info("provoke: %u\n", READ_ONCE(p[1]));
}

/* Of an array and of a shift; what is behind the array is not touched. */
static noinline void bounds(unsigned int n)
{
	struct {
		u32 in[4], behind[4];
	} words = {};

	pr_info("provoke: %u\n", READ_ONCE(words.in[n]) + (1U << (n * 8)));
}

/* Not zeroes: kmemleak believes only in what two scans saw alike. */
static noinline void leak(void)
{
	void *p = kmalloc(4000, GFP_KERNEL);

	if (p)
		memset(p, 0x5a, 4000);
}

/* Pointed to, and so no leak, but not given back; nor can the module go. */
static noinline void keep(void)
{
	struct sk_buff *skb;
	int i;

	__module_get(THIS_MODULE);
	skb_queue_head_init(&kept);
	for (i = 0; i < 200; i++) {
		skb = alloc_skb(64, GFP_KERNEL);
		if (skb)
			skb_queue_tail(&kept, skb);
	}
}

static int __init provoke_init(void)
{
	if (!strcmp(how, "warn")) {
		WARN(1, "provoked on request\n");
	} else if (!strcmp(how, "oops")) {
		WRITE_ONCE(*(int *)8, 0);
	} else if (!strcmp(how, "panic")) {
		panic("provoked on request");
	} else if (!strcmp(how, "use-after-free")) {
		use_after_free();
	} else if (!strcmp(how, "bounds")) {
		bounds(strlen(how) - 1);
	} else if (!strcmp(how, "leak")) {
		leak();
	} else if (!strcmp(how, "keep")) {
		keep();
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
