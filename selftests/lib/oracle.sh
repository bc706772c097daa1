#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of SDP write down what their socket calls gave:
# over TCP first, then the same programs over SDP.  Each line is a test: it must
# read the same.  "mapped" is IPv4 by IPv6 sockets.

. "$(dirname "$0")/tap.sh"

ORACLES=(names stream ends keep)
declare -A ADDRESS=([IPv4]=10.77.0.2 [IPv6]=fd77::2 [mapped]=::ffff:10.77.0.2)

# transcript NAME ADDRESS OUTPUT [RUNNER]
transcript() {
	"${@:4}" "$BUILD/selftests/lib/oracle/$1" "$2" node2 node1 > "$3" 2> "$3.err"
}

runs=()
total=0
for family in IPv4 IPv6 mapped; do
	for name in "${ORACLES[@]}"; do
		transcript "$name" "${ADDRESS[$family]}" "$WORK/$family.$name.tcp" ||
			bail "$name over TCP and $family: $(tail -n 1 "$WORK/$family.$name.tcp")"
		runs+=("$family $name")
		total=$((total + 1 + $(wc -l < "$WORK/$family.$name.tcp")))
	done
done
plan "$total"

for run in "${runs[@]}"; do
	read -r family name <<< "$run"
	tcp=$WORK/$family.$name.tcp
	sdp=$WORK/$family.$name.sdp
	SDPDEV_DEBUG=1 transcript "$name" "${ADDRESS[$family]}" "$sdp" "$SDPRUN"
	echo "# $family, $name: exit status $?"
	while IFS= read -r want <&3; do
		IFS= read -r got <&4 || got='(nothing)'
		same=0
		[ "$want" = "$got" ] || same=1
		result $same "$family, $name: $want"
		[ $same -eq 0 ] || echo "# got: $got"
	done 3< "$tcp" 4< "$sdp"

	carried=0
	grep -q 'accepted.* over SDP' "$sdp.err" || carried=1
	! grep -q 'over TCP' "$sdp.err" || carried=1
	result $carried "$family, $name: SDP carried every connection"
	[ $carried -eq 0 ] || diag "$sdp.err"
done
finish
