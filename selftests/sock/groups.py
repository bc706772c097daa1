#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes control groups with rules until no more are allowed, and removes the groups."""
import errno
import fcntl
import os
import struct
import sys

SDP_IOC_RULE = 0xD50E


def rule(directory):
    """A rule "move" for the group."""
    fd = os.open(directory, os.O_RDONLY)
    dev = os.open("/dev/sdp", os.O_RDWR)
    try:
        fcntl.ioctl(dev, SDP_IOC_RULE, struct.pack("=4IiI16H", 56, 1, 1, 3, fd, 0, *[0] * 16))
    finally:
        os.close(dev)
        os.close(fd)


def main():
    """Of the groups there are, one has a rule already or none."""
    top, made, error = sys.argv[1], 0, 0
    while not error and made < 2000:
        path = f"{top}/g{made}"
        os.mkdir(path)
        made += 1
        try:
            rule(path)
        except OSError as failed:
            error = failed.errno
    for i in range(made):
        os.rmdir(f"{top}/g{i}")
    print(made - 1, errno.errorcode.get(error, error))


main()
