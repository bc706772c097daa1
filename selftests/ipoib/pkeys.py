#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# pkeys.py DEVICE PKEY...: makes these, as the subnet manager does, the P_Keys of
# DEVICE's port 1 (P_KeyTable, IBA 14.2.5.7), from index 0 on, and no others.

import struct
import sys

from portinfo import ask, agent, DATA, DIRECTED_CLASS, SET, VERSION

P_KEY_TABLE = 0x16

keys = [int(key, 0) for key in sys.argv[2:]]
fd, number = agent(sys.argv[1], 0, DIRECTED_CLASS, VERSION)
ask(fd, number, 1, SET, P_KEY_TABLE,
    struct.pack(">%dH" % (DATA // 2), *keys, *[0] * (DATA // 2 - len(keys))))
