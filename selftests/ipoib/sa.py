#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# sa.py DEVICE MLID COUNT: a subnet administrator on the port of DEVICE, that of
# node 2. It knows the way between the ports that there are, lets everybody join
# everything under MLID, and lies about these:
#
#	fe80::bad:1:0:N		a path with what is in PATHS[N]
#	fe80::bad:2:0:N		the error STATUS[N]
#	fe80::bad:3:0:N		as TRICKS[N] does it
#	fe80::bad:K:0:M		M beyond the list: no lie, the port is there
#	239.8.0.N, ff05::8:N	a group with what is in GROUPS[N]; these are as
#				groups.py joins them
#
# and, after SIGUSR1, about the broadcast group with the first COUNT of BROADCAST, one
# after the other. After SIGUSR2 it knows no send-only full members. After SIGHUP it hears
# nothing, until the next one. Prints how long these lists are, each lie when it is told,
# when a signal has come, and how else somebody has joined what.

import fcntl
import glob
import os
import signal
import struct
import sys

from frames import QKEY, Sender

REGISTER, ENABLE_PKEY = 0xc01c1b01, 0x1b03      # <rdma/ib_user_mad.h>
HEADER, MAD, DATA = 64, 256, 56
SA_CLASS, SA_VERSION = 3, 2
GET, SET, DELETE, RESPONSE = 0x01, 0x02, 0x15, 0x80
MCMEMBER, PATH = 0x38, 0x35
GSI_QKEY = 0x80010000
SEND_ONLY_FULL, INVALID = 8, 0x200
EXACTLY = 0x80
OTHER = b"\xfe\x80" + bytes(13) + b"\x77"

# Where in a PathRecord, and what is there: DGID, DLID, MTU, rate
PATHS = [(8, OTHER), (8, bytes(16)), (8, b"\xff\x12" + bytes(14)),
         (40, b"\0\0"), (40, b"\xc0\0"), (40, b"\xff\xfe"), (40, b"\xff\xff"),
         (54, b"\x80"), (54, b"\x86"), (54, b"\xbf"),
         (55, b"\x80"), (55, b"\x81"), (55, b"\xbf")]
# Of the class: no resources, invalid request, no records, too many, invalid GID,
# insufficient components, denied. Of all: busy, redirect, versions, values.
STATUS = [0x100 * n for n in range(1, 8)] + [1, 2, 4, 8, 12, 28]
# In an MCMemberRecord: MLID and MGID, which the core leaves to the driver, and what
# it looks at itself: the port's GID, Q_Key, MTU, P_Key, rate. The MGID is another
# one each time, because the core has no place for two groups of one MGID.
GROUPS = [(36, b"\0\0"), (36, b"\0\1"), (36, b"\xbf\xff"), (36, b"\xff\xff"),
          (4, None), (16, OTHER), (32, bytes(4)), (38, b"\x80"), (38, b"\x81"),
          (38, b"\x85"), (38, b"\xbf"), (40, b"\x91\x23"), (42, b"\x80"),
          (42, b"\x81"), (42, b"\xbf")]
# Here MTU and rate are the driver's business, too. The first three every driver has
# to see.
BROADCAST = [GROUPS[n] for n in (0, 2, 3, 4, 7, 9, 13)]


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def ports():
    """The LIDs by the GIDs"""
    found = {}
    for port in glob.glob("/sys/class/infiniband/*/ports/1"):
        gid = bytes.fromhex(read(port + "/gids/0").replace(":", ""))
        found[gid] = int(read(port + "/lid"), 16)
    return found


def tell(what):
    print(what, flush=True)


def answer(request, record=b"", status=0):
    """An answer that has this record, or the one asked for"""
    mad = bytearray(request)
    mad[3] |= RESPONSE
    mad[4:6] = struct.pack(">H", status)
    mad[DATA:DATA + len(record)] = record
    return bytes(mad)


def but(record, where, what):
    """The record with a lie in it"""
    return record[:where] + what + record[where + len(what):]


class Agent:
    """What answers at the port's general services interface"""

    def __init__(self, device, mlid, count):
        self.lids, self.mlid = ports(), mlid
        self.broadcast, self.told = [], 0
        self.old = self.silent = False
        signal.signal(signal.SIGHUP, lambda *_: self.fall_silent())
        signal.signal(signal.SIGUSR1, lambda *_: self.lie_more(count))
        signal.signal(signal.SIGUSR2, lambda *_: self.become_old())
        self.own = int(read("/sys/class/infiniband/%s/ports/1/lid" % device), 16)
        self.raw = Sender(device, GSI_QKEY)
        for path in glob.glob("/sys/class/infiniband_mad/umad*"):
            if read(path + "/ibdev") == device:
                self.fd = os.open("/dev/infiniband/" + os.path.basename(path),
                                  os.O_RDWR)
        fcntl.ioctl(self.fd, ENABLE_PKEY)
        mask = sum(1 << method for method in (GET, SET, DELETE))
        fcntl.ioctl(self.fd, REGISTER, bytearray(
            struct.pack("=I16s7Bx", 0, mask.to_bytes(16, "little"), 1,
                        SA_CLASS, SA_VERSION, 0, 0, 0, 0)))

    def lie_more(self, count):
        self.broadcast = BROADCAST[:count]

    def fall_silent(self):
        """Or answer again, but nothing that was asked before"""
        self.silent = not self.silent
        tell("silent" if self.silent else "answers")

    def become_old(self):
        self.old = True
        tell("old")

    def send(self, header, mad):
        """One at a time: two of one transaction are refused."""
        while True:
            try:
                os.write(self.fd, header + mad)
                return
            except OSError as err:
                if err.errno != 22:
                    raise

    def path(self, header, request):
        asked = request[DATA:DATA + 64]
        dgid, n = asked[8:24], asked[23]
        lid = struct.pack(">H", self.lids.get(dgid, self.own))
        true = (asked[:40] + lid + header[28:30] + bytes(4) + asked[48:49] +
                b"\x81" + asked[50:52] + bytes(2) +
                bytes((EXACTLY | 4, EXACTLY | 3, EXACTLY | 18)) + bytes(7))
        kind = dgid[11] if dgid[8:11] == b"\x0b\xad\0" else 0
        if kind == 1 and n < len(PATHS):
            self.send(header, answer(request, but(true, *PATHS[n])))
        elif kind == 2 and n < len(STATUS):
            self.send(header, answer(request, true, STATUS[n]))
        elif kind == 3 and n < len(TRICKS):
            TRICKS[n](self, header, request, true)
        else:
            known = kind or dgid in self.lids
            self.send(header, answer(request, true, 0 if known else 0x300))
        if kind:
            tell("path %d %d" % (kind, n))

    def member(self, header, request):
        asked = request[DATA:DATA + 52]
        true = (asked[:32] + struct.pack(">IHB", QKEY, self.mlid, EXACTLY | 4) +
                asked[39:42] + bytes((EXACTLY | 3, EXACTLY | 18)) + asked[44:48] +
                bytes((0x20 | asked[48] & 15,)) + asked[49:])
        what, lies, n = "", [], 0
        if asked[13:15] == b"\x08\0":
            what, lies, n = "group", GROUPS, asked[15]
        elif asked[10:16] == b"\0\0\xff\xff\xff\xff":
            what, lies = "broadcast", self.broadcast
            n = self.told % max(len(lies), 1)
        state = asked[48] & 15
        if request[3] == SET and self.old and state == SEND_ONLY_FULL:
            self.send(header, answer(request, status=INVALID))
            return
        if request[3] != SET or n >= len(lies):
            self.send(header, answer(request, true))
            if request[3] == SET:
                tell("member %d %s" % (state, asked[:16].hex()))
            return
        where, lie = lies[n]
        self.send(header, answer(request, but(true, where, lie or request[8:16])))
        self.told += what == "broadcast"
        tell("%s %d" % (what, n))

    def serve(self):
        while True:
            message = os.read(self.fd, HEADER + MAD)
            if self.silent:
                continue
            header, request = message[:HEADER], message[HEADER:]
            attribute = struct.unpack_from(">H", request, 16)[0]
            if attribute == PATH:
                self.path(header, request)
            elif attribute == MCMEMBER:
                self.member(header, request)
            else:
                self.send(header, answer(request, status=12))


# --- tricks ------------------------------------------------------------------

def error_first(sa, header, request, true):
    sa.send(header, answer(request, true, 0x300))
    sa.send(header, answer(request, true))


def of_another(sa, header, request, true):
    mad = answer(request, true)
    sa.send(header, mad[:12] + bytes((mad[12] ^ 0x80,)) + mad[13:])


def silence(*_):
    pass


def cut_short(sa, header, request, true):
    """From another queue pair than that of services: it may send anything."""
    lid = int.from_bytes(header[28:30], "big")
    sa.raw.send(sa.raw.address(lid, bytes(16)), 1,
                answer(request, true)[:DATA + 30])


def lie_second(sa, header, request, true):
    sa.send(header, answer(request, true))
    sa.send(header, answer(request, but(true, 40, b"\0\0")))


TRICKS = [error_first, of_another, silence, cut_short, lie_second]

count = int(sys.argv[3])
agent = Agent(sys.argv[1], int(sys.argv[2], 0), count)
tell("lies %d %d %d %d" % (len(PATHS), len(STATUS), len(GROUPS),
                           len(BROADCAST[:count])))
agent.serve()
