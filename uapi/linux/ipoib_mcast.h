/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "ipoib": a program tells ib_ipoib that it receives a multicast group by a
 * queue pair of its own, so that the interface need not receive it: Documentation/mcast.rst.
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
 *	-EADDRNOTAVAIL: the socket is not in the group on this interface; -EEXIST: the
 *	membership is claimed already; -ENOSPC: the interface's limit of claims is reached;
 *	-ENOMEM
 * @IPOIB_CMD_MCAST_UNCLAIM: the claim ends; -ENOENT: there is no such claim
 *
 * Errors of both: -EINVAL: an attribute is missing or has a wrong length; -ERANGE: the group is
 * longer than an address; -ENODEV: there is no such interface; -EOPNOTSUPP: the interface does not
 * belong to ib_ipoib; -EBADF, -ENOTSOCK: the descriptor is not a socket; -EAFNOSUPPORT: the socket
 * is not one of IPv4 or IPv6
 */
enum ipoib_genl_cmd {
	IPOIB_CMD_UNSPEC,
	IPOIB_CMD_MCAST_CLAIM,
	IPOIB_CMD_MCAST_UNCLAIM,
};

/**
 * enum ipoib_genl_attr - the membership; each command needs all of these
 * @IPOIB_A_UNSPEC: not used
 * @IPOIB_A_IFINDEX: the interface, a number of 32 bits
 * @IPOIB_A_SOCKET: a descriptor of the socket that has joined the group, a number of 32 bits
 * @IPOIB_A_GROUP: the group's address, 4 bytes of IPv4 or 16 bytes of IPv6
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
