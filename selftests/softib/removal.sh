#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# HCAs that go while they are in use: by the network interface, by programs, by
# the subnet manager. What the kernel says meanwhile, the runner looks at.

. "$(dirname "$0")/lib.sh"

plan 19

make() {
	add_switch sw 4 && add_hca one && add_link one one/1 sw/1 &&
	add_hca two && add_link two two/1 sw/2 &&
	add_hca three && add_link three three/1 sw/3 &&
	manage -g 0x0253494200000101 && until_true 60 all_active_hcas
}

all_active_hcas() {
	port_is one ACTIVE && port_is two ACTIVE && port_is three ACTIVE
}

# use SERVER CLIENT: two programs that send until somebody stops them.
use() {
	ib_write_bw -d "$1" -F -D 300 > /tmp/server 2>&1 &
	server=$!
	until_true 20 listening || return
	ib_write_bw -d "$2" -F -D 300 localhost > /tmp/client 2>&1 &
	client=$!
	until_true 20 sent_much "$2"
}

sent_much() {
	[ "$(< "$hcas/$1/ports/1/counters/port_xmit_packets")" -gt "$(fewer 2000)" ]
}

insmod "$module" hcas=0
check "three HCAs" make
[ $tap_failed -eq 0 ] || finish

# In the initial namespace: the modules' own addresses and groups
modprobe ib_ipoib
check "with network interfaces" until_true 10 sh -c \
	"ls /sys/class/net/ | grep -c '^ib' | grep -x 3"
for i in 0 1 2; do
	ip link set ib$i up
	ip address add 10.9.0.$i/24 dev ib$i
done
check "and programs that use them" use one two
modprobe -a rdma_ucm ib_srp 2> /dev/null
check "an HCA goes" timeout $((60 * tap_slow)) rmdir $conf/hcas/two
check "with its interface" until_true 10 sh -c \
	"ls /sys/class/net/ | grep -c '^ib' | grep -x 2"
check "and its device" not test -e $hcas/two
check "its program hears of it" until_true 30 not kill -0 "$client"
kill -KILL "$server" "$client" 2> /dev/null
wait "$server" "$client" 2> /dev/null

check "it comes back" add_hca two
echo 1 > $conf/links/two/enable
check "and up" until_true 30 port_is two ACTIVE
check "and is used again" use two three

# Error, not silence: what a consumer sees of an HCA that dies.
echo 1 > $conf/hcas/three/fatal
check "an HCA dies" port_is three DOWN
check "its program fails" until_true 30 not kill -0 "$client"
check "the dead one stays down" sh -c "
	echo 0 > $conf/links/three/up; echo 1 > $conf/links/three/up
	grep -q DOWN $conf/links/three/a/state"
check "and is replaced" sh -c "echo 0 > $conf/hcas/three/enable &&
	echo 1 > $conf/hcas/three/enable && echo 1 > $conf/links/three/enable"
check "by one that works" until_true 30 port_is three ACTIVE
kill -KILL "$server" "$client" 2> /dev/null
wait "$server" "$client" 2> /dev/null

check "programs on the manager's own HCA" use one three
check "the manager's HCA goes" timeout $((60 * tap_slow)) rmdir $conf/hcas/one
kill -KILL "$server" "$client" 2> /dev/null
wait "$server" "$client" 2> /dev/null
unmanage
check "everything goes, with interfaces that are up" remove_all
rmmod softib
check "and the module" not test -e /sys/module/softib
rmmod ib_ipoib

finish
