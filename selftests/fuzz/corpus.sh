#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of sdpdev: all inputs of its corpus, and for the rest of the time new ones,
# others each time: tools/fuzz/run --seed N --time SECONDS makes the same. An input at
# which the kernel reported something is in the log, for tools/fuzz/run --replay.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
root=$folder/../..
work=$(mktemp -d)

# stat WORD: the number before it in the last line of statistics
stat() {
	sed -n "s/.*[ (]\([0-9]*\) $1.*/\1/p" "$work/said" | tail -n 1
}

run_fuzz() {
	"${BUILD:-$root/build}/tools/fuzz/fuzz" --time "$time" \
		"$root/tools/fuzz/corpus" > "$work/inputs" 2> "$work/said"
}

# The standing listener goes with the program, and so does all else.
no_connections() {
	! rdma resource show qp | grep -q '\[sdp_ib\]'
}

# The corpus alone takes longer. "make fuzz" looks for more.
time=15
[ "$VM_KERNEL/$VARIANT" != debug/long ] || time=90
plan 3
run_fuzz
status=$?
grep '^fuzz: seed' "$work/said" | sed 's/^/# /'
tail -n 1 "$work/said" | sed 's/^/# /'
[ $status -eq 0 ] || diag "$(cat "$work/said"; grep '^report' "$work/inputs")"
result $status "no report of the kernel"
[ "$(stat operations)" -ge 100 ]
result $? "operations run"
sysctl -qw net.sdp.direct=0
ip netns exec node2 sysctl -qw net.sdp.direct=0
check "no connection is left" until_true 60 no_connections
finish
