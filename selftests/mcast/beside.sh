#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A program whose groups a queue pair receives, beside one with the kernel's sockets, and what
# routers hear of both. The other node may have the kernel's own driver.

. "$(dirname "$0")/lib.sh"

# in_order STEP...: +p and +k join with the program and the kernel's, -p and -k leave. After each
# step those that have joined receive, once, and the interface has a part only if it has to.
in_order() {
	local step who joined=

	for step; do
		who=a
		[ "${step#?}" = p ] || who=kernel
		case $step in
		+*) python $who poll 7400 $group && joined+=" $who" || return ;;
		-*) end $who && joined=${joined/ $who/} ;;
		esac
		receive_all "$step" "$joined" || { echo "after $step"; return 1; }
	done
}

receive_all() {
	local who attached=no

	[[ $2 != *kernel* ]] || attached=yes
	[ -n "$2" ] || { until_true 20 not grep -qx "GID: $gid" "$debugfs/${me}_mcg"; return; }
	[[ $2 != *a* ]] || until_true 20 logged a "$group: by the queue pair" || return
	until_true 20 shows attached $attached || return
	for who in $2; do
		until_true 30 reached "$who" || { cat "$folder/$who"; return 1; }
	done
	send "step$1" 10 || return
	for who in $2; do
		until_true 10 started "$who" " step$1 10\$" &&
		same "$(grep -c " step$1 [0-9]*\$" "$folder/$who")" 10 || return
	done
}

# The records of IGMP and MLD that leave the interface while a program joins and leaves
heard() {
	local g pid

	tcpdump -Z root -p -l -n -v -i ib0 'igmp or ip6[6] = 0' > $folder/wire 2> $folder/tcpdump &
	pid=$!
	until_true 10 grep -q listening $folder/tcpdump || return
	for g in $group $group6; do
		python "$1" poll 7400 "$g" && until_true 20 heard_of "$g to_ex" && end "$1" &&
		until_true 20 heard_of "$g to_in" || return
	done
	kill $pid
	wait $pid 2> /dev/null
	grep -o 'gaddr [^]]*' $folder/wire | grep -E "$group |$group6 " | sort -u
}

heard_of() {
	grep -q "gaddr $1" $folder/wire
}

as_before() {
	local before now

	before=$(heard kernel) && now=$(heard a) && echo "$before" && [ -n "$before" ] &&
	same "$now" "$before"
}

# A receiver of the kernel in the other node, while this one receives by its queue pair
far() {
	on node2 timeout 120 python3 "$groups" block ib0 7400 $group < /dev/null \
		> $folder/far 2>&1 &
	echo $! > $folder/pid.far && echo 99 > $folder/fd.far
	until_true 20 started far && python a poll 7400 $group && offloaded a &&
	twenty a both && until_true 10 started far ' both 20$' && end far a
}

plan 6
row "the program, the kernel's, and out in that order" in_order +p +k -p -k
row "the program, the kernel's, and out the other way" in_order +p +k -k -p
row "the kernel's, the program, and out in that order" in_order +k +p -k -p
row "the kernel's, the program, and out the other way" in_order +k +p -p -k
row "a receiver in the other node" far
row "routers hear of it as before" as_before
finish
