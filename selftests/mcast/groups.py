# SPDX-License-Identifier: GPL-2.0
#
# An ordinary program that receives multicast, and one that sends it.
#
#	groups.py send INTERFACE PORT TEXT COUNT GROUP...: COUNT datagrams to each group
#	groups.py HOW INTERFACE|any PORT[,PORT]... [GROUP[@SOURCE]]...: a line for each datagram that
#		comes: its length, source, group, TTL, flags and text; from a socket for each port.
#		Each line of its input is a command: see told(). HOW it waits: see the end.
#
import asyncio
import os
import select
import signal
import socket
import struct
import sys

MCAST_JOIN_GROUP, MCAST_LEAVE_GROUP, MCAST_JOIN_SOURCE_GROUP = 42, 45, 46
IP_PKTINFO, IP_RECVTTL, SO_TIMESTAMPNS, SO_ATTACH_FILTER = 8, 12, 35, 26


def family_of(group):
    return socket.AF_INET6 if ":" in group else socket.AF_INET


def storage(address):
    if ":" in address:
        raw = struct.pack("=HHI16sI", socket.AF_INET6, 0, 0,
                          socket.inet_pton(socket.AF_INET6, address), 0)
    else:
        raw = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address))
    return raw.ljust(128, b"\0")


def membership(s, option, index, text):
    group, _, source = text.partition("@")
    level = socket.IPPROTO_IPV6 if ":" in group else socket.IPPROTO_IP
    value = struct.pack("=I4x", index) + storage(group)
    if source:
        value += storage(source)
        option += MCAST_JOIN_SOURCE_GROUP - MCAST_JOIN_GROUP
    s.setsockopt(level, option, value)


def send(index, port, text, count, groups):
    for group in groups:
        s = socket.socket(family_of(group), socket.SOCK_DGRAM)
        if s.family == socket.AF_INET:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                         struct.pack("=8xI", index))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 5)
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 5)
        for i in range(1, count + 1):
            s.sendto(f"{text} {i}".encode(), (group, port))


def show(data, control, flags, source):
    to, ttl, stamp = "-", "-", "-"
    for level, kind, value in control:
        if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
            index, own, group = struct.unpack("=I4s4s", value)
            to = f"{socket.inet_ntoa(group)}/{socket.inet_ntoa(own)}/{index}"
        elif (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO):
            group, index = struct.unpack("=16sI", value)
            to = f"{socket.inet_ntop(socket.AF_INET6, group)}/{index}"
        elif kind in (socket.IP_TTL, socket.IPV6_HOPLIMIT):
            ttl = struct.unpack("=i", value)[0]
        elif (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            stamp = "stamp"
        else:
            to = f"unknown {level} {kind}"
    print(len(data), source[0], to, ttl, flags, stamp, data.decode(), flush=True)


def receive(s, flags=0):
    """One datagram, as recvmsg(2) tells it; False if there is none."""
    try:
        show(*s.recvmsg(100, 200, flags))
    except BlockingIOError:
        return False
    return True


def open_sockets(index, ports, groups):
    found = []
    for port in ports:
        s = socket.socket(family_of((groups or [""])[0]), socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # With the port before the groups, or behind.
        if port % 2 == 0:
            s.bind(("", port))
        if s.family == socket.AF_INET:
            s.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
            s.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
            s.setsockopt(socket.IPPROTO_IP, 49, 0)  # IP_MULTICAST_ALL
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        for group in groups:
            membership(s, MCAST_JOIN_GROUP, index, group)
        if port % 2:
            s.bind(("", port))
        found.append(s)
    return found


def told(line, s, index):
    """What a line of the input wants done with the first socket."""
    word, *rest = line.split()
    if word == "join":
        membership(s, MCAST_JOIN_GROUP, index, rest[0])
    elif word == "leave":
        membership(s, MCAST_LEAVE_GROUP, index, rest[0])
    elif word == "fork":
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    elif word == "dup":
        os.dup(s.fileno())
    elif word == "filter":
        code = struct.pack("=HBBI", 6, 0, 0, 0xffffffff)
        memory = memoryview(bytearray(code))
        import ctypes
        held = ctypes.create_string_buffer(bytes(memory))
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                     struct.pack("@HP", 1, ctypes.addressof(held)))
    elif word == "stamp":
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    elif word == "stamping":
        s.setsockopt(socket.SOL_SOCKET, 37, 8)
    print("done", line.strip(), flush=True)


def drain(s):
    while receive(s, socket.MSG_DONTWAIT):
        pass


def by_poll(sockets, ready):
    p = select.poll()
    for s in [sys.stdin] + sockets:
        p.register(s, select.POLLIN)
    while True:
        ready([fd for fd, events in p.poll() if events & select.POLLIN])


def by_select(sockets, ready):
    while True:
        some, _, _ = select.select([sys.stdin] + sockets, [], [])
        ready([s.fileno() for s in some])


def by_epoll(sockets, ready, flags=0):
    e = select.epoll()
    e.register(sys.stdin, select.EPOLLIN)
    for s in sockets:
        e.register(s, select.EPOLLIN | flags)
    while True:
        ready([fd for fd, events in e.poll() if events & select.EPOLLIN])


def by_asyncio(sockets, ready):
    loop = asyncio.new_event_loop()
    for s in [sys.stdin] + sockets:
        loop.add_reader(s, ready, [s.fileno()])
    loop.run_forever()


def main():
    how = sys.argv[1]
    index = 0 if sys.argv[2] == "any" else socket.if_nametoindex(sys.argv[2])
    if how == "send":
        return send(index, int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6:])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sockets = open_sockets(index, [int(p) for p in sys.argv[3].split(",")], sys.argv[4:])
    known = {s.fileno(): s for s in sockets}
    once = how in ("poll", "select", "epoll", "asyncio")
    print("ready", flush=True)

    def ready(fds):
        for fd in fds:
            if fd == 0:
                told(sys.stdin.readline(), sockets[0], index)
            elif once:
                receive(known[fd], socket.MSG_DONTWAIT)
            else:
                drain(known[fd])

    if how == "block":
        while True:
            receive(sockets[0])
    elif how == "edge":
        by_epoll(sockets, ready, select.EPOLLET)
    else:
        globals()["by_" + how](sockets, ready)


main()
