#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The transport goes away under traffic of direct SDP, and then the device: connections end, and
# nothing is left behind.

. "$(dirname "$0")/lib.sh"

build=${programs%/*/*}
rounds=$(fewer 5)

connected() {
	[ "$(connections ESTABLISHED)" -gt 0 ]
}

no_connection() {
	[ "$(connections ESTABLISHED)" -eq 0 ]
}

# unused: nothing keeps the device.
unused() {
	[ "$(< /sys/module/sdpdev/refcnt)" -eq 0 ]
}

# since_load WORDS: how many lines of the log, since the modules were last loaded, end with them
since_load() {
	dmesg | tac | sed '/test: loads/q' | grep -c "$1\$"
}

# A line for the module and one for each adapter, but none for a connection
logged() {
	[ "$(since_load 'sdpdev: version [0-9.]*')" -eq 1 ] &&
		[ "$(since_load ': sdp_ib uses it for SDP')" -eq \
			"$(find /sys/class/infiniband/ -name 'softib*' | wc -l)" ]
}

plan $((rounds * 5 + 4))
for round in $(seq "$rounds"); do
	"$programs/traffic" 4 & pid=$!
	check "$round: connections" until_true 30 connected
	check "$round: the transport goes away" rmmod sdp_ib sdp_verbs
	check "$round: no connections" until_true 30 no_connection
	kill $pid
	wait $pid 2> /dev/null
	# The traffic's processes die a moment after their parent.
	check "$round: nothing keeps the device" until_true 30 unused
	check "$round: and the device goes" rmmod sdpdev
	echo "test: loads" > /dev/kmsg
	modprobe sdp_ib
	direct 1
done
modinfo -F softdep "$build/$VM_KERNEL/sdpdev/sdpdev.ko" | grep -q "post: sdp_ib"
result $? "modprobe will load both"
"$programs/traffic" 2 & pid=$!
check "and all is as before" until_true 30 connected
kill $pid
wait $pid 2> /dev/null
check "the log has a line for the module, and one for each adapter" logged
check "nothing is left" until_true 30 no_connection
finish
