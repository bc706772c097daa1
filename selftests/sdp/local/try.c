// SPDX-License-Identifier: GPL-2.0
/*
 * Which transports the registry refuses.  Whoever reads the parameter "memory" gets a line
 * for each thing that was tried, behind those of memory.c: "ok NAME", or "not ok NAME".
 */
#include <linux/slab.h>

#include "carry.h"
#include "local.h"

#define TRY_NAME	"try"

static bool try_register(const struct sdp_xprt_ops *ops, int error)
{
	const struct sdp_xprt_upcalls *up;
	int err = sdp_xprt_register(ops, &up);

	if (!err)
		sdp_xprt_unregister(ops);
	return err == error;
}

/* The functions of capabilities. */
static const size_t try_members[] = {
	offsetof(struct sdp_xprt_ops, mem_alloc),
	offsetof(struct sdp_xprt_ops, mem_free),
	offsetof(struct sdp_xprt_ops, invalidate),
	offsetof(struct sdp_xprt_ops, post_read),
	offsetof(struct sdp_xprt_ops, post_write),
	offsetof(struct sdp_xprt_ops, post_send_inv),
};

/* Without each capability, with the functions; and without each function. */
static int try_registry(char *text, int at, struct sdp_xprt_ops *ops)
{
	unsigned int i;
	bool good = true;
	u32 cap;

	for (cap = 1; cap & SDP_XPRT_CAPS; cap <<= 1) {
		ops->caps = SDP_XPRT_CAPS & ~cap;
		good &= try_register(ops, -EINVAL);
	}
	at = carry_tell(text, at, good, "functions without their capability: EINVAL");

	ops->caps = SDP_XPRT_CAPS + 1;
	at = carry_tell(text, at, try_register(ops, -EINVAL),
			"a capability that nobody knows: EINVAL");

	for (i = 0, good = true; i < ARRAY_SIZE(try_members); i++) {
		*ops = local_ops;
		ops->name = TRY_NAME;
		memset((void *)ops + try_members[i], 0, sizeof(void *));
		good &= try_register(ops, -EINVAL);
	}
	*ops = local_ops;
	ops->name = TRY_NAME;
	ops->max_mem = 0;
	good &= try_register(ops, -EINVAL);
	at = carry_tell(text, at, good, "a capability without its functions: EINVAL");

	ops->caps = SDP_XPRT_CAP_READ;
	ops->mem_alloc = NULL;
	ops->mem_free = NULL;
	ops->invalidate = NULL;
	ops->post_write = NULL;
	ops->post_send_inv = NULL;
	at = carry_tell(text, at, try_register(ops, -EINVAL), "reads without memory: EINVAL");
	ops->caps = 0;
	ops->post_read = NULL;
	at = carry_tell(text, at, try_register(ops, 0), "neither: registered");
	return at;
}

int local_try(char *text, int at)
{
	struct sdp_xprt_ops *ops = kmemdup(&local_ops, sizeof(local_ops), GFP_KERNEL);

	if (!ops)
		return -ENOMEM;
	ops->name = TRY_NAME;
	at = try_registry(text, at, ops);
	kfree(ops);
	return at;
}
