#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A group that is only sent to, whose membership is lost while packets flow: it is
# joined again, also where that does not succeed at once. A subnet administrator that
# is silent for a while, and of whose return nothing tells.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
group=ff12:401b:ffff:0:0:0:f4d:505
mgid=ff12401bffff0000000000000f4d0505
log=/run/sa
# Seconds after the silence; it is three, more where others use the processors, and would
# be up to 16 for who waits until his pause is over.
SOON=8

# A subnet administrator that tells who joins
takes_over() {
	until_true 60 grep -q ^lies $log && redirect 2 && until_true 20 carrier &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.3
}

# How often it has let somebody join the group
times() {
	grep -c "^member .* $mgid$" $log
}

more() {
	[ "$(times)" -gt "$1" ]
}

# What is sent to the group shows that it is joined.
sent_to() {
	until_true 20 more 0 && until_true 20 joined $group && more 0
}

# The subnet administrator is to have forgotten all.
forgotten() {
	local before

	before=$(times)
	"$here/portinfo.py" softib0 reregister 1 && until_true 40 more "$before" &&
	until_true 40 joined $group && more "$before"
}

# The first attempt is in vain. The kernel's driver makes no other: it joins what is
# only sent to as send-only full member or not at all, and so it is not asked to.
old() {
	kill -USR2 "$sa"
	until_true 20 grep -qx old $log && forgotten
}

# --- silence -----------------------------------------------------------------------

# hush WORD: the subnet administrator falls silent, or answers, and says so by that word.
# What is asked meanwhile is lost. With a process that is stopped it would be answered
# later, all of it before what is asked then.
hush() {
	kill -HUP "$sa" && until_true 20 grep -qx "$1" $log
}

# For so long that a pause of 16 seconds begins; the kernel's driver has none for paths.
given_up() {
	! ours || [ "$(counter path_failed)" -gt "$1" ]
}

silence() {
	local failed

	failed=$(counter path_failed)
	hush silent && "$here/portinfo.py" softib0 reregister 1 || return
	ping -D -i 0.1 10.77.0.4 > /tmp/new 2>&1 &
	until_true 40 not joined $group && until_true 20 given_up "$failed" &&
	given_up "$failed" && not joined $group && not answered
}

answered() {
	grep -q ' bytes from' /tmp/new
}

# soon COMMAND...: succeeds so soon after the silence. The kernel's driver waits until
# its pauses are over.
soon() {
	local most=$SOON now

	ours || most=60
	until_true $most "$@"
	now=$(date +%s.%N)
	# shellcheck disable=SC2154 # tap_slow is tap.sh's
	"$@" && awk -v from="$recovered" -v to="$now" -v most=$((most * tap_slow)) 'BEGIN {
		print "after", to - from
		exit to - from > most }'
}

stop() {
	pkill -INT -x ping
	kill "$sa"
	wait "$sa" "$sender"
} 2> /dev/null

if ours; then plan 8; else plan 7; fi
# The way to the new peer may be known from another test.
ip link set ib0 down && address_up node1 1
"$here/sa.py" softib1 "$(mlid)" 0 > $log 2>&1 &
sa=$!
check "another subnet administrator" takes_over
ping -q -i 0.1 -I ib0 239.77.5.5 > /dev/null 2>&1 &
sender=$!
check "a group that is only sent to" sent_to
check "joined again when that is forgotten" forgotten
! ours || check "and where send-only full members are not known" old
check "nobody answers: not joined" silence
recovered=$(date +%s.%N)
hush answers
check "somebody does: soon joined again" soon joined $group
check "and a new peer is reached" soon answered
stop
redirect 1
check "traffic" until_true 40 no_loss -q -c 10 -i 0.05 10.77.0.4
finish
