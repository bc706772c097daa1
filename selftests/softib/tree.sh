#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A tree of switches: a root, two leaves, four HCAs; two subnet managers.

. "$(dirname "$0")/lib.sh"

# smp WHAT ADDRESS...: one field a line, without the dots.
smp() {
	smpquery "$@" | sed 's/:\.*/=/'
}

# master: LID of the SM that every HCA has been told of, if it is one.
masters() {
	cat "$hcas"/*/ports/1/sm_lid | sort -u
}

master_is() {
	[ "$(masters)" = "$(cat "$hcas"/"$1"/ports/1/lid)" ]
}

# A manager that notices soon that another is gone
printf 'sminfo_polling_timeout 500\npolling_retry_number 2\n' > /tmp/opensm.conf
sm() {
	manage -F /tmp/opensm.conf -g 0x02534942000"$1"01 -p "$2" -f "/tmp/opensm.$1.log"
}

make_tree() {
	local i

	add_switch root 4 && add_switch left 4 && add_switch right 4 &&
	add_link root-left root/1 left/4 && add_link root-right root/3 right/4 &&
	for i in 1 2 3 4; do
		add_hca "hca$i" || return
	done &&
	add_link 1 hca1/1 left/1 && add_link 2 hca2/1 left/2 &&
	add_link 3 hca3/1 right/1 && add_link 4 right/2 hca4/1
}

all_up() {
	[ "$(cat "$hcas"/hca*/ports/1/state | grep -c ACTIVE)" -eq 4 ]
}

plan 24

insmod "$module" hcas=0
check "three switches and four HCAs" make_tree
sm 001 5
check "come up" until_true 60 all_up
# Nothing else can be without that.
[ $tap_failed -eq 0 ] || finish
output=$(ibnetdiscover 2>&1)
diag "$output"
[ "$(grep -c '^Switch' <<< "$output") $(grep -c '^Ca' <<< "$output")" = "3 4" ]
result $? "are discovered"
grep -qE '^\[1\].*"S-0253494201000100"\[4\].*"left"' <<< "$output" &&
	grep -qE '^\[3\].*"S-0253494201000200"\[4\].*"right"' <<< "$output"
result $? "with the links between the switches"
[ "$(iblinkinfo 2>&1 | grep -c 'Active/ *LinkUp')" -eq 12 ]
result $? "iblinkinfo: both ports of six links are active"

smp -C hca1 nodedesc -D 0,1,4,3,1 | grep -q '^Node Description=hca3'
result $? "a directed route through three switches"
[ "$(smp -C hca1 nodeinfo -D 0,1,4,3 | grep ^Guid)" = "Guid=0x0253494201000200" ]
result $? "and to the last of them"
not smpquery -C hca1 -t 200 nodeinfo -D 0,1,4,2 > /dev/null 2>&1
result $? "a route to a port without a link has no answer"
smp -C hca1 nodeinfo -D 0,1,4,1,4,3 | grep -q '^Guid=0x0253494201000200'
result $? "and one that goes there twice"
lid=$(ibswitches | sed -nE 's/.*"right".* lid ([0-9]+) .*/\1/p')
smp nodeinfo "$lid" | grep -q '^Guid=0x0253494201000200'
result $? "SMPs by LID reach the far switch"
perfquery "$lid" 4 | grep -q '^PortXmitPkts:\.*[1-9]'
result $? "performance queries, too"
check "ibping through three switches" sh -c "
	ibping -S -C hca4 -P 1 & p=\$!
	# Until the server is there.
	for i in 1 2 3 4 5; do
		ibping -C hca1 -P 1 -f -c 1 $(($(< $hcas/hca4/ports/1/lid))) |
			grep ' 1 received' && break
	done
	ibping -C hca1 -P 1 -c 3 $(($(< $hcas/hca4/ports/1/lid))) |
		grep '3 received'
	status=\$?
	kill \$p
	exit \$status"

# Multicast, from one leaf to the other: IPoIB's broadcast group
modprobe ib_ipoib
interfaces() {
	local i

	for i in 0 1 2 3; do
		ip netns add n"$i" &&
		ip link set ib"$i" netns n"$i" &&
		ip -n n"$i" address add 10.9.0."$i"/24 dev ib"$i" &&
		ip -n n"$i" link set ib"$i" up || return
	done
}
check "an interface on each HCA" interfaces
# ping itself gives up at the first error, which comes of an interface that is not up yet.
check "multicast and unicast from leaf to leaf" \
	until_true 20 ip netns exec n0 ping -c 2 -w 5 10.9.0.3
check "and on a leaf" until_true 20 ip netns exec n2 ping -c 2 -w 5 10.9.0.3

echo renamed > $hcas/hca3/node_desc
check "a new node description is known" until_true 10 \
	sh -c "saquery NR | grep -q 'NodeDescription.*renamed'"

# A second manager, with a higher priority, takes over; when it dies, so does
# the first.
check "the manager is on the first HCA" master_is hca1
sm 004 10
check "one with a higher priority takes over" until_true 60 master_is hca4
check "sminfo says so" sh -c "sminfo | grep SMINFO_MASTER"
pkill -KILL -f opensm.004.log
check "the first comes back" until_true 60 master_is hca1

# A tree with a circle in it: no packet goes round.
check "a second way between the leaves" add_link circle left/3 right/3
check "is brought up" until_true 30 sh -c \
	"grep -q ACTIVE $conf/links/circle/a/state"
check "and does no harm" ip netns exec n0 ping -c 2 -w 20 10.9.0.3
rmmod ib_ipoib
unmanage
check "everything is removed" remove_all
rmmod softib

finish
