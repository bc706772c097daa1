#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A peer that speaks SDP badly is refused or cut off, is counted, and harms
# no other one: a good connection works after each of its cases.

. "$(dirname "$0")/lib.sh"

# What sdp_peer shall print of each case.
cases='
hello-version-0: rejected 28; refused_bad_hello bad_version ib_req_invalid
hello-version-1: rejected 28; refused_bad_hello bad_version ib_req_invalid
hello-version-3: rejected 28; refused_bad_hello bad_version ib_req_invalid
hello-ip-5: rejected 28; refused_bad_hello bad_addr ib_req_invalid
hello-len-0: rejected 28; refused_bad_hello bad_len ib_req_invalid
hello-len-15: rejected 28; refused_bad_hello bad_len ib_req_invalid
hello-len-63: rejected 28; refused_bad_hello bad_len ib_req_invalid
hello-len-huge: rejected 28; refused_bad_hello bad_len ib_req_invalid
hello-mseq: rejected 28; refused_bad_hello bad_mseq ib_req_invalid
hello-bufs: rejected 28; refused_bad_hello bad_sizes ib_req_invalid
hello-bufs-2: rejected 28; refused_bad_hello bad_sizes ib_req_invalid
hello-rcvsz: rejected 28; refused_bad_hello bad_sizes ib_req_invalid
hello-port: rejected 28; refused_bad_hello bad_addr ib_req_invalid
hello-src-any: rejected 28; refused_bad_hello bad_addr ib_req_invalid
hello-src-multicast: rejected 28; refused_bad_hello bad_addr ib_req_invalid
hello-src-loopback: rejected 28; ib_req_invalid
hello-src-elsewhere: rejected 28; ib_req_no_interface
hello-ipv6: rejected 28; ib_req_no_interface
hello-dst-elsewhere: rejected 28; ib_req_no_interface
empty: aborted; bad_short
short: aborted; bad_short
len-small: aborted; bad_len
len-short: aborted; bad_len
len-long: aborted; bad_len
len-huge: aborted; bad_len
mid-unknown: aborted; bad_mid
mid-0f: aborted; bad_mid
mid-fc: aborted; bad_mid
hello-again: aborted; bad_turn
hello-ack: aborted; bad_turn
mseq-skipped: aborted; bad_mseq
mseq-repeated: aborted; bad_mseq
mseq-far: aborted; bad_mseq
ack-ahead: aborted; bad_mseq_ack
ack-far: aborted; bad_mseq_ack
disconn-long: aborted; bad_len
abort-long: aborted; bad_len
rcvbuf-short: aborted; bad_short
srcavail-short: aborted; bad_short
srcavail-data: aborted; bad_field
sinkavail-short: aborted; bad_short
mode-unknown: aborted; bad_field
mode-short: aborted; bad_short
mode-same: aborted; bad_turn
mode-not-ours: aborted; bad_turn
srcavail-bare: aborted; bad_turn
cancel-nothing: aborted; bad_turn
answer-unasked: aborted; bad_turn
srcavail-empty: aborted; bad_field
sinkavail-empty: aborted; bad_field
written-unasked: aborted; bad_turn
written-short: aborted; bad_short
sinkack-unasked: aborted; bad_turn
read-unasked: aborted; bad_turn
susp: aborted; bad_turn
susp-short: aborted; bad_short
oversize: ended; ib_qp_errors
probe: echoed;
src-avail: answered;
sink-cancel: answered;
rcvbuf: answered;
modes: echoed;
write: refused; ib_qp_errors
'

# One program for all, with a good conversation behind each case.
run_cases() {
	local names

	names=$(sed -n 's/:.*/ good/p' <<< "$cases")
	# shellcheck disable=SC2086 # one argument a word
	peer $names > /tmp/cases
}

# What was printed of the Nth case: the line, and the good one behind it.
printed() {
	sed -n "$((2 * $1 - 1)),$((2 * $1))p" /tmp/cases
}

n=$(grep -c . <<< "$cases")
plan $((n + 6 + 12))
serve echo
check "the cases run" run_cases
i=0
while read -r line; do
	[ -n "$line" ] || continue
	i=$((i + 1))
	got=$(printed $i)
	[ "$got" = "$line
good: echoed;" ]
	status=$?
	[ $status -eq 0 ] || diag "$got"
	result $status "${line%;*}"
done <<< "$cases"
stop_serving

# each LINE...: what is printed of cases, of one server
each() {
	local got line

	for line; do
		got=$(peer "${line%%:*}")
		[ "$got" = "$line" ]
		status=$?
		[ $status -eq 0 ] || diag "$got"
		result $status "${line%;*}"
	done
}

# A server that does not read cannot give new credits, and does not close.
serve hold
each "credits: aborted; bad_credits" \
	"disconn-twice: aborted; bad_turn"
stop_serving

# Its reader waits with a large buffer, for memory that there is not.
serve fetch
got=$(peer srcavail-key)
[[ "$got" == "srcavail-key: "*"ended;"* ]]
status=$?
[ $status -eq 0 ] || diag "$got"
result $status "srcavail-key: ended"
check "and the reader hears of it" until_true 10 grep -q "end 104" /tmp/server
stop_serving

# It writes into memory that the peer advertises.
serve pour
each "target-good: written;" \
	"target-key: ended; ib_qp_errors" \
	"target-long: ended; ib_qp_errors" \
	"target-stale: answered;" \
	"target-cancel: answered;"
stop_serving

# The peer writes into its memory, while the reader waits and not later.
serve fetch
each "room-good: answered;" \
	"room-key: refused; ib_qp_errors" \
	"room-beyond: refused; ib_qp_errors" \
	"room-late: refused; ib_qp_errors" \
	"room-long: aborted; bad_turn" \
	"room-none: aborted; bad_turn" \
	"room-ack: aborted; bad_turn"
stop_serving

serve echo
check "another program is served" ip netns exec node2 \
	"$programs/sdp_end" send 10.77.0.1 $port 100000 10000
stop_serving
finish
