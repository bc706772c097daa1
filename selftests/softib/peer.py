#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# The far end of a link, as a program (far.h): peer.py OWN_PORT PORT LINK LID NUMBER,
# where LINK is the directory of a link whose end b is far away, and LID and NUMBER are
# those of the port at its end a. First the program sends what nobody may send, then it
# speaks properly, and in the end it falls silent. It prints a line for each result: 0 or
# 1, and a name.

import os
import random
import socket
import struct
import subprocess
import sys
import time

MAGIC, VERSION, HELLO, PACKET = 0x53494246, 1, 1, 2

own, other, link, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("127.0.0.1", own))
sock.connect(("127.0.0.1", other))
sock.settimeout(30)


def header(kind, magic=MAGIC, version=VERSION, hops=0):
    return struct.pack(">IBBBB", magic, version, kind, hops, 0)


def hello(session, heard=0, up=1, mtu=5, rate=4):
    return header(HELLO) + struct.pack(">IIBBBB", session, heard, up, mtu,
                                       rate, 0)


def vcrc(data):
    """IBA 7.8.2: x^16 + x^12 + x^3 + x + 1, bytes least significant bit first"""
    crc = 0xffff
    for byte in data:
        for bit in range(8):
            top = crc >> 15 ^ byte >> bit & 1
            crc = crc << 1 & 0xffff ^ (0x100b if top else 0)
    crc ^= 0xffff
    return struct.pack("<H", int(f"{crc:016b}"[::-1], 2))


def smp(tid, more=0):
    """SubnGet(NodeInfo) by a directed route of no hop but the link itself, and so many
    bytes behind it
    """
    mad = struct.pack(">BBBBHBBQHHI", 1, 0x81, 1, 1, 0, 1, 1, tid, 0x11, 0, 0)
    mad += struct.pack(">QHH28x64x", 0, 0xffff, 0xffff)
    mad += bytes([0, 1]) + bytes(62) + bytes(64) + bytes(more)
    bth = struct.pack(">BBHII", 0x64, 0, 0xffff, 0, 0)
    deth = struct.pack(">II", 0, 0)
    length = 8 + len(bth + deth + mad) + 4
    return struct.pack(">HHHH", 0xf002, 0xffff, length // 4, 0xffff) + \
        bth + deth + mad + bytes(4)


def read(name):
    with open(os.path.join(link, name), encoding="ascii") as file:
        return file.read()


def dropped(why):
    return int(dict(map(str.split, read("b/udp_dropped").splitlines()))[why])


def receive_errors():
    """of the near end's port"""
    lines = subprocess.run(["perfquery", "-C", "softib0"] + port, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return int(next(line.rpartition(".")[2] for line in lines
                    if line.startswith("PortRcvErrors:")))


def result(ok, name):
    print(0 if ok else 1, name, flush=True)


def wait(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def get(kind):
    while True:
        data = sock.recv(65536)
        if data[5] == kind:
            return data


def junk():
    """What is not even looked at"""
    whole = smp(1) + bytes(2)
    yield from (b"", b"x", header(HELLO)[:7], header(HELLO), header(PACKET))
    yield header(HELLO, magic=MAGIC ^ 1) + hello(1)[8:]
    yield header(HELLO, version=2) + hello(1)[8:]
    yield from (hello(1)[:-1], hello(1) + b"x", hello(0), hello(1, up=2),
                hello(1, mtu=0), hello(1, mtu=6), hello(1, rate=9))
    yield from (header(0) + whole, header(3) + whole, header(255) + whole)
    yield header(PACKET, hops=17) + whole
    yield from (header(PACKET) + whole[:n] for n in (1, 7, 8, 25, 100))
    yield header(PACKET) + whole + bytes(4)
    yield from (header(PACKET) + struct.pack(">HHHH", 2, 1, n // 4 & 0x7ff, 2) +
                bytes(n - 6) for n in (8, 20, 8000))
    yield header(PACKET) + bytes(65000)
    random.seed(1)
    yield from (random.randbytes(random.randrange(1, 3000)) for _ in range(100))


before, sent = dropped("malformed"), list(junk())
for datagram in sent:
    sock.send(datagram)
result(wait(lambda: dropped("malformed") == before + len(sent)),
       "junk is dropped and counted")
before = dropped("foreign")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
    stranger.sendto(hello(1), ("127.0.0.1", other))
result(wait(lambda: dropped("foreign") == before + 1),
       "so is what a stranger sends")
result(read("a/state") == "DOWN\n", "and nobody takes it for a peer")

sock.send(hello(17))
while True:
    theirs = struct.unpack(">IIBBBB", get(HELLO)[8:])
    if theirs[1] == 17:
        break
result(read("a/state") == "DOWN\n", "a hello is answered")
sock.send(hello(17, theirs[0]))
result(wait(lambda: read("a/state") == "INIT\n"), "and another makes a link")

# Packets: with a wrong VCRC, then with the right one.
packet = smp(3)
sock.send(header(PACKET) + smp(2) + bytes(2))
sock.send(header(PACKET) + packet + vcrc(packet))
# The subnet manager asks this end, too.
while True:
    answer = get(PACKET)[8:]
    if answer[31] == 0x81:
        break
result(answer[-2:] == vcrc(answer[:-2]), "what is sent has a VCRC")
result(answer[36:44] == struct.pack(">Q", 3),
       "a MAD is answered, one with a wrong VCRC is not")

# A link with the smallest MTU, and a packet that is longer than that lets it be.
sock.send(hello(18, theirs[0], mtu=1))
while struct.unpack(">II", get(HELLO)[8:16])[1] != 18:
    pass
errors, packet = receive_errors(), smp(4, 128)
sock.send(header(PACKET) + packet + vcrc(packet))
result(wait(lambda: receive_errors() == errors + 1),
       "a packet that is too long for the MTU is an error")

for number in range(1000):
    heard = time.monotonic()
    sock.send(hello(1000 + number, theirs[0]))
result(wait(lambda: read("a/state") == "INIT\n"), "a thousand new sessions")

sock.close()
# Four seconds, but the machine may be busy.
gone = wait(lambda: read("a/state") == "DOWN\n", 40)
silent = time.monotonic() - heard
print(f"silent for {silent:.1f} s", file=sys.stderr)
result(gone and 2 <= silent <= 15, "who says nothing any more is gone")
