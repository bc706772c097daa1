#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# TCP and UDP carry a file whole. The other node may be in another machine, with
# another driver.

. "$(dirname "$0")/lib.sh"

file=/tmp/file
head -c "$(fewer 16777216)" /dev/urandom > $file
sum=$(sha256sum < $file)

# transfer FROM TO ADDRESS: the file over TCP, checked where it arrives.
transfer() {
	local got receiver

	on "$2" socat -u "TCP6-LISTEN:7000,reuseaddr,ipv6-v6only=0" - > /tmp/got &
	receiver=$!
	until_true 10 on "$2" sh -c 'ss -ltn | grep -q :7000' || return
	on "$1" socat -u - "TCP:$3:7000" < $file && wait $receiver || return
	got=$(sha256sum < /tmp/got)
	same "$got" "$sum"
}

# With room for what comes while the receiver waits for a CPU.
udp() {
	local many node

	many=$(fewer 1500)
	for node in node1 node2; do
		on $node nsenter -t 1 -n sysctl -qw net.core.{r,w}mem_max=8388608 ||
			return
	done
	iperf3 -c 10.77.0.2 -u -b "$(fewer 5)M" -l 1400 -w 4M -k "$many" -J \
		> /tmp/udp.json || return
	python3 -c '
import json, sys
s = json.load(open("/tmp/udp.json"))["end"]["sum"]
print(s["packets"], "packets", s["lost_packets"], "lost")
few = s["packets"] < int(sys.argv[1])
raise SystemExit(few or s["lost_packets"] > s["packets"] / 100)' "$many"
}

at_once() {
	iperf3 -c 10.77.0.2 -P 8 --bidir -t 3 -J > /tmp/tcp.json || return
	python3 -c '
import json, sys
e = json.load(open("/tmp/tcp.json"))["end"]
a, b = e["sum_received"]["bytes"], e["sum_received_bidir_reverse"]["bytes"]
print(a, b)
raise SystemExit(min(a, b) < int(sys.argv[1]))' "$(fewer 1000000)"
}

plan 6
check "a file, IPv4" transfer node1 node2 10.77.0.2
check "a file, IPv4, the other way" transfer node2 node1 10.77.0.1
check "a file, IPv6" transfer node1 node2 "[fd77::2]"
check "a file, IPv6, the other way" transfer node2 node1 "[fd77::1]"
on node2 iperf3 -s > /dev/null &
server=$!
until_true 10 on node2 sh -c 'ss -ltn | grep -q :5201'
check "16 connections at once, both ways" at_once
check "UDP" udp
kill $server
wait $server 2> /dev/null
finish
