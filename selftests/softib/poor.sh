#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Adapters that can do little: the project's drivers get along, and so do programs.

. "$(dirname "$0")/ip.sh"

modules=$BUILD/$KERNEL
file=/tmp/poor.file

# The kernel's module brings what ours needs.
our_ipoib() {
	modprobe ib_ipoib && rmmod ib_ipoib && insmod "$modules/ipoib/ib_ipoib.ko"
}

# limit NAME VALUE: as programs are told
limit() {
	ibv_devinfo -v -d softib0 | grep -E "^[[:space:]]*$1:[[:space:]]*$2\$"
}

limits() {
	limit max_cqe 2047 && limit max_sge 1 && limit max_srq 0 && limit max_qp_rd_atom 1
}

# pings SIZE
pings() {
	ping -M "do" -c 3 -i 0.2 -W 5 -s "$1" 10.1.0.2
}

connected() {
	echo connected > /sys/class/net/ib0/mode &&
	ip netns exec peer sh -c "echo connected > /sys/class/net/ib1/mode" &&
	until_true 20 pings 2000
}

transfer() {
	rm -f "$file.got"
	on_ip sink_listens socat -u TCP-LISTEN:7000,reuseaddr "OPEN:$file.got,creat" -- \
		socat -u "OPEN:$file" TCP:10.1.0.1:7000 &&
	cmp "$file" "$file.got"
}

sink_listens() {
	port_open 7000
}

# Each connection may move, to InfiniBand alone.
wants_sdp() {
	"$@" sysctl -q -w net.sdp.attach=1 net.sdp.carriers=ib
}

sdp() {
	insmod "$modules/sdpdev/sdpdev.ko" && insmod "$modules/sdpdev/sdp_verbs.ko" &&
	insmod "$modules/sdpdev/sdp_ib.ko" &&
	wants_sdp && wants_sdp ip netns exec peer && transfer &&
	ip netns exec peer grep '^carrier_joined [1-9]' /proc/net/sdp/snmp
}

# What the transport makes of it
told() {
	dmesg | grep "softib0: one piece for a receive"
}

few=$(fewer 20)
head -c "$(fewer 3000000)" /dev/urandom > "$file"

plan 15
check "a fabric" up 2 poor=Y
check "its adapters tell how poor they are" limits
check "they take no inline data" "$programs/inline" none
check "IPoIB" interfaces our_ipoib
check "datagrams" pings 2000
check "a file" transfer
check "connected mode" connected
check "a file" transfer
check "SDP" sdp
check "which says what it does without" told
check "ib_send_lat" pair ib_send_lat -F -n "$few"
check "ib_send_bw" pair ib_send_bw -F -n "$few"
check "ib_write_bw" pair ib_write_bw -F -n "$few"
check "ib_read_bw" pair ib_read_bw -F -n "$few"
check "ib_atomic_bw" pair ib_atomic_bw -F -n "$few"
rmmod sdp_ib sdp_verbs sdpdev
no_interfaces
down

finish
