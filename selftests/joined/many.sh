#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many connections lose their adapter together: all are with TCP soon, no end floods the fabric,
# and they come back one after the other.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

case $VARIANT in
large*)	connections=${CONNECTIONS:-3000} joins=200 ;;
*)	connections=50 joins=10 ;;
esac
patience=1000
# Milliseconds, so that one processor can do it
interval=$((connections > 1000 ? connections : 1000))
near=$conf/links/softib0

# resent: segments that node1's TCP has sent again
resent() {
	in_node 1 cat /proc/net/snmp | awk '$1 == "Tcp:" && $13 ~ /^[0-9]/ { print $13 }'
}

# on_link COMMAND...: $ms is how long it took, $packets how many crossed node1's link meanwhile,
# without those that TCP has sent again: they are as many as there is time for.
on_link() {
	local start end status again

	# A fault that is far away has packets counted.
	for end in a b; do
		echo 4000000000 > "$near/$end/cut"
		echo 0 > "$near/$end/seed"
	done
	again=$(resent)
	start=${EPOCHREALTIME//[.,]/}
	"$@"
	status=$?
	ms=$(((${EPOCHREALTIME//[.,]/} - start) / 1000)) packets=0
	for end in a b; do
		packets=$((packets + $(sed -n 's/^packets //p' "$near/$end/counts")))
		echo 0 > "$near/$end/cut"
	done
	again=$(($(resent) - again))
	packets=$((packets - again))
	diag "$*: $ms ms, $packets packets, and $again again by TCP"
	return $status
}

# queries COMMAND...: $queries is how many different ones for a path were on the fabric meanwhile.
queries() {
	local capture=/tmp/fabric.$$

	# The capture takes the memory of the machine.
	[ "$connections" -le 2000 ] || { queries=0; "$@"; return; }
	cat /sys/kernel/debug/softib/capture > "$capture" &
	until_true 10 [ -s "$capture" ] && "$@" || return
	kill $! && wait $! 2> /dev/null
	# Class 3, version 2, Get; status and the like; a number; the attribute
	queries=$(python3 -c 'import re, sys
print(len(set(re.findall(rb"\x01\x03\x02\x01\0{4}(.{8})\0\x35", open(sys.argv[1], "rb").read(),
			 re.S))))' "$capture")
	rm "$capture"
	diag "$queries queries for a path"
}

gone() {
	adapter_goes && ask by tcp
}

# touch_after SECONDS: so seldom a direction passes by TCP. Other namespaces may have no more
# than the first one.
touch_after() {
	nsenter -t 1 -n sysctl -qw net.sdp.touch="$1" && all_nodes touch "$1"
}

# Of very many not all are elsewhere at once, if each passes by TCP every ten seconds.
settings() {
	only_ib && { [ "$connections" -lt 1000 ] || touch_after 600; }
}

plan 14
check "only InfiniBand" settings
check "$joins ask in a second" all_nodes joins $joins
# The queries of the other node, where the subnet manager is, cross no link.
begin -n "$connections" -b 1000 -i "$interval" -p 900 -l 10.77.0.1 -S node1 -c 10.77.0.1 -C node2
result $? "$connections connections"
on_link queries ask by ib
result $? "by InfiniBand"
# What they send is no storm, and would count.
check "nobody sends" eval 'ask silent && ask all'
on_link gone
result $? "the adapter goes: by TCP"
[ "$ms" -le 10000 ]
result $? "within ten seconds"
# To end a channel takes a packet each way.
[ "$packets" -le $((5 * connections)) ]
result $? "and without a storm"
check "the adapter comes" adapter_comes
check "they send again" ask loud
on_link queries ask by ib
result $? "by InfiniBand again"
[ "$ms" -ge $((1000 * (connections / joins - 2))) ]
result $? "at a bounded rate"
# One each; and an end that is refused asks again.
[ "$queries" -le $((connections + connections / 5)) ]
result $? "hardly more queries than connections"
check "all bytes are right" ask end
leave
all_nodes joins 200
touch_after 10
finish
