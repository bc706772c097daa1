#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# NVMe over RDMA, the kernel's own: fast registration of memory, invalidation
# from afar and locally, and RDMA in both directions, on kernel QPs.

. "$(dirname "$0")/lib.sh"

name=nqn.2014-08.example:softib
target=/sys/kernel/config/nvmet/subsystems/$name
port=/sys/kernel/config/nvmet/ports/1

interface() {
	modprobe ib_ipoib && until_true 10 [ -e /sys/class/net/ib0 ] &&
	ip addr add 10.1.0.1/24 dev ib0 && ip link set ib0 up &&
	until_true 20 up_and_running
}

up_and_running() {
	[[ $(ip -o link show ib0) == *LOWER_UP* ]]
}

# A disk in memory, offered at the address of ib0
offer() {
	modprobe -a nvmet-rdma nvme-rdma &&
	modprobe brd rd_nr=1 rd_size=16384 &&
	mkdir -p "$target"/namespaces/1 "$port" &&
	echo 1 > "$target"/attr_allow_any_host &&
	echo /dev/ram0 > "$target"/namespaces/1/device_path &&
	echo 1 > "$target"/namespaces/1/enable &&
	echo rdma > "$port"/addr_trtype &&
	echo ipv4 > "$port"/addr_adrfam &&
	echo 10.1.0.1 > "$port"/addr_traddr &&
	echo 4420 > "$port"/addr_trsvcid &&
	ln -s "$target" "$port"/subsystems/
}

withdraw() {
	rm "$port"/subsystems/"$name" && rmdir "$port" "$target"/namespaces/1 "$target" &&
	modprobe -r nvmet-rdma nvme-rdma && modprobe -r brd
}

use() {
	local options

	options=transport=rdma,traddr=10.1.0.1,trsvcid=4420,nqn=$name
	echo "$options,nr_io_queues=2,queue_size=32" > /dev/nvme-fabrics &&
	until_true 10 [ -b /dev/nvme0n1 ]
}

leave() {
	echo 1 > /sys/class/nvme/nvme0/delete_controller
}

# What is written there is read from the disk itself, and the other way round.
written() {
	dd if=/tmp/data of=/dev/nvme0n1 bs="$1" oflag=direct status=none &&
	blockdev --flushbufs /dev/ram0 &&
	cmp -n 3000000 /tmp/data /dev/ram0
}

read_back() {
	dd if=/dev/nvme0n1 of=/tmp/copy bs="$1" count=$((3145728 / $1)) \
		iflag=direct status=none &&
	cmp /tmp/data /tmp/copy
}

random() {
	head -c 3145728 /dev/urandom > /tmp/data
}

plan 9

check "a fabric" up 2
check "IPoIB" interface
mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config
check "a disk is offered" offer
check "and used" use
random
check "writes of 1 MiB" written 1048576
check "reads of 64 KiB" read_back 65536
random
check "writes of 4 KiB" written 4096
check "the disk is left" leave
check "and withdrawn" withdraw
rmmod ib_ipoib
down

finish
