#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sets rules for users in namespaces of users until the machine allows no more of them.

Prints how many each namespace could set, and the error that each met."""
import ctypes
import errno
import fcntl
import os
import struct

SDP_IOC_RULE = 0xD50E
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
NAMESPACES = 9
libc = ctypes.CDLL(None, use_errno=True)


def rules():
    """Rules "move", one for each user, while there is room."""
    dev = os.open("/dev/sdp", os.O_RDWR)
    for uid in range(2000):
        try:
            fcntl.ioctl(dev, SDP_IOC_RULE, struct.pack("=4IiI16H", 56, 2, 1, 3, uid, 0, *[0] * 16))
        except OSError as failed:
            return f"{uid} {errno.errorcode[failed.errno]}"
    return "no end"


def child(ready, mapped):
    """Its rules are there as long as its network namespace is."""
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        os._exit(1)
    os.write(ready, b"u")
    os.read(mapped, 1)
    os.write(ready, rules().encode())
    os.read(mapped, 1)
    os._exit(0)


def start():
    """A child in namespaces of its own, and what it has said of its rules."""
    said, ready = os.pipe()
    mapped, go = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go)
        child(ready, mapped)
    os.close(ready)
    os.close(mapped)
    if os.read(said, 1) != b"u":
        return pid, go, "no namespace"
    for kind in "uid", "gid":
        with open(f"/proc/{pid}/{kind}_map", "w") as users:
            users.write("0 100000 2000")
    os.write(go, b"g")
    return pid, go, os.read(said, 100).decode()


def main():
    """All of them are there at a time."""
    children = [start() for _ in range(NAMESPACES)]
    print(", ".join(said for _, _, said in children))
    for pid, go, _ in children:
        os.write(go, b"g")
        os.waitpid(pid, 0)


main()
