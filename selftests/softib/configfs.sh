#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A fabric that is made and changed while it works.

. "$(dirname "$0")/lib.sh"

# gets VALUE FILE
gets() {
	[ "$(< "$conf/$2")" = "$1" ]
}

# refuses VALUE FILE [ERROR]: a value is not taken, and the old one stays.
refuses() {
	local old now

	read -r old 2> /dev/null < "$conf/$2"
	echo "$1" 2> /tmp/error > "$conf/$2" && return 1
	read -r now 2> /dev/null < "$conf/$2"
	[[ $old = "$now" && $(< /tmp/error) = *"${3:-}"* ]]
}

# rate_is HCA RATE
rate_is() {
	grep -q "^$2 Gb/sec" "$hcas/$1/ports/1/rate"
}

# mtu_is HCA MTU
mtu_is() {
	ibv_devinfo -d "$1" | grep -q "active_mtu:[[:space:]]*$2 "
}

# nodes N: that many are known to the SM.
nodes() {
	[ "$(saquery NR 2> /dev/null | grep -c NodeDescription)" -eq "$1" ]
}

# pingpong HCA HCA [OPTION...]
pingpong() {
	local server status

	timeout $((60 * tap_slow)) ibv_rc_pingpong -d "$1" -n 100 "${@:3}" > /tmp/server 2>&1 &
	server=$!
	until_true 20 listening || { cat /tmp/server; kill "$server"; return 1; }
	timeout $((60 * tap_slow)) ibv_rc_pingpong -d "$2" -n 100 "${@:3}" localhost 2>&1
	status=$?
	wait "$server" && return "$status"
}

# The folder of the bus's devices has such a file, too.
from_sysfs() {
	add_hca uevent && [ -e "$hcas/uevent" ] && rmdir "$conf/hcas/uevent"
}

plan 56

insmod "$module" hcas=0
check "an empty fabric" test -z "$(ls $hcas/)"
check "a switch" add_switch tree 4
check "an HCA" add_hca alpha
check "another one" add_hca beta
check "with a name and a parent" \
	test -d /sys/devices/softib/softib.alpha/infiniband/alpha
check "on a bus of its own" \
	test /sys/bus/softib/devices/softib.alpha -ef /sys/devices/softib/softib.alpha
check "also if sysfs has the name" from_sysfs
check "a link" add_link one alpha/1 tree/1
check "another one" add_link two tree/2 beta/1
check "the physical links are up" port_is alpha INIT
manage -g 0x0253494200000101
check "opensm makes them work" until_true 30 port_is beta ACTIVE
check "data passes" pingpong alpha beta

check "a third HCA, while it works" add_hca gamma
check "with a link" add_link three gamma/1 tree/4
check "is brought up" until_true 30 port_is gamma ACTIVE
check "is known" until_true 10 nodes 4
check "and works" pingpong gamma beta

echo 0 > $conf/links/three/up
check "a link without a cable is down" port_is gamma DOWN
check "the SM hears of that" until_true 10 nodes 3
echo 1 > $conf/links/three/up
check "and that it is in again" until_true 10 port_is gamma ACTIVE
check "and works again" pingpong gamma beta

check "rate 40" rate_is gamma 40
echo 10 > $conf/links/three/rate
check "rate 10" until_true 10 rate_is gamma 10
echo 2.5 > $conf/links/three/rate
check "rate 2.5" until_true 10 rate_is gamma 2.5
echo 100 > $conf/links/three/rate
check "rate 100" until_true 10 rate_is gamma 100
echo 400 > $conf/links/three/rate
check "rate 400" until_true 10 rate_is gamma 400
check "and up" until_true 20 port_is gamma ACTIVE
echo 256 > $conf/links/three/mtu
check "MTU 256" until_true 10 mtu_is gamma 256
check "is ACTIVE with it" until_true 10 port_is gamma ACTIVE
check "a small MTU beside larger ones" pingpong gamma alpha -m 256
echo 4096 > $conf/links/three/mtu
check "MTU 4096" until_true 10 mtu_is gamma 4096

echo 0 > $conf/hcas/gamma/enable
check "an HCA that is not enabled is gone" not test -e $hcas/gamma
check "its link is unplugged" gets 0 links/three/enable
check "the link does not go in without it" refuses 1 links/three/enable \
	"No such device"
echo 1 > $conf/hcas/gamma/enable
echo 1 > $conf/links/three/enable
check "again" until_true 30 port_is gamma ACTIVE
check "a link can join others" sh -c "rmdir $conf/links/three &&
	rmdir $conf/links/two"
check "without a switch" add_link back gamma/1 beta/1
check "which needs a manager of its own" port_is gamma INIT
check "an HCA is removed with its link in" rmdir $conf/hcas/beta
check "the other end is down" port_is gamma DOWN
rmdir $conf/links/back

check "bad ports" refuses 0 links/one/a/port
check "of a node that is not there" sh -c "mkdir $conf/links/bad &&
	echo nobody/1 > $conf/links/bad/a/port"
echo gamma/1 > $conf/links/bad/b/port
check "a link to nowhere" refuses 1 links/bad/enable "No such device"
echo tree/5 > $conf/links/bad/a/port
check "to a port that the switch lacks" refuses 1 links/bad/enable \
	"No such device"
echo tree/1 > $conf/links/bad/a/port
check "to a port that has one" refuses 1 links/bad/enable "busy"
echo gamma/1 > $conf/links/bad/a/port
check "from a port to itself" refuses 1 links/bad/enable "busy"
check "a port that is in use cannot become another" \
	refuses tree/3 links/one/a/port "busy"

bad_values() {
	local value file

	while read -r file value; do
		refuses "$value" "$file" ||
			{ echo "$file took '$value'"; return 1; }
	done <<-EOV
		links/bad/a/port tree
		links/bad/a/port /1
		links/bad/a/port tree/0
		links/bad/a/port tree/255
		links/bad/a/port tree/-1
		links/bad/a/port tree/1/1
		links/bad/a/port aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/1
		links/bad/enable 2
		links/bad/up x
		links/bad/mtu 0
		links/bad/mtu 1500
		links/bad/mtu 8192
		links/bad/mtu 4294967296
		links/bad/rate 3
		links/bad/rate 40,0
		links/bad/a/loss 1000001
		links/bad/a/loss -1
		links/bad/a/corrupt 1%
		links/bad/a/duplicate 99999999999
		links/bad/a/reorder x
		links/bad/a/delay 60000001
		links/bad/a/cut -1
		links/bad/a/seed 4294967296
		links/one/a/state UP
		links/one/a/state ACTIVE
		links/bad/a/state INIT
		links/one/a/remove_pkey 0
		links/one/a/remove_pkey 0x10000
		links/one/a/remove_pkey 0x1234
		switches/tree/ports 5
		hcas/alpha/node_guid 0x1
		hcas/spare/node_guid 0
		hcas/spare/node_guid guid
		hcas/spare/vfs 65
		hcas/alpha/vfs 1
		hcas/spare/vf_stats 0 1 2 3 4 5 6 7 8
		hcas/alpha/vf_stats 0 1 2 3 4 5 6 7
		hcas/alpha/vf_stats 0 1 2 3 4 5 6 7 8
		hcas/spare/fatal 1
		hcas/alpha/fatal 0
		hcas/spare/halted 1
		hcas/alpha/halted 2
	EOV
}
mkdir $conf/hcas/spare
check "no other bad value is taken" bad_values
cat $conf/hcas/alpha/node_guid > $conf/hcas/spare/node_guid
check "nor a GUID twice" refuses 1 hcas/spare/enable "File exists"
echo $(($(< $conf/hcas/alpha/node_guid) + 1)) > $conf/hcas/spare/node_guid
check "nor that of another HCA's port" refuses 1 hcas/spare/enable "File exists"
check "nor a bad name" not mkdir "$conf/hcas/a b" "$conf/hcas/%d" \
	"$conf/links/-1" 2> /dev/null
check "a switch has no less than one port" sh -c "mkdir $conf/switches/small &&
	! echo 0 > $conf/switches/small/ports"
check "the module stays while there is something" not rmmod softib 2> /dev/null
check "a switch is removed, with its links in" rmdir $conf/switches/tree
unmanage
check "so is everything else" remove_all
check "and the module" rmmod softib

finish
