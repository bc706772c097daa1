// SPDX-License-Identifier: GPL-2.0
/*
 * The module and its parameters
 */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "capture.h"
#include "fail.h"
#include "far.h"
#include "compat.h"
#include "softib.h"

static unsigned int hcas = 2;
module_param(hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "number of HCAs on a first switch, 0 to 64 (default 2)");

unsigned int softib_mtu = 2048;
module_param_named(ib_mtu, softib_mtu, uint, 0444);
MODULE_PARM_DESC(ib_mtu, "MTU of all links: 256, 512, 1024, 2048 or 4096 bytes (default 2048)");

unsigned int softib_machine;
module_param_named(machine, softib_machine, uint, 0444);
MODULE_PARM_DESC(machine, "number that goes into the GUIDs, 0 to 255; another one in every kernel of a fabric (default 0)");

struct dentry *softib_debugfs;
struct workqueue_struct *softib_wq;

static int loss_set(const char *val, const struct kernel_param *kp)
{
	unsigned int ppm;
	int ret;

	ret = kstrtouint(val, 0, &ppm);
	if (ret || ppm > SOFTIB_MILLION) {
		pr_err("softib: loss is in packets per million, 0 to %u\n",
		       SOFTIB_MILLION);
		return ret ?: -EINVAL;
	}
	WRITE_ONCE(softib_loss, ppm);
	return 0;
}

static int loss_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(softib_loss));
}

static const struct kernel_param_ops loss_ops = {
	.set = loss_set,
	.get = loss_get,
};

module_param_cb(loss, &loss_ops, NULL, 0644);
MODULE_PARM_DESC(loss, "packets per million that each link loses each way, of all but VL15; may be changed at any time (default 0)");

static int __init softib_init(void)
{
	int ret;

	if (hcas > SOFTIB_MAX_HCAS) {
		pr_err("softib: hcas=%u is not in the range 0 to %u\n",
		       hcas, SOFTIB_MAX_HCAS);
		return -EINVAL;
	}
	if (!softib_mtu_ok(softib_mtu)) {
		pr_err("softib: ib_mtu=%u is not 256, 512, 1024, 2048 or 4096\n",
		       softib_mtu);
		return -EINVAL;
	}
	if (softib_machine > SOFTIB_MAX_MACHINE) {
		pr_err("softib: machine=%u is not in the range 0 to %u\n",
		       softib_machine, SOFTIB_MAX_MACHINE);
		return -EINVAL;
	}
	softib_vcrc_init();
	ret = softib_alloc_init();
	if (ret)
		return ret;
	ret = softib_bus_init();
	if (ret)
		goto err_alloc;
	ret = -ENOMEM;
	softib_wq = alloc_workqueue("softib", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!softib_wq)
		goto err_bus;
	softib_soon_init(softib_hca_soon);
	ret = softib_udp_init();
	if (ret)
		goto err_wq;
	softib_debugfs = debugfs_create_dir("softib", NULL);
	softib_fail_init();
	ret = softib_conf_init(hcas);
	if (ret)
		goto err_udp;
	softib_capture_init();
	pr_info("softib: version " PROJECT_VERSION ", %u HCAs\n", hcas);
	return 0;

err_udp:
	debugfs_remove(softib_debugfs);
	softib_udp_exit();
err_wq:
	softib_soon_exit();
	destroy_workqueue(softib_wq);
err_bus:
	softib_bus_exit();
err_alloc:
	softib_alloc_exit();
	return ret;
}
module_init(softib_init);

static void __exit softib_exit(void)
{
	softib_conf_exit();
	debugfs_remove(softib_debugfs);
	softib_udp_exit();
	softib_soon_exit();
	destroy_workqueue(softib_wq);
	softib_bus_exit();
	softib_alloc_exit();
}
module_exit(softib_exit);

MODULE_DESCRIPTION("Virtual InfiniBand fabric");
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");
