#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packet sockets: a capture shows what is sent and received, and a sender with
# its own link-layer header is served or refused.

. "$(dirname "$0")/lib.sh"

capture=/tmp/capture.pcap

# A peer that nothing was sent to since the interface came up: the first echo request
# waits for the path.
take() {
	local before=0

	on node3 ip neigh flush dev ib0
	ip link set ib0 down && address_up node1 1 && until_true 10 carrier || return
	! ours || before=$(counter path_queries)
	tcpdump -Z root -q -U -i ib0 -w "$capture" > /tmp/tcpdump.log 2>&1 &
	until_true 10 grep -q listening /tmp/tcpdump.log || return
	no_loss -q -c 3 -i 0.1 -p 77 10.77.0.3 && no_loss -q -c 3 -i 0.1 fd77::3 ||
		return
	# The last reply reaches ping before it reaches the file.
	until_true 10 written 6
	kill -INT %%
	wait
	! ours || [ "$(counter path_queries)" -gt "$before" ]
}

written() {
	[ "$(tcpdump -r "$capture" icmp6 2> /dev/null | grep -c 'echo')" -ge "$1" ]
}

# What tshark makes of it, a packet a line.
decode() {
	tshark -r "$capture" -T fields -E separator=, -e frame.protocols \
		-e arp.opcode -e icmp.type -e icmpv6.type -e _ws.malformed \
		> /tmp/decoded 2> /tmp/tshark.log || { cat /tmp/tshark.log; return 1; }
}

# shows PATTERN LEAST [MOST]: so many packets of the capture match.
shows() {
	local n

	n=$(grep -cE "$1" /tmp/decoded)
	[ "$n" -ge "$2" ] && [ "$n" -le "${3:-$n}" ] || { cat /tmp/decoded; return 1; }
}

# Each once; but the kernel's driver gives what has waited for the path to the stack
# once more.
once() {
	local twice=0

	ours || twice=1
	shows ',,8,,$' $((3 + twice)) $((3 + twice)) && shows ',,0,,$' 3 3
}

# Frames of any length and content from a packet socket.
raw_frames() {
	python3 - <<-EOF
	import os, random, socket
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
	s.bind(("ib0", 0x0800))
	random.seed(1)
	own = open("/sys/class/net/ib0/address").read().strip()
	own = bytes.fromhex(own.replace(":", ""))
	bcast = bytes.fromhex("00ffffffff12401bffff000000000000ffffffff")
	sent = refused = 0
	for n in range(3000):
	    length = random.choice((0, 1, 19, 20, 23, 24, 25, 44, 100, 2000, 2068))
	    head = random.choice((own, bcast, os.urandom(20), bytes(20),
	                          b"\\0\\xff\\xff\\xff\\xff" + os.urandom(15)))
	    try:
	        s.send((head + b"\\x08\\0\\0\\0" + os.urandom(length))[:length])
	        sent += 1
	    except OSError:
	        refused += 1
	print(sent, "sent", refused, "refused")
	raise SystemExit(sent < 1000)
	EOF
}

# The subnet administrator has hundreds of questions about strangers to answer first.
goes_on() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
	no_loss -q -c 20 -i 0.01 10.77.0.2
}

bad_frames_counted() {
	[ "$(counter tx_bad_frame)" -gt 0 ]
}

planned=9
ours && planned=10	# the kernel's own driver has no such counter
plan $planned
check "a capture is taken" take
check "tshark reads it" decode
check "ARP request" shows ',1,,,$' 1
check "ARP reply" shows ',2,,,$' 1
check "ICMP echo and reply: $(ours && echo once || echo "the first one twice")" once
check "ICMPv6 echo and reply" shows ',,,(128|129),$' 6 6
check "nothing malformed" not shows '_ws.malformed' 1
check "frames of any content" raw_frames
check "traffic goes on" goes_on
if ours; then
	check "bad frames are counted" bad_frames_counted
fi
finish
