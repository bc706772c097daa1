// SPDX-License-Identifier: GPL-2.0
/*
 * A fabric of HCAs on one switch
 */
#include <linux/module.h>

#include "softib.h"

static unsigned int hcas = 2;
module_param(hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "number of HCAs, 1 to 64 (default 2)");

unsigned int softib_mtu = 2048;
module_param_named(ib_mtu, softib_mtu, uint, 0444);
MODULE_PARM_DESC(ib_mtu, "MTU of all links: 256, 512, 1024, 2048 or 4096 bytes (default 2048)");

module_param_cb(loss, &softib_loss_ops, NULL, 0644);
MODULE_PARM_DESC(loss, "packets per million that each link loses each way, of all but VL15; may be changed at any time (default 0)");

static struct softib_hca *fabric_hcas[SOFTIB_MAX_HCAS];
static struct softib_node *fabric_switch;

/* All HCAs are unregistered while all links still work, so that consumers can
 * say goodbye; then everything falls silent; then memory is freed.
 */
static void fabric_destroy(void)
{
	int i;

	for (i = 0; i < SOFTIB_MAX_HCAS; i++)
		if (fabric_hcas[i])
			softib_hca_unregister(fabric_hcas[i]);
	for (i = 0; i < SOFTIB_MAX_HCAS; i++)
		if (fabric_hcas[i])
			softib_hca_stop(fabric_hcas[i]);
	for (i = 0; i < SOFTIB_MAX_HCAS; i++) {
		if (fabric_hcas[i])
			softib_hca_destroy(fabric_hcas[i]);
		fabric_hcas[i] = NULL;
	}
	softib_switch_destroy(fabric_switch);
}

static int fabric_create(void)
{
	struct softib_hca *hca;
	int i, ret;

	fabric_switch = softib_switch_create(hcas);
	if (IS_ERR(fabric_switch))
		return PTR_ERR(fabric_switch);

	for (i = 0; i < hcas; i++) {
		hca = softib_hca_create(i);
		if (IS_ERR(hca)) {
			ret = PTR_ERR(hca);
			goto err;
		}
		fabric_hcas[i] = hca;
		softib_link(softib_hca_port(hca), &fabric_switch->ports[i + 1]);
		ret = softib_hca_register(hca);
		if (ret)
			goto err;
	}
	return 0;
err:
	fabric_destroy();
	return ret;
}

static int __init softib_init(void)
{
	int ret;

	if (!hcas || hcas > SOFTIB_MAX_HCAS) {
		pr_err("softib: hcas=%u is not in the range 1 to %u\n",
		       hcas, SOFTIB_MAX_HCAS);
		return -EINVAL;
	}
	if (!is_power_of_2(softib_mtu) || softib_mtu < 256 ||
	    softib_mtu > SOFTIB_MAX_MTU) {
		pr_err("softib: ib_mtu=%u is not 256, 512, 1024, 2048 or 4096\n",
		       softib_mtu);
		return -EINVAL;
	}
	ret = fabric_create();
	if (!ret)
		softib_capture_init();
	return ret;
}
module_init(softib_init);

static void __exit softib_exit(void)
{
	softib_capture_exit();
	fabric_destroy();
}
module_exit(softib_exit);

MODULE_DESCRIPTION("Virtual InfiniBand fabric");
MODULE_LICENSE("GPL");
