#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of /dev/sdp: all inputs of its corpus, once. make fuzz makes new ones.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
root=$folder/../..

# stat WORD: the number before it in the last line of statistics
stat() {
	sed -n "s/.*[ (]\([0-9]*\) $1.*/\1/p" /tmp/fuzz | tail -n 1
}

run_fuzz() {
	"${BUILD:-$root/build}/tools/fuzz/fuzz" --operations 1 --seed 1 \
		"$root/tools/fuzz/corpus" > /tmp/inputs 2> /tmp/fuzz
}

# The standing listener goes with the program, and so does all else.
no_endpoints() {
	[ "$(wc -l < /proc/net/sdp/endpoints)" -eq 1 ]
}

plan 3
run_fuzz
status=$?
grep '^fuzz: seed' /tmp/fuzz | sed 's/^/# /'
tail -n 1 /tmp/fuzz | sed 's/^/# /'
[ $status -eq 0 ] || diag "$(cat /tmp/fuzz; grep '^report' /tmp/inputs)"
result $status "no report of the kernel"
[ "$(stat operations)" -ge 100 ]
result $? "operations run"
check "no endpoint is left" until_true 60 no_endpoints
finish
