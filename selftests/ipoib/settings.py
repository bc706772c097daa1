#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# settings.py files FILE...: writes to files of ib0 what makes no sense there.
# settings.py links [all]: sends messages about links that make none; "all" are
# also those that the kernel's own driver overlooks. Prints what was not refused,
# or by an error that does not tell why.

import errno
import os
import socket
import struct
import sys

CLEAR = {errno.EINVAL, errno.ERANGE, errno.EOPNOTSUPP, errno.ENODEV}
TEXTS = {
    "": [b"\n", b"x" * 4096, b"9" * 4095, b"-1", b"-99999999999\n",
         b"99999999999999999999", b"\0", bytes(4096), b"0x 1",
         b"\xff\xfe", b"%s%n"],
    "mode": [b"Datagram", b"datagram\n\n", b"connecte", b"datagramconnected"],
    "mtu": [b"0", b"1", b"70000", b"4294967295"],
    "tx_queue_len": [b"4294967296"],
    "create_child": [b"0", b"0x8000", b"0x10000", b"4294967295"],
    "delete_child": [b"2", b"0x8000", b"0x10000", b"4294967295"],
}

RTM_NEWLINK, REQUEST_ACK, CREATE_EXCL = 16, 5, 0x600
ADDRESS, IFNAME, MTU, LINK, TXQLEN, LINKINFO = 1, 3, 4, 5, 13, 18
KIND, DATA = 1, 2
PKEY, MODE, UMCAST = 1, 2, 3

bad = 0


def tried(what, error):
    """A write that went well has the error 0."""
    global bad
    if error not in CLEAR:
        print(what, errno.errorcode.get(error, "not refused"))
        bad += 1


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
        return 0
    except OSError as err:
        return err.errno
    finally:
        os.close(fd)


def files(names):
    for name in names:
        path = "/sys/class/net/ib0/" + name
        if write(path, b""):
            sys.exit("%s: an empty write is an error" % name)
        for text in TEXTS[""] + TEXTS.get(name, []):
            tried("%s: %r" % (name, text[:20]), write(path, text))


def attr(kind, payload):
    return (struct.pack("=HH", 4 + len(payload), kind) + payload +
            bytes(-len(payload) % 4))


def info(*data, kind=b"ipoib\0"):
    return attr(LINKINFO, attr(KIND, kind) + attr(DATA, b"".join(data)))


def link(attrs, index=0, flags=0):
    """Asks for a change of a link, or for a new one; returns the error."""
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + attrs
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    s.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK,
                       REQUEST_ACK | flags, 1, 0) + body)
    return -struct.unpack_from("=i", s.recv(4096), 16)[0]


def links(everything):
    short = [attr(a, b"\1"[:n]) for a in (PKEY, MODE, UMCAST) for n in (0, 1)]
    long = [attr(MODE, n * b"\xff") for n in (2, 3, 8)] + [attr(MODE, b"\2\0")]
    # Only the first two bytes of what is too long count.
    seen = [attr(UMCAST, n * b"\xff") for n in (2, 3, 8)]
    seen += [attr(UMCAST, b"\2\0")]
    keys = [attr(PKEY, k + n * b"\1") for k in (b"\0\0", b"\0\x80")
            for n in (0, 1, 6)]
    index = socket.if_nametoindex("ib0")
    parent = attr(LINK, struct.pack("=i", index)) + attr(IFNAME, b"bad\0")

    for data in short + long + everything * (seen + keys):
        tried("change %s" % data.hex(), link(info(data), index))
    for data in short + long + keys + everything * seen:
        tried("create %s" % data.hex(),
              link(parent + info(data), flags=CREATE_EXCL))
    for attrs in (info(kind=b"vlan\0"), info(kind=b""), attr(ADDRESS, bytes(6)),
                  attr(MTU, b"\0\1"), attr(MTU, b"\xff" * 4),
                  attr(TXQLEN, b"\1"), attr(LINK, b"\1") + info()):
        tried("change %s" % attrs.hex(), link(attrs, index))


if sys.argv[1] == "files":
    files(sys.argv[2:])
else:
    links("all" in sys.argv)
sys.exit(bad > 0)
