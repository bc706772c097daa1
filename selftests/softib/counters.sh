#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The performance counters count what there was, at all ends of all links.

. "$(dirname "$0")/lib.sh"

# counter LID PORT NAME
counter() {
	perfquery -x "$1" "$2" | sed -n "s/^$3:\.*//p"
}

# moved FROM TO AT_LEAST AT_MOST
moved() {
	diag "moved by $(($2 - $1))"
	[ $(($2 - $1)) -ge "$3" ] && [ $(($2 - $1)) -le "$4" ]
}

plan 13

check "a fabric" up 2
hca=$(($(< $hcas/softib0/ports/1/lid)))
switch=$(ibswitches | sed -E 's/.* lid ([0-9]+).*/\1/')

out=$(counter $hca 1 PortXmitPkts)
words=$(counter $hca 1 PortXmitData)
in=$(counter "$switch" 1 PortRcvPkts)
on=$(counter "$switch" 2 PortXmitPkts)
# 100 messages of 10 packets of 2048 bytes, with some queries beside them. On a busy
# machine they are not sent again as soon as by default (-u).
check "1000 packets are sent" pair ib_send_bw -F -u 20 -n 100 -s 20480
# ib_send_bw's server is on softib0; so is what comes back from there.
moved "$in" "$(counter "$switch" 1 PortRcvPkts)" 10 1500
result $? "the switch got what the HCA sent"
moved "$out" "$(counter $hca 1 PortXmitPkts)" 10 1500
result $? "which says the same"

in=$(counter $hca 1 PortRcvPkts)
words=$(counter $hca 1 PortRcvData)
on=$(counter "$switch" 1 PortXmitPkts)
check "1000 packets are sent again" pair ib_send_bw -F -u 20 -n 100 -s 20480
moved "$in" "$(counter $hca 1 PortRcvPkts)" 1000 1300
result $? "packets at the HCA"
moved "$on" "$(counter "$switch" 1 PortXmitPkts)" 1000 1300
result $? "packets at the switch"
# 2048 bytes of payload and 24 of headers in a packet, 4 bytes in a word
moved "$words" "$(counter $hca 1 PortRcvData)" 518000 560000
result $? "words at the HCA"

check "the kernel shows them, too" test \
	"$(< $hcas/softib0/ports/1/counters/port_rcv_packets)" -gt 1000
check "perfquery without -x" sh -c \
	"perfquery $hca 1 | sed -n 's/^PortRcvPkts:\.*//p' | grep -E '^[0-9]{4,}$'"
check "they can be cleared" perfquery -R $hca 1
[ "$(counter $hca 1 PortRcvPkts)" -lt 100 ]
result $? "and count from zero"
not perfquery $hca 2 > /dev/null 2>&1
result $? "an HCA has no second port"
down

finish
