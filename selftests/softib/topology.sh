#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What opensm and the diagnostic programs see is what there is.

. "$(dirname "$0")/lib.sh"

# discovered: ibnetdiscover's view in short, a line for each node and link.
discovered() {
	ibnetdiscover -p 2> /dev/null |
		sed -E "s/ +/ /g; s/0x0*//g; s/ \( | \)//g"
}

# attribute HCA NAME
attribute() {
	ibv_devinfo -d "softib$1" -v | sed -n "s/^[[:space:]]*$2:[[:space:]]*//p"
}

# smp WHAT ADDRESS...: one field a line, without the dots.
smp() {
	smpquery "$@" | sed 's/:\.*/=/'
}

plan 30

check "five HCAs come up" up 5
output=$(ibnetdiscover 2>&1)
result $? "ibnetdiscover"
diag "$output"
for i in 0 1 2 3 4; do
	guid=$(printf '0253494200000%x00' $((i + 1)))
	port=$((i + 1))
	grep -qE "^\[$port\].*\"H-$guid\"\[1\].*\"softib$i\" lid [0-9]+ 4xQDR" \
		<<< "$output"
	result $? "HCA $i is on port $port of the switch"
done
[ "$(grep -c '^Switch' <<< "$output") $(grep -c '^Ca' <<< "$output")" = "1 5" ]
result $? "one switch, five HCAs, no more"
grep -qE '^Switch[[:space:]]+5 "S-0253494201000000".*"switch" base port 0' \
	<<< "$output"
result $? "the switch has five ports and a name"

output=$(iblinkinfo 2>&1)
[ "$(grep -cE '4X +10.0 Gbps Active/ +LinkUp' <<< "$output")" -eq 10 ]
result $? "iblinkinfo: every port of five links is active"
output=$(ibstat softib3)
grep -q 'State: Active' <<< "$output" && grep -q 'Rate: 40' <<< "$output" &&
	grep -q 'Port GUID: 0x0253494200000401' <<< "$output" &&
	grep -q 'Link layer: InfiniBand' <<< "$output"
result $? "ibstat"
[ "$(cat $hcas/softib*/ports/1/lid | sort -u | wc -l)" -eq 5 ]
result $? "every HCA has a LID of its own"
[ "$(attribute 4 active_mtu) $(attribute 4 transport)" = \
	"2048 (4) InfiniBand (0)" ]
result $? "ibv_devinfo"
[ "$(< $hcas/softib2/ports/1/pkeys/0)" = 0xffff ]
result $? "the default partition"
[ "$(< $hcas/softib2/ports/1/gids/0)" = \
	fe80:0000:0000:0000:0253:4942:0000:0301 ]
result $? "the GID is prefix and port GUID"

lid=$(sed -n 's/^0x0*\([0-9a-f]*\) .*/\1/p' <<< "$(ibswitches |
	sed -E 's/.* lid ([0-9]+).*/\1/' | xargs printf '0x%x x\n')")
lid=$((16#$lid))
check "the switch has a LID" test "$lid" -gt 0
output=$(ibroute $lid)
for i in 0 1 2 3 4; do
	own=$(($(< $hcas/softib$i/ports/1/lid)))
	grep -qiE "^$(printf '0x%04x' $own) 00$((i + 1))" <<< "$output"
	result $? "LID $own leads to port $((i + 1))"
done
smp nodeinfo $lid | grep -q '^NumPorts=5'
result $? "SMPs by LID reach the switch"
smp switchinfo $lid | grep -q '^McastFdbCap=16383'
result $? "which forwards every multicast LID"
smp nodeinfo -D 0,1,2 | grep -q '^Guid=0x0253494200000200'
result $? "SMPs by directed route reach an HCA behind it"
not smpquery -t 200 nodeinfo -D 0,1,9 > /dev/null 2>&1
result $? "a directed route to nowhere has no answer"
not smpquery -t 200 nodeinfo -D 0,1,2,1 > /dev/null 2>&1
result $? "nor has one through an HCA"
check "saquery finds all nodes" \
	until_true 10 sh -c 'saquery NR | grep -c NodeDescription | grep -x 6'
check "ibdiagnet's kind of check: no errors on the links" \
	sh -c "! ibqueryerrors 2>&1 | grep -E 'SymbolError|RcvErrors|LinkDowned'"

# A port that goes down and comes up again is noticed and brought up.
ibportstate $lid 2 reset > /tmp/reset 2>&1
check "a link that was reset comes up again" until_true 30 all_active 5
down

up 1 ib_mtu=4096 && [ "$(attribute 0 active_mtu)" = "4096 (5)" ]
result $? "one HCA, MTU 4096"
down

finish
