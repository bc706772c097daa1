// SPDX-License-Identifier: GPL-2.0
/*
 * A listener that answers SDP connection requests with whatever it is told, for
 * the tests of the side that connects: user space has no way to listen on SDP's
 * service IDs.  There is no queue pair behind what it accepts.
 *
 *	insmod answer.ko device=softib1 port=7100
 *	echo "rej 28" > /sys/module/answer/parameters/answer
 *	echo "rep 01000010..." > /sys/module/answer/parameters/answer
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "device_by_name.h"

MODULE_DESCRIPTION("Answers SDP connection requests as told");
MODULE_LICENSE("GPL");

static char *device = "softib1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "Device to listen on");

static ushort port = 7100;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "IP port to listen on");

static char answer[512] = "none";
module_param_string(answer, answer, sizeof(answer), 0644);
MODULE_PARM_DESC(answer, "none, rej REASON or rep PRIVATE-DATA-IN-HEX");

/* A connection that is kept, so that its cm_id can be destroyed. */
struct answer_conn {
	struct list_head list;
	struct ib_cm_id *cm_id;
};

static DEFINE_MUTEX(answer_mutex);
static LIST_HEAD(answer_conns);
static struct ib_device *answer_device;
static struct ib_cm_id *answer_listener;

static int answer_rep(struct ib_cm_id *cm_id, const char *hex)
{
	u8 pdata[IB_CM_REP_PRIVATE_DATA_SIZE];
	struct ib_cm_rep_param rep = {
		.qp_num = 0xabcdef,
		.starting_psn = 1,
		.private_data = pdata,
		.rnr_retry_count = 7,
	};
	size_t len = strcspn(hex, "\n") / 2;

	if (len > sizeof(pdata) || hex2bin(pdata, hex, len))
		return -EINVAL;
	rep.private_data_len = len;
	return ib_send_cm_rep(cm_id, &rep);
}

/* Keep the cm_id, whatever was answered. */
static int answer_keep(struct ib_cm_id *cm_id)
{
	struct answer_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return -ENOMEM;
	conn->cm_id = cm_id;
	mutex_lock(&answer_mutex);
	list_add(&conn->list, &answer_conns);
	mutex_unlock(&answer_mutex);
	return 0;
}

static int answer_request(struct ib_cm_id *cm_id)
{
	char how[sizeof(answer)];
	unsigned int reason;
	int ret = 0;

	kernel_param_lock(THIS_MODULE);
	strscpy(how, answer, sizeof(how));
	kernel_param_unlock(THIS_MODULE);

	if (!strncmp(how, "rep ", 4))
		ret = answer_rep(cm_id, how + 4);
	else if (sscanf(how, "rej %u", &reason) == 1)
		ret = ib_send_cm_rej(cm_id, reason, NULL, 0, "refused", 7);
	return ret ?: answer_keep(cm_id);
}

static int answer_handler(struct ib_cm_id *cm_id,
			  const struct ib_cm_event *event)
{
	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return answer_request(cm_id);
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(cm_id, NULL, 0);
		return 0;
	default:
		return 0;
	}
}

static int __init answer_init(void)
{
	int ret;

	answer_device = device_by_name(device);
	if (!answer_device)
		return -ENODEV;
	answer_listener = ib_create_cm_id(answer_device, answer_handler, NULL);
	if (IS_ERR(answer_listener)) {
		ret = PTR_ERR(answer_listener);
		goto err_put;
	}
	ret = ib_cm_listen(answer_listener,
			   IB_SDP_SERVICE_ID | cpu_to_be64(port));
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	ib_destroy_cm_id(answer_listener);
err_put:
	ib_device_put(answer_device);
	return ret;
}
module_init(answer_init);

static void __exit answer_exit(void)
{
	struct answer_conn *conn, *next;

	ib_destroy_cm_id(answer_listener);
	list_for_each_entry_safe(conn, next, &answer_conns, list) {
		ib_destroy_cm_id(conn->cm_id);
		kfree(conn);
	}
	ib_device_put(answer_device);
}
module_exit(answer_exit);
