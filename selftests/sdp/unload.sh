#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The transport goes away under traffic, and then the device: connections end,
# the next ones go over TCP, and nothing is left behind.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
build=${BUILD:-$folder/../../build}
traffic=$build/selftests/sdp/traffic
rounds=$(fewer 5)

# over CARRIER: some connection goes over it, within 30 seconds.
over() {
	for _ in $(seq 300); do
		awk -v c="$1" '$5 == c && $4 == "CONNECTED" { n++ } END { exit !n }' \
			/proc/net/sdp/endpoints && return
		sleep 0.1
	done
	cat /proc/net/sdp/endpoints
	return 1
}

# unused: nothing keeps the device, within 30 seconds.
unused() {
	for _ in $(seq 300); do
		[ "$(< /sys/module/sdpdev/refcnt)" -gt 0 ] || return 0
		sleep 0.1
	done
	return 1
}

plan $((rounds * 4 + 5))
for round in $(seq "$rounds"); do
	"$traffic" 4 & pid=$!
	check "$round: connections over SDP" over SDP
	check "$round: the transport goes away" rmmod sdp_ib
	check "$round: connections over TCP" over TCP
	kill $pid
	wait $pid 2> /dev/null
	# The traffic's processes die a moment after their parent.
	unused
	check "$round: and the device" rmmod sdpdev
	modprobe sdp_ib
done
# A mapping is all that is left of a connection.
exec {held}< <(exec "$build/selftests/sdp/mapped" hold)
pid=$!
read -r -u "$held"
rmmod sdp_ib
check "mapped: the device stays" eval '! rmmod sdpdev 2> /dev/null'
kill $pid
check "unmapped: nothing keeps it" unused
modinfo -F softdep "$build/$VM_KERNEL/sdpdev/sdpdev.ko" | grep -q "post: sdp_ib"
result $? "modprobe will load both"
check "and it goes" rmmod sdpdev
modprobe sdp_ib
"$traffic" 2 & pid=$!
check "and all is as before" over SDP
kill $pid
finish
