// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_IOC_CTL: many connections by one call.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "front/dev/dev.h"
#include "front/sock/sock.h"

/* How long a call waits in all for calls that keep sockets. */
#define SDP_CTL_PATIENCE	HZ

static bool sdp_ctl_valid(const struct sdp_ctl *ctl)
{
	if (ctl->count > SDP_CTL_COUNT || ctl->end_size != sizeof(struct sdp_ctl_end))
		return false;
	switch (ctl->command) {
	case SDP_CTL_RETURN:
		return !(ctl->flags & ~SDP_CTL_STAY);
	case SDP_CTL_OFFLOAD:
		return !ctl->flags;
	default:
		return false;
	}
}

static int sdp_ctl_one(struct sdp_ctl *ctl, struct sdp_ctl_end __user *user, long *patience)
{
	struct sdp_ctl_end end;

	if (copy_from_user(&end, user, sizeof(end)))
		return -EFAULT;
	if (end.reserved)
		end.error = EINVAL;
	else
		ctl->done += sdp_ctl_move(ctl, &end, patience);
	return copy_to_user(user, &end, sizeof(end)) ? -EFAULT : 0;
}

/* A user without CAP_NET_ADMIN must not fill the log. */
static void sdp_ctl_log(const struct sdp_ctl *ctl)
{
	const char *what = ctl->command == SDP_CTL_OFFLOAD ? "offloaded" :
			   ctl->flags & SDP_CTL_STAY ? "returned for good" : "returned";
	const char *s = ctl->done == 1 ? "" : "s";
	u32 uid = from_kuid(&init_user_ns, current_uid());

	if (!ctl->done)
		return;
	if (capable(CAP_NET_ADMIN))
		pr_info("sdp: %s[%d], user %u: %u connection%s %s\n", current->comm,
			task_tgid_nr(current), uid, ctl->done, s, what);
	else
		pr_info_ratelimited("sdp: %s[%d], user %u: %u connection%s %s\n", current->comm,
				    task_tgid_nr(current), uid, ctl->done, s, what);
}

/* The ioctl SDP_IOC_CTL. */
int sdp_ctl(struct sdp_ctl *ctl)
{
	struct sdp_ctl_end __user *ends = u64_to_user_ptr(ctl->ends);
	long patience = SDP_CTL_PATIENCE;
	int err = 0;
	u32 i;

	if (!sdp_ctl_valid(ctl))
		return -EINVAL;
	ctl->done = 0;
	for (i = 0; i < ctl->count && !err; i++) {
		err = sdp_ctl_one(ctl, &ends[i], &patience);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	sdp_ctl_log(ctl);
	return err;
}
