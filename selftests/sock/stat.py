# SPDX-License-Identifier: GPL-2.0
#
# Sockets with the ULP "sdp" that do what each line of standard input says.

import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys
import threading
import time
from socket import *

TCP_ULP = 31
SO_COOKIE = 57
SO_MAX_PACING_RATE = 47
SDP_IOC_CTL = 0xd510
RETURN, OFFLOAD = 1, 2
CLONE_NEWNET = 0x40000000
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04

libc = ctypes.CDLL(None, use_errno=True)
listeners = []


def connect(family, address, port):
    """A connection's two ends."""
    listener = socket(family, SOCK_STREAM)
    listener.setsockopt(IPPROTO_TCP, TCP_ULP, b"sdp")
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    listeners.append(listener)
    client = socket(family, SOCK_STREAM)
    client.setsockopt(IPPROTO_TCP, TCP_ULP, b"sdp")
    client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    client.connect((address, port))
    return client, listener.accept()[0]


def push(tx, rx, size, times):
    """Messages one way, each read before the next one is sent."""
    for _ in range(times):
        tx.sendall(bytes(size))
        left = size
        while left:
            left -= len(rx.recv(left))


def both(a, b, size=1000, times=300):
    push(a, b, size, times)
    push(b, a, size, times)


def last(tx, rx, size):
    """One end closes behind many bytes.  The other one reads late, and gets all of them."""
    tx.sendall(bytes(size))
    tx.close()
    time.sleep(0.5)
    while data := rx.recv(65536):
        size -= len(data)
    if size:
        raise ValueError(f"{size} bytes are missing")


def address(name):
    return b"\0" * 10 + b"\xff\xff" + inet_aton(name[0]) + struct.pack("!H", name[1])


def ctl(sock, command=RETURN, flags=0, count=1, size=80, at=None, cookie=None):
    """What SDP_IOC_CTL says of a connection: its errno, that of the connection, done."""
    local, peer = address(sock.getsockname()), address(sock.getpeername())
    if cookie is None:
        cookie = struct.unpack("Q", sock.getsockopt(SOL_SOCKET, SO_COOKIE, 8))[0]
    end = bytearray(struct.pack("Q16s16s2s2sIiIII16s", cookie, local[:16], peer[:16],
                                local[16:], peer[16:], 0, -1, 0, 0, 0, b""))
    ends = (ctypes.c_char * len(end)).from_buffer(end)
    at = ctypes.addressof(ends) if at is None else at
    arg = bytearray(struct.pack("IIIIQII", 32, command, flags, count, at, size, 0))
    with open("/dev/sdp", "rb+", buffering=0) as door:
        try:
            fcntl.ioctl(door, SDP_IOC_CTL, arg)
        except OSError as error:
            return error.errno, 0, 0
    return 0, struct.unpack_from("i", end, 48)[0], struct.unpack_from("I", arg, 28)[0]


def answers(expected, *args, **named):
    answer = ctl(*args, **named)
    if answer != expected:
        raise ValueError(f"{answer}, not {expected}")


def in_child(act, *args):
    """As a process that has changed what it is."""
    child = os.fork()
    if not child:
        try:
            act(*args)
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise ValueError("the child has failed")


def as_user(*args):
    os.seteuid(65534)
    answers(*args)


def elsewhere(*args):
    if libc.unshare(CLONE_NEWNET):
        raise ValueError("no namespace")
    answers(*args)


def slow(*sockets):
    """The gate lets no such socket move."""
    for sock in sockets:
        sock.setsockopt(SOL_SOCKET, SO_MAX_PACING_RATE, 1 << 30)


def direct(port):
    """A listener of direct SDP."""
    with open("/proc/sys/net/sdp/direct", "w") as setting:
        setting.write("1")
    sock = socket(27, SOCK_STREAM)
    address = struct.pack("=H", AF_INET) + struct.pack("!H", port) + bytes(12)
    if libc.bind(sock.fileno(), address, len(address)) or libc.listen(sock.fileno(), 1):
        raise ValueError(os.strerror(ctypes.get_errno()))
    return sock


def wrong_words(sock):
    for wrong in (dict(command=0), dict(command=3), dict(flags=2), dict(count=65537),
                  dict(command=OFFLOAD, flags=1), dict(size=79), dict(size=81)):
        answers((errno.EINVAL, 0, 0), sock, **wrong)
    answers((errno.EFAULT, 0, 0), sock, at=1)
    for cookie in 0, 1 << 63:
        answers((0, errno.ENOENT, 0), sock, cookie=cookie)


class Hole:
    """Memory that a call waits for: it keeps its socket meanwhile."""

    def __init__(self):
        self.memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.fd = libc.syscall(323, os.O_CLOEXEC)
        if self.fd < 0:
            raise ValueError(f"userfaultfd: {ctypes.get_errno()}")
        fcntl.ioctl(self.fd, UFFDIO_API, struct.pack("QQQ", 0xaa, 0, 0))
        fcntl.ioctl(self.fd, UFFDIO_REGISTER,
                    bytearray(struct.pack("QQQQ", self.at, mmap.PAGESIZE, 1, 0)))

    def send(self, sock):
        self.thread = threading.Thread(target=sock.send, args=[memoryview(self.memory)[:100]])
        self.thread.start()
        os.read(self.fd, 32)

    def fill(self):
        fcntl.ioctl(self.fd, UFFDIO_ZEROPAGE,
                    bytearray(struct.pack("QQQq", self.at, mmap.PAGESIZE, 0, 0)))
        self.thread.join()


for line in sys.stdin:
    try:
        exec(line)
        print("done")
    except Exception as error:
        print(repr(error))
