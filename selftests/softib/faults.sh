#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a link does to packets when it is told to, and what is done to ports.

. "$(dirname "$0")/lib.sh"

link=$conf/links/softib1
# softib1 sends at end a, the switch at end b.

# count END WHAT
count() {
	sed -n "s/^$2 //p" "$link/$1/counts"
}

# set_fault END FAULT VALUE
set_fault() {
	echo "$3" > "$link/$1/$2"
}

# percent END WHAT AT_LEAST AT_MOST
percent() {
	local n all

	n=$(count "$1" "$2")
	all=$(count "$1" packets)
	diag "$2: $n of $all"
	[ $((100 * n)) -ge $(($3 * all)) ] && [ $((100 * n)) -le $(($4 * all)) ]
}

# All operations of a connection, with data that is checked
rc_data() {
	"$programs/rc" loss > /tmp/rc || { grep -v ^ok /tmp/rc; return 1; }
}

# pings N [OPTION...]: one packet for each, from softib1 and back. With so much time
# for an answer none is sent twice.
pings() {
	ibping -C softib1 -P 1 -L -t 20000 -f -c "$@" "$other"
}

# Whatever becomes of it, ibping succeeds.
answered() {
	ibping -C softib1 -P 1 -L -f -c 1 "$other" | grep -q ' 1 received'
}

# counted WHAT COMMAND...: how much of it there was at end a meanwhile, from the
# same start as all others.
counted() {
	set_fault a seed "${seed:-1}"
	"${@:2}" > /dev/null 2>&1
	count a "$1"
}

# Packets that were too long for the switch's port to softib1
discards() {
	perfquery -C softib0 "$switch" 2 | sed -n 's/^PortXmitDiscards:\.*//p'
}

# asked N: so many packets have come to softib1 since.
asked() {
	[ $(($(< "$hcas/softib1/ports/1/counters/port_rcv_packets") - before)) -ge "$1" ]
}

# A packet that was to take a minute
delayed_ping() {
	pings 1 > /tmp/ping &
	until_true 10 under_way && set_fault a delay 0
	wait $!
	grep ' 1 received' /tmp/ping
}

under_way() {
	[ "$(count a delayed)" -eq 1 ]
}

plan 42

check "a fabric" up 2
[ $tap_failed -eq 0 ] || finish
own=$(($(< $hcas/softib1/ports/1/lid)))
other=$(($(< $hcas/softib0/ports/1/lid)))
switch=$(ibswitches | sed -E 's/.* lid ([0-9]+).*/\1/')

while read -r fault name; do
	set_fault b seed 7
	set_fault b "$fault" 50000
	check "data comes right with: $fault" rc_data
	percent b "$name" 3 7
	result $? "five packets in a hundred are $name"
	set_fault b "$fault" 0
done <<-EOF2
	loss lost
	corrupt corrupted
	duplicate duplicated
	reorder reordered
EOF2
check "the port counts what had a bad CRC" sh -c "perfquery $own 1 |
	sed -n 's/^PortRcvErrors:\.*//p' | grep -vx 0"
check "nothing befalls the other direction" test "$(count a packets)" -eq 0

# Without the subnet manager's own packets
unmanage
ibping -S -C softib0 -P 1 > /dev/null &
server=$!
until_true 10 answered
set_fault a duplicate 300000
first=$(counted duplicated pings 100)
diag "$first of $(count a packets) duplicated"
[ "$(count a packets)" -eq 100 ]
result $? "a packet for each of a hundred pings"
[ "$first" -gt 15 ] && [ "$first" -lt 45 ]
result $? "of which about thirty are there twice"
[ "$(counted duplicated pings 100)" = "$first" ]
result $? "as many with the same seed"
seed=2
[ "$(counted duplicated pings 100)" != "$first" ]
result $? "not so many with another one"
[ "$(< $link/a/seed)" = 2 ]
result $? "which can be read"
set_fault a duplicate 0
set_fault a delay 100000
set_fault b delay 100000
# By the kernel's clock, in hundredths of a second
read -r begin _ < /proc/uptime
pings 5 > /dev/null
read -r end _ < /proc/uptime
diag "$begin to $end"
[ $((${end/./} - ${begin/./})) -ge 100 ]
result $? "five times 100 ms each way take a second"
percent a delayed 1 100
result $? "and are counted"
set_fault b delay 0
set_fault a delay 60000000
set_fault a seed 1
check "no packet takes longer than the delay that is set later" delayed_ping
set_fault a cut 4
[ "$(counted lost pings 3)" -eq 0 ] && [ "$(< $link/a/cut)" = 1 ]
result $? "three packets pass before a cut"
[ "$(counted lost answered)" -ge 1 ] && [ "$(count a lost)" -eq "$(count a packets)" ]
result $? "and none behind it"
set_fault a cut 0
kill $server

check "an HCA that stands still keeps what is posted" "$programs/uc" halted
echo 1 > $conf/hcas/softib1/halted
[ "$(< $conf/hcas/softib1/halted)" = 1 ]
result $? "another one stands still"
check "but its agent answers" smpquery -C softib0 -t 1000 nodeinfo "$own"
echo 0 > $conf/hcas/softib1/halted

# The manager is not there to set it anew: 256 bytes for what leaves the switch.
check "a port takes short packets only" ibportstate -C softib0 "$switch" 2 mtu 1
discarded=$(discards)
check "what is too long does not pass" "$programs/rc" long
[ "$(discards)" -gt "$discarded" ]
result $? "and is counted as discarded"
ibportstate -C softib0 "$switch" 2 mtu 4 > /dev/null

# What softib1 sends stays under way.
set_fault a delay 60000000
before=$(< $hcas/softib1/ports/1/counters/port_rcv_packets)
"$programs/rc" reads > /dev/null &
check "reads do not wait for each other's responses" until_true 20 asked 16
kill $!
wait $! 2> /dev/null

# Nor does what the switch sends to softib1 come there.
set_fault b delay 60000000
check "a delayed link lets an HCA send" timeout $((30 * tap_slow)) "$programs/uc" flood
check "to others, too" smpquery -C softib0 -t 1000 nodeinfo "$switch"
check "an HCA goes without waiting for what is delayed" \
	timeout 20 sh -c "echo 0 > $conf/hcas/softib0/enable"
echo 0 > $link/enable
set_fault a delay 0
set_fault b delay 0
echo 1 > $link/enable
echo 1 > $conf/hcas/softib0/enable
echo 1 > $conf/links/softib0/enable

# shellcheck disable=SC2119 # it needs no options
manage
check "managed again" until_true 30 all_active 2
echo 0 > $link/up
echo 1 > $link/up
check "a link that was out" until_true 30 all_active 2
# The manager sees neither before the test has.
pkill -STOP -x opensm
echo DOWN > $link/a/state
check "a port that went down for a moment" port_is softib1 INIT
pkill -CONT -x opensm
check "is brought up" until_true 30 all_active 2
pkill -STOP -x opensm
echo INIT > $link/b/state
check "a port that fell back to INIT" port_is softib1 INIT
pkill -CONT -x opensm
check "is brought up, too" until_true 30 all_active 2

ibping -S -C softib0 -P 1 > /dev/null &
server=$!
check "a ping passes" until_true 30 answered
# Nor does the manager put back what the test takes away.
pkill -STOP -x opensm
echo 0xffff > $link/a/remove_pkey
[ "$(< $hcas/softib1/ports/1/pkeys/0)" = 0x0000 ]
result $? "a P_Key is taken away"
check "nothing passes without" not answered
kill $server
echo DOWN > $link/b/state
pkill -CONT -x opensm
check "until the subnet manager puts it back" until_true 30 \
	grep -qx 0xffff $hcas/softib1/ports/1/pkeys/0
check "all right in the end" rc_data
down

finish
