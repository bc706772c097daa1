#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tshark, which knows nothing of this project, reads a capture of a connection that is joined and
# comes back: the request, its answer, Data and credits are those of the Sockets Direct Protocol;
# only the identifiers 0x40 to 0x44 are not the annex's.

. "$(dirname "$0")/lib.sh"

capture=/tmp/capture.pcap

# left: connections have come back to TCP.
left() {
	in_node 1 "$build/tools/sdpctl/sdpctl" return -a -w 20
}

take() {
	cat /sys/kernel/debug/softib/capture > "$capture" &
	until_true 10 [ -s "$capture" ] &&
	begin -n 1 -b 1000 -m 1 && by_ib && left && ask more && ask end || return
	leave
	nap 1
	kill %%
	wait %% 2> /dev/null
	return 0
}

# A line for each packet, its fields by the names below.
decode() {
	tshark -r "$capture" -T fields -E 'separator=;' \
		-e infiniband.lrh.slid -e infiniband.mad.attributeid \
		-e infiniband.cm.req -e infiniband.cm.rep \
		-e infiniband_sdp.bsdh.mid -e infiniband_sdp.bsdh.len \
		-e infiniband_sdp.bsdh.bufs -e _ws.malformed -e infiniband.bth.psn \
		> /tmp/packets 2> /tmp/tshark.err
	[ -s /tmp/packets ] || { cat /tmp/tshark.err; return 1; }
}

# shows CONDITION: is it true of a packet?
shows() {
	awk -F ';' "
		{ lid = \$1; mad = \$2; req = \$3; rep = \$4; mid = \$5
		  len = \$6; bufs = \$7; malformed = \$8 }
		$1 { found = 1; print }
		END { exit !found }" /tmp/packets
}

# It calls Data without bytes malformed, which the annex has.
nothing_malformed() {
	! shows 'malformed != "" && !(mid == "0xff" && len == 16)'
}

# both_ways CONDITION: from two ports
both_ways() {
	[ "$(shows "$1" | cut -d ';' -f 1 | sort -u | wc -l)" -eq 2 ]
}

plan 12
check "only InfiniBand" only_ib
check "a connection is joined, and comes back" take
check "tshark reads the capture" decode
check "a query for the path" shows 'mad == "0x0035"'
check "the CM REQ with Join" shows 'req != "" && mid == "0x40" && len == 76'
check "the CM REP with Join" shows 'rep != "" && mid == "0x40" && len == 40'
check "Joined" shows 'mid == "0x41" && len == 24'
check "Switch, both ways" both_ways 'mid == "0x42" && len == 48'
check "Data with bytes, both ways" both_ways 'mid == "0xff" && len > 16 && bufs > 0'
check "Leave" shows 'mid == "0x43" && len == 20'
check "the CM DREQ" shows 'mad == "0x0015"'
check "nothing malformed" nothing_malformed
finish
