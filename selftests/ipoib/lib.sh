# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests of this folder: TAP, the other node, and waiting. They run in
# node1 of tools/vm/run; the driver under test is named by VM_IPOIB.

# shellcheck source=/dev/null # written by tools/vm/run
. /run/vm

. "$(dirname "$0")/../tap.sh"

# on NODE COMMAND...: runs COMMAND in the other node.
on() {
	local node=$1

	shift
	ip netns exec "$node" "$@"
}

same() {
	[ "$1" = "$2" ] || { echo "got '$1', wanted '$2'"; return 1; }
}

carrier() {
	[ "$(cat /sys/class/net/ib0/carrier)" = 1 ]
}

# no_loss PING-ARGUMENT...: every packet is answered, once.
no_loss() {
	local output node

	output=$(ping -W 10 "$@") || { echo "$output"; return 1; }
	if [[ $output != *" 0% packet loss"* || $output == *duplicates* ]]; then
		echo "$output"
		for node in node1 node2; do
			echo "$node:"
			on "$node" ethtool -S ib0 | grep -v ': 0$'
			on "$node" ip -s link show ib0
			on "$node" nstat -a | grep -E 'Fail|Drop|Err|Discard'
		done
		return 1
	fi
}

# members MGID: how many ports the subnet administrator has in the group; its
# list of ports is for those who know the SM_Key.
members() {
	saquery --smkey 1 -m 2> /dev/null | awk -v g="MGID[.]*$1\$" '
		/MGID/ { found = $0 ~ g } /PortGid/ { n += found } END { print n + 0 }'
}

# member MGID NODE-NUMBER: is the node's port in it?
member() {
	local gid

	read -r gid < "/sys/class/infiniband/softib$(($2 - 1))/ports/1/gids/0"
	gid=$(python3 -c 'import ipaddress, sys
print(ipaddress.ip_address(sys.argv[1]))' "$gid")
	saquery --smkey 1 -m 2> /dev/null | awk -v g="MGID[.]*$1\$" -v p="PortGid[.]*$gid\$" '
		/MGID/ { found = $0 ~ g } found && $0 ~ p { yes = 1 } END { exit !yes }'
}

not() {
	! "$@"
}

# counter NAME: one of the driver's own (ethtool -S).
counter() {
	ethtool -S ib0 | awk -v name="$1:" '$1 == name { print $2 }'
}

# lladdr NODE: the link-layer address of its interface.
lladdr() {
	on "$1" cat /sys/class/net/ib0/address
}

# address_up NODE NUMBER: addresses as the fabric was set up with, and up.
address_up() {
	ip -n "$1" -batch - <<-EOF
		address replace 10.77.0.$2/24 dev ib0
		address replace fd77::$2/64 dev ib0 nodad
		link set ib0 up
	EOF
}

# The driver makes its interfaces in the first namespace, in the HCAs' order.
give_all() {
	local n

	for n in $(seq "$VM_NODES"); do
		echo "link set ib$((n - 1)) netns node$n name ib0"
	done | nsenter -t 1 -n ip -batch - || return
	for n in $(seq "$VM_NODES"); do
		address_up "node$n" "$n" || return
	done
}

ours() {
	[ "$VM_IPOIB" = ours ]
}

# netns_number NODE: of its network namespace.
netns_number() {
	on "$1" readlink /proc/self/ns/net | tr -dc 0-9
}

# gid NODE-NUMBER: of its port, as debugfs has it.
gid() {
	sed -E 's/(^|:)0{1,3}/\1/g' \
		"/sys/class/infiniband/softib$(($1 - 1))/ports/1/gids/0"
}
