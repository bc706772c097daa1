#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# member.py INTERFACE GROUP PORT [claim] [source=ADDRESS]: joins a group, and claims the
# membership, as a program does that receives the group by a queue pair of its own. Then it
# obeys lines of its standard input: "claim", "unclaim", "leave", and "got", which it answers
# with how many datagrams the socket has had. Each line is answered by "ok" or by an errno's
# name, what the kernel says behind it.
#
# member.py refuse INTERFACE WHAT: prints how one such request is refused.

import errno
import os
import socket
import struct
import sys

CLAIM, UNCLAIM = 1, 2
SOL_NETLINK, NETLINK_GENERIC, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 16, 10, 11


def attribute(kind, data):
    return struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def u32(value):
    return struct.pack("=I", value)


class Family:
    """Requests to the generic netlink family "ipoib"."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        for option in NETLINK_EXT_ACK, NETLINK_CAP_ACK:
            self.sock.setsockopt(SOL_NETLINK, option, 1)
        answer = self.ask(16, 3, attribute(2, b"ipoib\0"), 1)
        self.number = struct.unpack_from("=H", answer[1].split(struct.pack("=HH", 6, 1))[1])[0]

    def ask(self, family, command, attributes, version):
        """Returns the errno, and the answer or what the kernel says."""
        body = struct.pack("=BBH", command, version, 0) + attributes
        self.sock.send(struct.pack("=IHHII", len(body) + 16, family, 5, 1, 0) + body)
        text, status = b"", 0
        while True:
            data = self.sock.recv(8192)
            while data:
                length, kind, flags = struct.unpack_from("=IHH", data)
                if kind == 2:
                    status = -struct.unpack_from("=i", data, 16)[0]
                    # Behind the request's header, if the request is not there
                    if flags & 0x200:
                        text = self.words(data[36:length])
                    return status, text
                text = data[20:length]
                data = data[length + -length % 4:]

    @staticmethod
    def words(data):
        while data:
            length, kind = struct.unpack_from("=HH", data)
            if kind == 1:
                return data[4:length - 1]
            data = data[length + -length % 4:]
        return b""

    def claim(self, command, interface, fd, group):
        return self.ask(self.number, command, attribute(1, u32(interface)) +
                        attribute(2, u32(fd & 0xffffffff)) + attribute(3, group), 1)


def told(answer):
    status, text = answer
    return "ok" if not status else f"{errno.errorcode[status]} {text.decode()}".strip()


class Member:
    def __init__(self, interface, group, port):
        self.interface = socket.if_nametoindex(interface)
        self.v6 = ":" in group
        kind = socket.AF_INET6 if self.v6 else socket.AF_INET
        self.group = socket.inet_pton(kind, group)
        self.sock = socket.socket(kind, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((group, port))
        self.sock.setblocking(False)
        self.count = 0

    def change(self, join):
        if self.v6:
            option = socket.IPV6_JOIN_GROUP if join else socket.IPV6_LEAVE_GROUP
            self.sock.setsockopt(socket.IPPROTO_IPV6, option,
                                 self.group + struct.pack("=I", self.interface))
        else:
            option = socket.IP_ADD_MEMBERSHIP if join else socket.IP_DROP_MEMBERSHIP
            self.sock.setsockopt(socket.IPPROTO_IP, option,
                                 self.group + struct.pack("=4xI", self.interface))

    def got(self):
        try:
            while True:
                self.sock.recv(2048)
                self.count += 1
        except BlockingIOError:
            return self.count

    def claim(self, family, command):
        return told(family.claim(command, self.interface, self.sock.fileno(), self.group))


def obey(member, family, line):
    if line == "claim":
        return member.claim(family, CLAIM)
    if line == "unclaim":
        return member.claim(family, UNCLAIM)
    if line == "leave":
        member.change(False)
        return "ok"
    return str(member.got())


def refuse(interface, what):
    family = Family()
    member = Member(interface, "239.77.5.1", 7100)
    member.change(True)
    index, fd, group = member.interface, member.sock.fileno(), member.group
    command = UNCLAIM if what == "none" else CLAIM
    if what == "interface":
        index = 999999
    elif what == "loopback":
        index = socket.if_nametoindex("lo")
    elif what == "file":
        fd = os.open("/dev/null", os.O_RDONLY)
    elif what == "closed":
        fd = 500
    elif what == "unix":
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        fd = other.fileno()
    elif what == "stranger":
        group = socket.inet_aton("239.77.5.2")
    elif what == "length":
        group = bytes(7)
    elif what == "long":
        group = bytes(17)
    elif what == "twice":
        family.claim(CLAIM, index, fd, group)
    elif what == "missing":
        return told(family.ask(family.number, CLAIM, attribute(1, u32(index)), 1))
    return told(family.claim(command, index, fd, group))


def main():
    if sys.argv[1] == "refuse":
        print(refuse(*sys.argv[2:]))
        return
    member = Member(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    family = Family() if "claim" in sys.argv[4:] else None
    member.change(True)
    print(member.claim(family, CLAIM) if family else "ok", flush=True)
    for line in sys.stdin:
        print(obey(member, family or Family(), line.strip()), flush=True)


main()
