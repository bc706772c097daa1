#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How often a byte of a stream is copied on its way, the fabric in software included. Each
# function's stores are counted; a function that stores a quarter of all bytes or more copies
# them, unless it fills memory.

. "$(dirname "$0")/../tap.sh"

# copied FILE: copies of a byte
copied() {
	awk '/^$/ { functions = 1; next }
		functions && $1 >= 0.25 && $0 !~ /clear_page|memset/ { n += $1 }
		END { printf "%.2f\n", n }' "$1"
}

# row CONTESTANT ROW COPIES: not a fifth of a copy more, nor less
row() {
	local n status

	tools/bench/where --stores "$1" "$2" > "$tmp/stores" 2> "$tmp/err" < /dev/null ||
		diag "$(tail -n 3 "$tmp/err")"
	n=$(copied "$tmp/stores")
	awk -v n="$n" -v expected="$3" 'BEGIN { exit !(n > expected - 0.2 && n < expected + 0.2) }'
	status=$?
	[ $status -eq 0 ] || diag "$n copies:
$(tail -n +2 "$tmp/stores")"
	result $status "$1 $2: $3 copies"
}

tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT

plan 9
# Others, in and out: what is known is seen.
row unix stream-64k 2
row tcp-veth stream-64k 2
# The fabric has no hardware, and copies in and out as an HCA does.
row tcp-ours stream-64k 4
row joined stream-64k 4
row joined stream-1m-lent 3
row joined stream-1m-file 3
row direct stream-1m 2
# From program to program
row moved-veth stream-64k 1
# One by each program
row moved-rings stream-64k 2
finish
