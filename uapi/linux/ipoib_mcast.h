/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "ipoib": a program says that it receives a multicast group by a
 * queue pair of its own, so that the interface's need not. Documentation/mcast.rst explains.
 */
#ifndef _LINUX_IPOIB_MCAST_H
#define _LINUX_IPOIB_MCAST_H

#define IPOIB_GENL_NAME		"ipoib"
#define IPOIB_GENL_VERSION	1

/**
 * enum ipoib_genl_cmd - what a program asks ib_ipoib for
 * @IPOIB_CMD_UNSPEC: not used
 * @IPOIB_CMD_MCAST_CLAIM: the program receives the group of this membership by itself. The
 *	claim lasts until the socket leaves the group or is closed, or until the next command.
 *	-EADDRNOTAVAIL: the socket is not in the group there; -EEXIST: it has the claim
 *	already; -ENOSPC: there are too many; -ENOMEM
 * @IPOIB_CMD_MCAST_UNCLAIM: it does so no longer; -ENOENT: it had no claim
 *
 * Either of them: -EINVAL: an attribute is missing or of a wrong length; -ERANGE: the group's
 * is longer than an address; -ENODEV: no such interface; -EOPNOTSUPP: it is not ib_ipoib's;
 * -EBADF, -ENOTSOCK: no socket; -EAFNOSUPPORT: not one of IPv4 or IPv6
 */
enum ipoib_genl_cmd {
	IPOIB_CMD_UNSPEC,
	IPOIB_CMD_MCAST_CLAIM,
	IPOIB_CMD_MCAST_UNCLAIM,
};

/**
 * enum ipoib_genl_attr - which membership is meant; each command needs all of them
 * @IPOIB_A_UNSPEC: not used
 * @IPOIB_A_IFINDEX: the interface, a number of 32 bits
 * @IPOIB_A_SOCKET: a descriptor of the socket that has joined the group, a number of 32 bits
 * @IPOIB_A_GROUP: the group's address, the 4 bytes of IPv4 or the 16 of IPv6
 * @IPOIB_A_END: the number behind the last
 */
enum ipoib_genl_attr {
	IPOIB_A_UNSPEC,
	IPOIB_A_IFINDEX,
	IPOIB_A_SOCKET,
	IPOIB_A_GROUP,
	IPOIB_A_END
};

#endif /* _LINUX_IPOIB_MCAST_H */
