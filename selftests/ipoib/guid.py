#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# guid.py DEVICE LID INDEX GUID: has the subnet administrator give the port with LID
# another GUID, entry INDEX (1 to 7) of its table; asked from DEVICE's port 1.

import fcntl
import glob
import os
import struct
import sys

REGISTER, ENABLE_PKEY = 0xc01c1b01, 0x1b03      # <rdma/ib_user_mad.h>
HEADER, DATA = 64, 56
SA_CLASS, SA_VERSION = 3, 2
SET, SET_RESPONSE = 0x02, 0x81
GUID_INFO = 0x30
GSI_QKEY = 0x80010000
# Of the record: LID and block; entry 0 of the block is bit 4.
NAMES = 0b11


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def agent(device):
    for path in glob.glob("/sys/class/infiniband_mad/umad*"):
        if read(path + "/ibdev") == device:
            fd = os.open("/dev/infiniband/" + os.path.basename(path), os.O_RDWR)
            fcntl.ioctl(fd, ENABLE_PKEY)
            number = bytearray(struct.pack("=I16s7Bx", 0, bytes(16), 1,
                                           SA_CLASS, SA_VERSION, 0, 0, 0, 0))
            fcntl.ioctl(fd, REGISTER, number)
            return fd, number
    sys.exit("no such device: " + device)


def main():
    device, (lid, index, guid) = sys.argv[1], (int(a, 0) for a in sys.argv[2:5])
    sm_lid = int(read("/sys/class/infiniband/%s/ports/1/sm_lid" % device), 16)
    fd, number = agent(device)
    # struct ib_user_mad_reg_req ends with the agent's number.
    number = struct.unpack("=I", number[-4:])[0]
    header = struct.pack("=5I", number, 0, 2000, 5, 256)
    header += struct.pack(">IIHBB", 1, GSI_QKEY, sm_lid, 0, 0)
    header += bytes(HEADER - len(header))
    mad = struct.pack(">BBBBHHQHHI", 1, SA_CLASS, SA_VERSION, SET, 0, 0,
                      os.getpid(), GUID_INFO, 0, 0)
    mad += bytes(12) + struct.pack(">QHHQ", 0, 0, 0, NAMES | 1 << (4 + index))
    guids = [0] * 8
    guids[index] = guid
    mad += struct.pack(">HBBI8Q", lid, 0, 0, 0, *guids)
    os.write(fd, header + mad + bytes(256 - len(mad)))
    answer = os.read(fd, HEADER + 256)
    status = struct.unpack("=I", answer[4:8])[0]
    mad = answer[HEADER:]
    if status or mad[3] != SET_RESPONSE or mad[4:6] != bytes(2):
        sys.exit("not given: %d, method %#x, status %s" %
                 (status, mad[3], mad[4:6].hex()))


main()
