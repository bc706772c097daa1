/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/sdp: rules for TCP sockets that move, and the interface for their rings and control.
 *
 * An open file has no state.  It has three ioctls: SDP_IOC_RULE (below) sets which sockets get
 * the upper layer protocol "sdp", SDP_IOC_ATTACH (<linux/sdp_ring.h>) gives rings, and
 * SDP_IOC_CTL (<linux/sdp_sock.h>) moves connections.  A program needs the device for nothing
 * else: see <linux/sdp_sock.h> for sockets.
 *
 * Growth: the argument of each ioctl begins with its own size as user space knows it.  The kernel
 * accepts a larger structure than its own if the rest is zero.  It fails with EINVAL if the
 * structure is smaller than its first version, or if a reserved field or an undefined flag is not
 * zero.  It fails with ENOTTY if it does not know the ioctl; those of version 1 are unknown.  No
 * structure has padding, and all have the same layout on 32-bit and 64-bit machines.
 */
#ifndef _UAPI_LINUX_SDP_H
#define _UAPI_LINUX_SDP_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SDP_DEVICE_PATH		"/dev/sdp"

/*
 * Version of this interface.  A change that an old program would notice raises the major number,
 * an addition the minor one.  SDP_IOC_ATTACH returns the kernel's version.
 */
#define SDP_API_MAJOR		2
#define SDP_API_MINOR		1

#define SDP_IOC_MAGIC		0xD5

/* The size is in the structure, not in the number, so that both can grow. */
#define SDP_IOC_RULE		_IO(SDP_IOC_MAGIC, 0x0E)

#define SDP_RULE_PORTS		8

/**
 * struct sdp_ports - a range of ports
 * @first: the first one, not zero
 * @last: the last one
 */
struct sdp_ports {
	__u16 first;
	__u16 last;
};

/**
 * struct sdp_rule - argument of SDP_IOC_RULE
 * @size: sizeof(struct sdp_rule)
 * @scope: SDP_RULE_PROCESS, SDP_RULE_CGROUP or SDP_RULE_USER: whose sockets the rule applies to
 * @verdict: SDP_RULE_MOVE: TCP sockets get the upper layer protocol "sdp" (see tcp(7),
 *	TCP_ULP) when they are about to connect or listen, as if the program had asked for it;
 *	SDP_RULE_NOW, SDP_RULE_ONLY: the same, with the mode SDP_MODE_NOW or SDP_MODE_ONLY of
 *	<linux/sdp_sock.h>; SDP_RULE_NEVER: they do not get it; SDP_RULE_NONE: remove the rule
 * @calls: SDP_RULE_CONNECT, SDP_RULE_LISTEN or both: the calls that the rule applies to; zero
 *	with SDP_RULE_NONE
 * @fd: SDP_RULE_CGROUP: a descriptor of the control group's directory; SDP_RULE_USER: the user's
 *	number in the caller's user namespace; else zero
 * @reserved: zero
 * @ports: the ports that a socket connects to or listens on.  The kernel ignores ranges that are
 *	zero.  If all are zero, the rule applies to every port.
 *
 * SDP_RULE_PROCESS: the rule replaces the one that the calling process has.  It applies to all
 * threads of the process and to its future children, whatever they execute, until they end or set
 * another one.  Every process may set such a rule.  Except for SDP_RULE_NEVER, the rule does not
 * apply to a process whose effective user is not that of the caller at the time of the call, or
 * that has more rights than this user (PR_GET_DUMPABLE is not 1), unless the caller has
 * CAP_NET_ADMIN in its user namespace and the process is in that namespace or in an inner one.
 *
 * SDP_RULE_CGROUP: the rule applies to sockets that are created in a control group (version 2), or
 * in a group inside it that has no rule for the call.  It applies in network namespaces that belong
 * to the user namespace of the caller's network namespace, or to an inner one.  The caller needs
 * CAP_NET_ADMIN there.  The rule lasts as long as the group, the caller's network namespace and
 * the module.
 *
 * SDP_RULE_USER: the rule applies to sockets that the user owns, in the same network namespaces.
 * The caller needs the same capability.  The rule lasts as long as the caller's network namespace
 * and the module.
 *
 * If rules of several kinds apply to a socket, SDP_RULE_ONLY wins over SDP_RULE_NEVER, that over
 * SDP_RULE_NOW, and that over SDP_RULE_MOVE.  net.sdp.attach=1 is a rule SDP_RULE_MOVE.  With
 * both SDP_RULE_ONLY and SDP_RULE_NEVER connections fail.  Accepted sockets have the verdict of
 * their listener.
 *
 * Errors: EINVAL, EPERM (no CAP_NET_ADMIN), EBADF (@fd is not a control group), ENOSPC
 * (1024 rules of control groups and users were set from that network namespace, or too many from
 * those that do not belong to the initial user namespace), ENOMEM and EOPNOTSUPP (the kernel has
 * no tracepoints, or no control groups of sockets, or it has CONFIG_PREEMPT_RT).
 */
struct sdp_rule {
	__u32 size;
	__u32 scope;
	__u32 verdict;
	__u32 calls;
	__s32 fd;
	__u32 reserved;
	struct sdp_ports ports[SDP_RULE_PORTS];
};

#define SDP_RULE_PROCESS	0
#define SDP_RULE_CGROUP		1
#define SDP_RULE_USER		2

#define SDP_RULE_NONE		0
#define SDP_RULE_MOVE		1
#define SDP_RULE_NEVER		2
#define SDP_RULE_NOW		3
#define SDP_RULE_ONLY		4

#define SDP_RULE_CONNECT	(1U << 0)
#define SDP_RULE_LISTEN		(1U << 1)

#endif /* _UAPI_LINUX_SDP_H */
