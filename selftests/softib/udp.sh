#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Links to another kernel's fabric, over UDP. Here both are in one kernel: a
# link to far away and one from there.

. "$(dirname "$0")/lib.sh"

# far_link NAME NEAR NODE/PORT FAR BIND PEER: a link whose end FAR is far away.
far_link() {
	mkdir -p "$conf/links/$1" && echo "$3" > "$conf/links/$1/$2/port" &&
	echo "$5" > "$conf/links/$1/$4/udp_bind" &&
	echo "$6" > "$conf/links/$1/$4/udp_peer"
}

# state_is LINK/END STATE
state_is() {
	[ "$(< "$conf/links/$1/state")" = "$2" ]
}

# both STATE
both() {
	state_is here/a "$1" && state_is there/b "$1"
}

# set_link LINK ATTRIBUTE VALUE
set_link() {
	echo "$3" > "$conf/links/$1/$2"
}

# info_is FIELD VALUE: in PortInfo of the switch's port at the link
info_is() {
	smpquery -C softib0 portinfo -D 0,1 2 | grep -q "^$1:\.*$2"
}

# mtu_is MTU: of softib1
mtu_is() {
	ibv_devinfo -d softib1 | grep -q "active_mtu:[[:space:]]*$1 "
}

# enable_in NAMESPACE LINK: a process that enters by ip does not see configfs.
enable_in() {
	nsenter --net=/run/netns/"$1" sh -c "echo 1 > $conf/links/$2/enable"
}

rc_data() {
	"$programs/rc" loss > /tmp/rc || { grep -v ^ok /tmp/rc; return 1; }
}

# A machine takes a silent peer to be there for three seconds at least. The test tries a machine
# again that was not scheduled for so long.
goodbye() {
	local begin end i

	for i in 1 2 3; do
		read -r begin _ < /proc/uptime
		set_link there enable 0
		until_true 10 state_is here/a DOWN || return
		read -r end _ < /proc/uptime
		echo "after ${begin/./} to ${end/./} hundredths of a second"
		[ $((${end/./} - ${begin/./})) -ge 250 ] || return 0
		set_link there enable 1
		until_true 10 both INIT || return
	done
	return 1
}

plan 52

insmod "$module" hcas=0
two_switches() {
	add_switch one 4 && add_switch two 4 &&
	add_hca softib0 && add_hca softib1 &&
	add_link 0 softib0/1 one/1 && add_link 1 softib1/1 two/1 &&
	far_link here a one/2 b 127.0.0.1:4001 127.0.0.1:4002 &&
	far_link there b two/2 a 127.0.0.1:4002 127.0.0.1:4001
}
check "two switches, which know of each other by address" two_switches
set_link here enable 1
check "a link that nobody answers" state_is here/a DOWN
set_link there enable 1
check "comes up when somebody does" until_true 5 both INIT
# Nothing else can be without that.
[ $tap_failed -eq 0 ] || finish
[ "$(cat $conf/links/here/b/udp_bind $conf/links/here/b/udp_peer)" = \
	"127.0.0.1:4001
127.0.0.1:4002" ] && [ -z "$(< $conf/links/here/a/udp_peer)" ]
result $? "the addresses can be read"
manage -g 0x0253494200000101
check "a subnet manager finds the other side" until_true 30 \
	port_is softib1 ACTIVE
check "data comes right" rc_data

set_link here rate 10
check "the lower rate counts" until_true 5 info_is LinkSpeedActive 2.5
set_link here mtu 4096
check "and the smaller MTU" until_true 5 info_is MtuCap 2048
for link in 0 1 there; do
	set_link $link mtu 4096
done
# Most packets are in three pieces then.
ip link set lo mtu 1500
check "MTU 4096" until_true 20 mtu_is 4096
check "the link is back" until_true 20 all_active 2
check "data comes right in pieces" pair ibv_rc_pingpong -m 4096 -s 100000 -n 20
ip link set lo mtu 65536

set_link there/b corrupt 50000
check "data comes right with flipped bits" rc_data
set_link there/b corrupt 0
lid=$(smpquery -C softib0 portinfo -D 0,1 0 | sed -n 's/^Lid:\.*//p')
[ "$(perfquery -C softib0 "$lid" 2 | sed -n 's/^PortRcvErrors:\.*//p')" -gt 0 ]
result $? "which the VCRC told the other end"

pkill -STOP -x opensm
set_link there up 0
check "a cable that is out" until_true 3 both DOWN
set_link there up 1
check "and in" until_true 3 both INIT
check "the other side says goodbye" goodbye
set_link there enable 1
check "and hello" until_true 3 both INIT
pkill -CONT -x opensm
check "is found again" until_true 30 state_is there/b ACTIVE
pkill -STOP -x opensm
set_link there/b state DOWN
check "one end that went down for a moment" until_true 3 both INIT
pkill -CONT -x opensm
check "is found again" until_true 30 state_is here/a ACTIVE
check "the manager disables a port" ibportstate -C softib0 -D 0,1 2 disable
check "which takes down the other" until_true 3 state_is there/b DOWN
ibportstate -C softib0 -D 0,1 2 enable > /dev/null
check "until it is enabled" until_true 30 both ACTIVE

# In the place of the other side, a program that means no good.
set_link there enable 0
while read -r status name; do
	[ "$status" -eq 0 ] || diag "$(< /tmp/peer)"
	result "$status" "$name"
done < <("$(dirname "$0")/peer.py" 4002 4001 $conf/links/here "$lid" 2 2> /tmp/peer)
diag "$(< /tmp/peer)"
set_link there enable 1
check "the real one is found" until_true 30 both ACTIVE

# refuses ERROR VALUE FILE: a value is not taken.
refuses() {
	! echo "$2" 2> /tmp/error > "$conf/links/$3" &&
	[[ $(< /tmp/error) = *"$1"* ]]
}

bad_values() {
	local value file

	while read -r file value; do
		refuses Invalid "$value" "bad/$file" ||
			{ echo "$file took '$value'"; return 1; }
	done <<-EOV
		a/udp_peer 1.2.3.4
		a/udp_peer 1.2.3.4:0
		a/udp_peer 1.2.3:4
		a/udp_peer 1.2.3.4:5x
		a/udp_peer 1.2.3.4.5:6
		a/udp_peer 0.0.0.0:4
		a/udp_peer 224.0.0.1:4
		a/udp_bind 255.255.255.255:4
		a/udp_bind ::1:4
		a/udp_bind [::1]
		a/udp_bind [::1:4
		a/udp_bind [fe80::1]:4
		a/udp_bind [ff02::1]:4
		a/udp_peer [::]:4
		a/udp_peer host:4
		enable 1
	EOV
}
mkdir $conf/links/bad
check "bad addresses" bad_values
far_link bad a two/3 b 127.0.0.1:4002 127.0.0.1:4009
check "an address that is in use" refuses "Address already in use" 1 bad/enable
set_link bad b/udp_bind 192.0.2.1:4002
check "that is somebody else's" refuses "Cannot assign" 1 bad/enable
set_link bad b/udp_bind '[::1]:4002'
check "of another family" refuses Invalid 1 bad/enable
set_link bad b/udp_bind ""
check "none" refuses Invalid 1 bad/enable
set_link bad b/udp_bind 127.0.0.1:4003
set_link bad b/port two/4
check "an end that is here and far away" refuses Invalid 1 bad/enable
set_link bad b/port ""
set_link bad a/port ""
set_link bad a/udp_peer 127.0.0.1:4009
check "both ends far away" refuses Invalid 1 bad/enable
rmdir $conf/links/bad
check "nothing changes while the link is in" refuses busy 127.0.0.1:1 \
	here/b/udp_peer

# IPv6, between two namespaces
ip netns add far
ip link add v0 type veth peer name v1 netns far
ip address add fd00::1/64 dev v0 nodad
ip -n far address add fd00::2/64 dev v1 nodad
ip link set v0 up
ip -n far link set v1 up
set_link here enable 0
set_link there enable 0
far_link here a one/2 b '[fd00::1]:4001' '[fd00::2]:4001'
far_link there b two/2 a '[fd00::2]:4001' '[fd00::1]:4001'
set_link here enable 1
check "a link in another namespace" enable_in far there
check "is found" until_true 30 both ACTIVE
check "data comes right over IPv6" pair ibv_rc_pingpong -m 4096 -s 100000 -n 20
ip netns delete far
check "a namespace that goes takes its link down" until_true 20 both DOWN
check "which is still there" grep -qx 1 $conf/links/there/enable
unmanage
check "everything is removed" remove_all
rmmod softib

# HCA to HCA, and the module is unloaded while it is in use.
insmod "$module" hcas=2 machine=7
[ "$(< $conf/hcas/softib1/node_guid)" = 0x0253494200070200 ]
result $? "GUIDs of another machine"
for i in 0 1; do
	set_link softib$i enable 0
	set_link softib$i b/port ""
	far_link softib$i a softib$i/1 b 127.0.0.1:400$i 127.0.0.1:400$((1 - i))
	set_link softib$i enable 1
done
until_true 10 port_is softib0 INIT
manage -g 0x0253494200070101
check "one HCA to the other" until_true 20 all_active 2
check "data comes right" rc_data
check "unloaded with everything in use" down

finish
