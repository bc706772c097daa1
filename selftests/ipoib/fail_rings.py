#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Change an interface's rings with its first, second, ... allocation failing.

Each time that is an error and the old rings, until nothing is left to fail. Copying
fails, too, and that of the answer comes when all is done.
"""
import ctypes
import errno
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
GRINGPARAM, SRINGPARAM = 0x10, 0x11
RX, TX = 5, 8  # of the nine numbers of struct ethtool_ringparam


def ethtool(numbers):
    """One ioctl with a struct ethtool_ringparam, as the kernel leaves it."""
    fcntl.ioctl(sock, SIOCETHTOOL,
                struct.pack("16sQ16x", name, ctypes.addressof(numbers)))
    return list(numbers)


def get():
    return ethtool((ctypes.c_uint32 * 9)(GRINGPARAM))


def change(nth, rx, tx):
    """The errno value, 0 for success; None if there was no nth allocation."""
    numbers = (ctypes.c_uint32 * 9)(*get())
    numbers[0], numbers[RX], numbers[TX] = SRINGPARAM, rx, tx
    error = 0
    with open("/proc/thread-self/fail-nth", "r+b", buffering=0) as fail:
        fail.write(b"%d" % nth)
        try:
            ethtool(numbers)
        except OSError as e:
            error = e.errno
        try:
            left = int(fail.read())
        except OSError:  # it was this that failed
            left = nth
        fail.write(b"0")
    return None if left else error


name = sys.argv[1].encode()
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
failed = 0
change(100000, 256, 128)
for nth in range(1, 2000):
    before = get()
    rx, tx = 768 - before[RX], 384 - before[TX]  # 256 or 512, 128 or 256
    error = change(nth, rx, tx)
    after = get()
    if error is None:
        print(f"{nth - 1} allocations, {failed} of them needed")
        sys.exit(failed == 0)
    if error not in (0, errno.ENOMEM, errno.EFAULT):
        sys.exit(f"allocation {nth}: {errno.errorcode[error]}")
    changed = (after[RX], after[TX]) == (rx, tx)
    if not changed and (not error or after != before) or changed and error == errno.ENOMEM:
        sys.exit(f"allocation {nth}: error {error}, {before}, then {after}")
    failed += error != 0
sys.exit("there is no end of allocations")
