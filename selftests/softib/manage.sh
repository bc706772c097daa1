#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the subnet manager gives an HCA, and takes away: partitions, its LID; and
# that users hear of it.

. "$(dirname "$0")/lib.sh"

partitions=/run/softib-partitions.conf
keys=$hcas/softib1/ports/1/pkeys
heard=/tmp/events

# members P_KEY MEMBER: with this partition beside the default one
members() {
	printf '%s\n' "Default=0x7fff, ipoib, defmember=full : ALL=full;" \
		"Blue=$1 : $2;" > "$partitions"
}

# crowd N: that many more, so that their keys take more than one block of the table
crowd() {
	local i

	members 0x0003 "$(ibstat softib1 -p)=limited"
	for ((i = 0; i < $1; i++)); do
		printf 'Crowd%d=0x%04x : ALL=full;\n' "$i" $((0x100 + i))
	done >> "$partitions"
	reread
}

# all_keys N: of the crowd are in softib1's table
all_keys() {
	[ "$(cat "$keys"/* | grep -cx '0x81..')" -eq "$1" ]
}

# has_key P_KEY: in softib1's table
has_key() {
	grep -qx "$1" "$keys"/*
}

# hears EVENT COMMAND...: softib1's users are told of it in consequence.
hears() {
	local event=$1

	shift
	: > "$heard"
	"$@" && until_true 30 grep -q "IBV_EVENT_$event " "$heard" && return
	cat "$heard"
	return 1
}

reread() {
	pkill -HUP -x opensm
}

lid_is() {
	[ "$(< "$hcas"/softib1/ports/1/lid)" = "$1" ] &&
	ibv_devinfo -d softib1 | grep -q "port_lid:[[:space:]]*$(($1))$"
}

# The subnet manager comes back, and has this LID in mind for softib1.
with_lid() {
	local guid

	guid=$(ibstat softib1 -p) &&
	unmanage && mkdir -p /run/softib-cache &&
	printf '%s\t%s\t%s\n' "$guid" "$1" "$1" > /run/softib-cache/guid2lid &&
	OSM_CACHE_DIR=/run/softib-cache manage -P "$partitions" --honor_guid2lid
}

restart() {
	unmanage && manage -P "$partitions"
}

# Whatever becomes of it, ibping succeeds.
pinged() {
	ibping -C softib0 -c 1 -L 64 | grep -q ' 1 received'
}

plan 16

members 0x0002 ALL=full
check "a fabric" insmod "$module"
check "a partition of all" manage -P "$partitions"
check "is up" until_true 60 all_active 2
check "is in the HCA's table" until_true 10 has_key 0x8002
: > "$heard"
stdbuf -oL ibv_asyncwatch -d softib1 >> "$heard" 2>&1 &
watch=$!
until_true 10 grep -q "async event" "$heard"
check "data in it" pair ib_send_bw -F -n 20 --pkey_index=1

members 0x0003 "$(ibstat softib1 -p)=limited"
check "another partition, of one limited member: users hear of it" \
	hears PKEY_CHANGE reread
check "it is in the table" until_true 10 has_key 0x0003
check "the one before is not" until_true 10 not has_key 0x8002
crowd 100
check "a hundred more, in as many entries" until_true 20 all_keys 100

check "the subnet manager starts again: users register again" \
	hears CLIENT_REREGISTER restart
check "another LID: users hear of it" hears LID_CHANGE with_lid 0x40
check "it is the HCA's" until_true 10 lid_is 0x40
# The switch learns the way there later.
until_true 10 smpquery -C softib0 -t 200 nodeinfo 64
# With the bit in the attribute modifier that says so.
check "a manager that knows of extended speeds sets PortInfo" \
	ibportstate -C softib0 -D 0 1 smlid "$((16#$(sed s/0x// $hcas/softib0/ports/1/sm_lid)))"
check "data" pair ibv_rc_pingpong -n 20
ibping -S -C softib1 > /dev/null &
server=$!
check "ibping" until_true 10 pinged
kill $server
wait $server 2> /dev/null
kill $watch
wait $watch 2> /dev/null
check "all goes" down

finish
