#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# echo.py FIRST COUNT SECONDS: asks so many IPv4 addresses from FIRST on for an
# echo, 64 at a time and again after two seconds; says how many have answered,
# and fails if that is not all of them in time.

import ipaddress
import select
import socket
import struct
import sys
import time

first = int(ipaddress.ip_address(sys.argv[1]))
count = int(sys.argv[2])
end = time.monotonic() + float(sys.argv[3])

# Type 8, code 0, identifier 0x77, sequence number 1
request = struct.pack(">BBHHH", 8, 0, 0xffff - (0x0800 + 0x77 + 1), 0x77, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.setblocking(False)

todo = [str(ipaddress.ip_address(first + i)) for i in range(count)]
asked = {}
answered = 0

while (todo or asked) and time.monotonic() < end:
    while todo and len(asked) < 64:
        to = todo.pop()
        asked[to] = time.monotonic()
        s.sendto(request, (to, 0))
    select.select([s], [], [], 0.1)
    try:
        while True:
            packet, (sender, _) = s.recvfrom(100)
            if packet[20] == 0 and asked.pop(sender, None):
                answered += 1
    except BlockingIOError:
        pass
    late = time.monotonic() - 2
    for to in [to for to, when in asked.items() if when < late]:
        del asked[to]
        todo.append(to)

print(answered, "answered")
sys.exit(answered != count)
