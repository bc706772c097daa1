#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tshark, which knows nothing of this project, finds the protocol in a capture
# of the fabric.
#
# It does not put a message together that needs several packets, and takes the
# later ones for messages; so the messages here fit into one packet.

. "$(dirname "$0")/lib.sh"

capture=/tmp/capture.pcap
bytes=300000 chunk=1500

# The last packet of all is in the file: a MAD of the CM (class 7, version 2, method 3)
# that is a DREP.
disconnected() {
	python3 - "$capture" <<-'EOP'
		import re, sys
		data = open(sys.argv[1], "rb").read()
		sys.exit(not re.search(rb"\x01\x07\x02\x03\0{4}.{8}\0\x16", data, re.S))
	EOP
}

take() {
	cat /sys/kernel/debug/softib/capture > "$capture" &
	# The header of the file says that the capture has begun.
	until_true 10 [ -s "$capture" ] || return
	ip neigh flush dev ib0
	ip netns exec node2 ip neigh flush dev ib0
	ip netns exec node2 "$programs/sdp_end" send 10.77.0.1 "$port" "$bytes" "$chunk" ||
		return
	# The CM's disconnecting follows the last message.
	until_true 20 disconnected
	kill %%
	wait %% 2> /dev/null
	return 0
}

# A line for each packet, its fields by the names below.
decode() {
	tshark -r "$capture" -T fields -E 'separator=;' \
		-e infiniband.lrh.slid -e arp.opcode -e infiniband.mad.attributeid \
		-e infiniband.cm.req -e infiniband.cm.rep \
		-e infiniband_sdp.bsdh.mid -e infiniband_sdp.bsdh.len \
		-e infiniband_sdp.hh.localport -e infiniband_sdp.hh.majv \
		-e infiniband_sdp.hh.src_ip -e _ws.malformed -e infiniband.bth.psn \
		> /tmp/packets 2> /tmp/tshark.err
	[ -s /tmp/packets ] || { cat /tmp/tshark.err; return 1; }
}

# shows CONDITION: is it true of a packet?
shows() {
	awk -F ';' "
		{ lid = \$1; arp = \$2; mad = \$3; req = \$4; rep = \$5; mid = \$6
		  len = \$7; port = \$8; major = \$9; src = \$10; malformed = \$11 }
		$1 { found = 1; print }
		END { exit !found }" /tmp/packets
}

# sent LID: bytes of the stream that Data messages carried from that port. An HCA whose
# peer is slow to acknowledge sends packets again, with the same PSN.
sent() {
	awk -F ';' -v lid="$1" '
		$1 == lid && $6 == "0xff" && $3 == "" && !seen[$12]++ { sum += $7 - 16 }
		END { print sum + 0 }' /tmp/packets
}

both_ways() {
	local lids lid

	lids=$(shows 'mid == "0xff"' | cut -d ';' -f 1 | sort -u)
	[ "$(wc -l <<< "$lids")" -eq 2 ] || { echo "LIDs: $lids"; return 1; }
	for lid in $lids; do
		[ "$(sent "$lid")" -eq "$bytes" ] ||
			{ echo "LID $lid: $(sent "$lid") bytes"; return 1; }
	done
}

disconns() {
	[ "$(shows 'mid == "0x02" && len == 16' | cut -d ';' -f 1 | sort -u |
		wc -l)" -eq 2 ]
}

# Of a Data message without bytes, which tells of buffers, tshark wants the bytes.
nothing_malformed() {
	! shows 'malformed != "" && !(mid == "0xff" && len == 16)'
}

plan 12
serve echo
check "$bytes bytes and back, $chunk at a time" take
check "tshark reads the capture" decode
check "an ARP request" shows 'arp == 1'
check "an ARP reply" shows 'arp == 2'
check "a query for the path" shows 'mad == "0x0035"'
check "the CM REQ with the Hello" shows \
	'req != "" && mid == "0x00" && len == 76 && port > 0 && major == "0x02" &&
	 src == "::10.77.0.2"'
check "the CM REP with the HelloAck" shows 'rep != "" && mid == "0x01" && len == 24'
check "the CM RTU" shows 'mad == "0x0014"'
check "all the bytes in Data, both ways" both_ways
check "DisConn, both ways" disconns
check "the CM DREQ" shows 'mad == "0x0015"'
check "nothing malformed" nothing_malformed
stop_serving
finish
