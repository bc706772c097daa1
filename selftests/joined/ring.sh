#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each node talks with the next one, and the last one with the first: as many pairs of hosts as
# there are nodes, at once.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

nodes=$VM_NODES
patience=600

# next NODE
next() {
	echo $(($1 % nodes + 1))
}

# address NODE
address() {
	echo "10.77.0.$1"
}

# Each program's descriptors, by the node that connects
declare -A says hears pids

begin_all() {
	local n there

	for ((n = 1; n <= nodes; n++)); do
		there=$(next "$n")
		start -n 2 -b 4096 -i 500 -l "$(address "$there")" -S "node$there" \
			-c "$(address "$there")" -C "node$n" || return
		hears[$n]=$said says[$n]=$asks pids[$n]=$talker
	done
	each_answers ready
}

# each_answers WORD: all programs say so.
each_answers() {
	local n

	for ((n = 1; n <= nodes; n++)); do
		said=${hears[$n]}
		answer "$1" || { echo "node $n: $line"; return 1; }
	done
}

# ask_all LINE...: all at once, so that they work together
ask_all() {
	local n

	for ((n = 1; n <= nodes; n++)); do
		echo "$*" >&"${says[$n]}"
	done
	each_answers ok
}

# ask_one NODE LINE...: the connections from that node to the next one
ask_one() {
	said=${hears[$1]} asks=${says[$1]}
	ask "${@:2}"
}

# Node 2 has two neighbours. No other node sees that its adapter goes.
around_two() {
	adapter_goes && ask_one 1 by tcp && ask_one 2 by tcp
}

others_stay() {
	local n

	for ((n = 3; n <= nodes; n++)); do
		ask_one "$n" by ib || { echo "node $n: $line"; return 1; }
	done
}

exchanged() {
	local n

	for ((n = 1; n <= nodes; n++)); do
		ask_one "$n" more && ask_one "$n" silent && ask_one "$n" end ||
			{ echo "node $n: $line"; return 1; }
	done
}

plan 8
check "only InfiniBand" only_ib
# Not in a shell of its own, which would keep the descriptors
begin_all
result $? "each node connects to the next one"
check "all connections move" ask_all by ib
check "each end gets more" ask_all more
check "an adapter goes: its connections are with TCP" around_two
check "all others stay" others_stay
check "it comes back: all have moved" eval 'adapter_comes && ask_all by ib'
check "all bytes are right" exchanged
kill "${pids[@]}"
finish
