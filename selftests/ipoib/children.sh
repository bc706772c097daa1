#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two thousand children of one interface, each of a P_Key of its own: half of them by
# sysfs, half by ip link. The adapters have tables for that: softib.pkeys=2048.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
ports=/sys/class/infiniband/softib
children=$(fewer "${CHILDREN:-2000}")
half=$((children / 2))
# Groups of interfaces: the one half and the other
by_sysfs=7 by_link=8
# KiB that the kernel may hold then: less than a netdev is, for each child
SLACK=$((4096 + 4 * children))
# Those that a peer has, too: the first and the last of each half
peers=(1 "$half" "$((half + 1))" "$children")

# --- the driver, with small rings ----------------------------------------------------

# anew SIZES: the kernel's driver takes 17 MiB for the rings of a child otherwise.
anew() {
	# shellcheck disable=SC2086 # one parameter a word
	rmmod ib_ipoib && modprobe ib_ipoib $1 && give_all && until_true 60 carrier &&
	until_true 60 ping -q -c 1 -W 1 10.77.0.2
}

# --- partitions ------------------------------------------------------------------------

# name N: of the child with the Nth P_Key
name() {
	printf 'ib0.%04x' $((0x8000 + $1))
}

has_keys() {
	local n

	n=$(cat "$ports$1/ports/1/pkeys/"* | grep -vc 0x0000)
	echo "adapter $1: $n"
	[ "$n" -eq "$2" ]
}

have_keys() {
	has_keys 0 "$1" && has_keys 1 "$1"
}

handed_out() {
	local texts

	mapfile -t texts < <(awk -v n="$children" 'BEGIN {
		for (i = 1; i <= n; i++)
			printf "P%d=0x%04x, ipoib, defmember=full : ALL=full;\n", i, i
	}')
	partitions "${texts[@]}"
	until_true 120 have_keys $((children + 1)) || have_keys $((children + 1))
}

# --- children --------------------------------------------------------------------------

# The kernel's driver makes them in the first namespace.
create_by_sysfs() {
	local n

	for ((n = 1; n <= half; n++)); do
		echo $((0x8000 + n)) > $net/ib0/create_child || return
	done
	for ((n = 1; n <= half; n++)); do
		echo "link set $(name $n) netns node1"
	done | if ours; then cat > /dev/null; else nsenter -t 1 -n ip -batch -; fi &&
	for ((n = 1; n <= half; n++)); do
		echo "link set $(name $n) group $by_sysfs"
	done | ip -batch -
}

create_by_link() {
	local n

	for ((n = half + 1; n <= children; n++)); do
		echo "link add link ib0 name $(name $n) group $by_link type ipoib" \
			"pkey $((0x8000 + n))"
	done | ip -batch -
}

have_carriers() {
	local n

	n=$({ ip -o link show group $by_sysfs; ip -o link show group $by_link; } |
		grep -c LOWER_UP)
	echo "$n of $children"
	[ "$n" -eq "$children" ]
}

all_up() {
	ip link set group $by_sysfs up && ip link set group $by_link up || return
	until_true 200 have_carriers || have_carriers
}

# What the subnet administrator says: this port is in so many partitions' broadcast groups.
all_joined() {
	local gid n

	gid=$(python3 -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]))' \
		"$(< "${ports}0/ports/1/gids/0")")
	n=$(saquery --smkey 1 -m 2> /dev/null | awk -v p="PortGid[.]*$gid\$" '
		/MGID/ { found = /MGID[.]*ff12:401b:8[0-7]..::ffff:ffff$/ }
		found && $0 ~ p { n++ } END { print n + 0 }')
	echo "$n of $children"
	[ "$n" -eq "$children" ]
}

# With an address in each of some partitions, here and there
peers_have() {
	local n

	for n in "${peers[@]}"; do
		ip address add "10.$((n / 250 + 90)).$((n % 250)).1/24" dev "$(name "$n")" &&
		ip -n node2 link add link ib0 name "$(name "$n")" type ipoib \
			pkey $((0x8000 + n)) &&
		ip -n node2 address add "10.$((n / 250 + 90)).$((n % 250)).2/24" \
			dev "$(name "$n")" &&
		ip -n node2 link set "$(name "$n")" up || return
	done
}

# Each peer answers in its partition, and in no other.
peers_answer() {
	local n address

	for n in "${peers[@]}"; do
		address=10.$((n / 250 + 90)).$((n % 250)).2
		until_true 60 ping -q -c 1 -W 1 "$address" && no_loss -q -c 3 -i 0.05 "$address" ||
			{ echo "$n: $address"; return 1; }
	done
	not ping -q -c 2 -i 0.2 -W 1 -I "$(name 2)" "$address"
}

peers_gone() {
	local n

	for n in "${peers[@]}"; do
		ip -n node2 link del "$(name "$n")" || return
	done
}

none_left() {
	same "$(find $net/ -name 'ib0.*' | wc -l)" 0
}

delete_all() {
	local n

	ip link del group $by_link || return
	for ((n = 1; n <= half; n++)); do
		echo $((0x8000 + n)) > $net/ib0/delete_child || return
	done
	until_true 200 none_left || none_left
}

# --- what they leave -------------------------------------------------------------------

# The subnet manager, in this machine, has its memory too.
memory() {
	local sm

	sm=$(awk '/^VmRSS:/ { print $2 }' "/proc/$(pgrep -x opensm)/status")
	echo $(($(in_use) - sm))
}

# The kernel's driver has one file in debugfs for a name, also of children in two namespaces.
silent() {
	local known='^$'

	ours || known='debugfs: File .* already present'
	dmesg --level warn,err | grep -E 'ib0|ipoib' | grep -v "$known"
	[ $? -eq 1 ]
}

plan 14
dmesg -C
check "the driver, with small rings" anew "send_queue_size=128 recv_queue_size=16"
timed "$children P_Keys" handed_out
base=$(memory)
base_objects=$(objects)
timed "$half children by sysfs" create_by_sysfs
timed "$((children - half)) by ip link" create_by_link
timed "all up, and joined to their broadcast groups" all_up
check "the subnet administrator has them as members" until_true 60 all_joined
check "some have peers" peers_have
check "in their partitions" peers_answer
peak=$(memory)
diag "a child: $(((peak - base) / children)) KiB"
[ $((peak - base)) -gt $((2 * SLACK)) ]
result $? "they cost memory"
check "the peers' are deleted" peers_gone
timed "all are deleted" delete_all
until_true 60 no_more "$base_objects" objects
check "their objects are" no_more "$base_objects" objects
until_true 60 back_to $((base + SLACK)) memory
check "and their memory" back_to $((base + SLACK)) memory
check "without a warning" silent
anew ""
partitions
until_true 60 have_keys 1
address_up node1 1
finish
