#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/softib/topology: the fabric that ibnetdiscover has found is made again, and is the same.

. "$(dirname "$0")/lib.sh"

tool=tools/softib/topology
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Two leaves with two links between them, and HCAs with descriptions and rates of their own
make() {
	add_switch left 4 && add_switch right 36 && add_switch alone_1 1 &&
	add_hca first && add_hca second && add_hca third &&
	printf %s "it's node 2; \$(touch $work/bad)" > "$hcas/second/node_desc" &&
	add_link a first/1 left/1 && add_link b left/3 right/36 && add_link c right/7 left/4 &&
	add_link d third/1 right/2 && add_link e second/1 right/1 && add_link f alone_1/1 right/9 &&
	echo 100 > "$conf"/links/b/rate && echo 2.5 > "$conf"/links/e/rate
}

# Links train by themselves; there is no subnet manager, nor does ibnetdiscover need one.
found() {
	ibnetdiscover -C first > "$1" 2> "$work/err" && grep -v '^# ' "$1" > "$1.plain"
}

all_found() {
	found "$1" && [ "$(grep -c '^\[' "$1")" -eq 12 ]
}

again() {
	remove_all && rmmod softib && insmod "$module" hcas=0 && sh "$work/script" &&
	until_true 20 all_found "$work/second" &&
	diff "$work/first.plain" "$work/second.plain"
}

# refuses TEXT: the input is named as the cause, and no command is printed.
refuses() {
	! "$tool" > "$work/out" 2> "$work/err" && [ ! -s "$work/out" ] && cat "$work/err" &&
		grep -qF -e "$1" "$work/err"
}

# As a fabric prints that has an adapter with two ports, and a router
real() {
	cat <<-'EOT'
		vendid=0x2c9
		devid=0xbd36
		switchguid=0x2c902004000a0(2c902004000a0)
		Switch	36 "S-0002c902004000a0"		# "MF0;sw1:IS5200/L01" base port 0 lid 3 lmc 0
		[1]	"H-0002c903000a00ff"[1](2c903000a0100) 		# "n1 HCA-1" lid 1 4xFDR
		[2]	"H-0002c903000a00ff"[2](2c903000a0101) 		# "n1 HCA-1" lid 2 4xFDR10
		[9]	"R-0002c90300000009"[1](2c90300000009) 		# "router" lid 9 4xEDR

		caguid=0x2c903000a00ff
		Ca	2 "H-0002c903000a00ff"		# "n1 HCA-1"
		[1](2c903000a0100) 	"S-0002c902004000a0"[1]		# lid 1 lmc 0 "MF0;sw1" lid 3 4xFDR
		[2](2c903000a0101) 	"S-0002c902004000a0"[2]		# lid 2 lmc 0 "MF0;sw1" lid 3 4xFDR10

		Rt	1 "R-0002c90300000009"		# "router"
		[1](2c90300000009) 	"S-0002c902004000a0"[9]		# lid 9 lmc 0 "MF0;sw1" lid 3 4xEDR
	EOT
}

expected() {
	cat <<-'EOT'
		set -e
		cd /sys/kernel/config/softib
		mkdir switches/MF0_sw1_IS5200_L01
		echo 0x0002c902004000a0 > switches/MF0_sw1_IS5200_L01/node_guid
		echo 36 > switches/MF0_sw1_IS5200_L01/ports
		echo 1 > switches/MF0_sw1_IS5200_L01/enable
		mkdir hcas/n1_HCA-1
		echo 0x0002c903000a00ff > hcas/n1_HCA-1/node_guid
		echo 1 > hcas/n1_HCA-1/enable
		printf %s 'n1 HCA-1' > /sys/class/infiniband/n1_HCA-1/node_desc
		mkdir hcas/n1_HCA-1-2
		echo 0x0002c903000a0101 > hcas/n1_HCA-1-2/node_guid
		echo 1 > hcas/n1_HCA-1-2/enable
		printf %s 'n1 HCA-1' > /sys/class/infiniband/n1_HCA-1-2/node_desc
		mkdir links/link1
		echo MF0_sw1_IS5200_L01/1 > links/link1/a/port
		echo n1_HCA-1/1 > links/link1/b/port
		echo 56 > links/link1/rate
		echo 1 > links/link1/enable
		mkdir links/link2
		echo MF0_sw1_IS5200_L01/2 > links/link2/a/port
		echo n1_HCA-1-2/1 > links/link2/b/port
		echo 40 > links/link2/rate
		echo 1 > links/link2/enable
	EOT
}

loads() {
	"$tool" "$work/real" | sh &&
	[ "$(< "$hcas"/n1_HCA-1-2/ports/1/gids/0)" = fe80:0000:0000:0000:0002:c903:000a:0102 ]
}

plan 9
insmod "$module" hcas=0
check "three switches and three HCAs" make
check "are found" until_true 20 all_found "$work/first"
check "become commands" sh -c "$tool '$work/first' > '$work/script'"
check "which make the same fabric" again
test ! -e "$work/bad"
result $? "and nothing that a description says"
remove_all
real > "$work/real"
"$tool" < "$work/real" 2> "$work/err" | diff <(expected) - && grep -q 'no routers' "$work/err"
result $? "names, ports and rates that softib does not have"
check "are loaded" loads
remove_all
rmmod softib
check "a link to a node that is missing" refuses 'of which the file has nothing else' \
	< <(grep -v -e ^Ca -e '^\[.](' "$work/real")
check "an empty file" refuses 'nothing that ibnetdiscover prints' < /dev/null
finish
