#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of /dev/sdp: all inputs of its corpus, then new ones made of them for
# a while, by the kernel's coverage where it has KCOV.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
root=$folder/../..
seconds=100
# With its corpus it has never been fewer than a half more.
places=800

# stat WORD: the number before it in the last line of statistics
stat() {
	sed -n "s/.*[ (]\([0-9]*\) $1.*/\1/p" /tmp/fuzz | tail -n 1
}

run_fuzz() {
	"${BUILD:-$root/build}/tools/fuzz/fuzz" --time $seconds --seed "$RANDOM" \
		"$root/tools/fuzz/corpus" > /tmp/inputs 2> /tmp/fuzz
}

# The standing listener goes with the program, and so does all else.
no_endpoints() {
	[ "$(wc -l < /proc/net/sdp/endpoints)" -eq 1 ]
}

covers() {
	! grep -q guided /tmp/fuzz || [ "$(stat places)" -ge "$places" ]
}

plan 4
run_fuzz
status=$?
grep '^fuzz: seed' /tmp/fuzz | sed 's/^/# /'
tail -n 1 /tmp/fuzz | sed 's/^/# /'
[ $status -eq 0 ] || diag "$(cat /tmp/fuzz; grep '^report' /tmp/inputs)"
result $status "no report of the kernel"
[ "$(stat operations)" -ge 1000 ]
result $? "operations run"
check "the coverage that the corpus has" covers
check "no endpoint is left" until_true 60 no_endpoints
finish
