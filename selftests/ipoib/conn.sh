# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests of connected mode: the mode of a node, and TCP that has to be
# whole. The nodes may be in machines of their own, with a driver each.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What the test files use.
# shellcheck disable=SC2034
{
net=/sys/class/net
conf=/sys/kernel/config/softib
most=65520
ud_mtu=$((VM_IB_MTU - 4))
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit

# mode NODE MODE
mode() {
	on "$1" sh -c "echo $2 > $net/ib0/mode"
}

# connected NODE...: with the largest MTU
connected() {
	local node

	for node; do
		mode "$node" connected && on "$node" ip link set ib0 mtu $most || return
	done
}

datagram() {
	local node

	for node; do
		mode "$node" datagram || return
	done
}

# up NODE...: with its addresses, and carrier
up() {
	local node n

	for node; do
		n=${node#node}
		on "$node" ip -batch - <<-EOF || return
			address replace 10.77.0.$n/24 dev ib0
			address replace fd77::$n/64 dev ib0 nodad
			link set ib0 up
		EOF
	done
	for node; do
		until_true 20 on "$node" grep -q 1 $net/ib0/carrier || return
	done
}

down() {
	local node

	for node; do
		on "$node" ip link set ib0 down || return
	done
}

# queue_pairs NODE: those of its connections that are up
queue_pairs() {
	local hca=softib$((${1#node} - 1))

	on "$1" rdma resource show qp |
		sed -n "s,^link $hca/.* lqpn \([0-9]*\) .*type RC state RTS.*,\1,p"
}

connects() {
	[ -n "$(queue_pairs "$1")" ]
}

# no_queue_pairs HCAS: none of connections, whatever their state
no_queue_pairs() {
	! rdma resource show qp | grep "link $1.* type RC"
}

# verbs: the objects of node 1's adapter; completion queues are shared with others.
verbs() {
	rdma resource show | awk '$2 == "softib0:" {
		for (i = 3; i < NF; i += 2)
			if ($i != "cq")
				print $i, $(i + 1)
	}'
	objects
}

# unload: the driver, with connections and all. The kernel's own leaves some behind
# then, and the kernel reports that, so they are ended before.
unload() {
	ours || {
		datagram node1 node2 node3 node4 && down node1 node2 node3 node4 &&
		until_true 30 no_queue_pairs softib
	} || return
	rmmod ib_ipoib
}

# --- packets of 64 KiB ----------------------------------------------------

# is_mode MODE: for all who ask
is_mode() {
	same "$(< $net/ib0/mode)" "$1" &&
	ip -d -j link show ib0 | grep -F "\"mode\":\"$1\""
}

mtu_is() {
	same "$(< $net/ib0/mtu)" "$1"
}

# stack NODE: fragments that it has made
fragments() {
	on "$1" nstat -asz IpFragCreates Ip6FragCreates |
		awk '/FragCreates/ { n += $2 } END { print n }'
}

# large ADDRESS...: is answered, and no node has fragmented anything.
large() {
	local to before

	before="$(fragments node1) $(fragments node2)"
	for to; do
		large_pings 5 "$to" || return
	done
	same "$(fragments node1) $(fragments node2)" "$before"
}

# The first packet may be what a connection is made for.
answers() {
	until_true 20 ping -q -c 1 -W 1 10.77.0.2 &&
	until_true 20 ping -q -c 1 -W 1 fd77::2 &&
	until_true 20 on node2 ping -q -c 1 -W 1 10.77.0.1
}

# --- TCP -------------------------------------------------------------------

# listening NODE PORT
listening() {
	[ -n "$(on "$1" ss -Hltn sport = ":$2")" ]
}

# transfer FROM TO ADDRESS: /tmp/file, with TCP
transfer() {
	local receiver

	on "$2" timeout 200 socat -u TCP6-LISTEN:7000,reuseaddr,ipv6-v6only=0 - \
		> /tmp/got &
	receiver=$!
	until_true 60 listening "$2" 7000 &&
	on "$1" timeout 200 socat -u - "TCP:$3:7000" < /tmp/file &&
	wait $receiver && cmp /tmp/file /tmp/got
}

both_ways() {
	transfer node1 node2 10.77.0.2 && transfer node2 node1 10.77.0.1
}

# stream FROM TO ADDRESS PORT PAUSE: TCP until /run/enough is there. What was sent
# and what came has its sum in the two nodes' /tmp/from_FROM and /tmp/to_TO.
stream() {
	local program

	program=$(dirname "$(readlink -f "$0")")/stream.py

	on "$1" rm -f "/tmp/from_$1"
	on "$2" rm -f "/tmp/to_$2" "/tmp/to_$2.bytes"
	on "$2" "$program" receive "$4" "/tmp/to_$2" &
	until_true 60 listening "$2" "$4" || return
	on "$1" "$program" send "$3" "$4" "/tmp/from_$1" "$5" &
}

# streams PAUSE: one each way, with so many seconds after each 100000 bytes
streams() {
	on node1 rm -f /run/enough
	on node2 rm -f /run/enough
	stream node1 node2 10.77.0.2 7001 "$1" &&
	stream node2 node1 10.77.0.1 7002 "$1"
}

# received NODE: bytes by its stream, 0 before the first
received() {
	local bytes

	bytes=$(on "$1" cat "/tmp/to_$1.bytes" 2> /dev/null)
	echo $((10#${bytes:-0}))
}

came() {
	[ "$(received "$1")" -ge "$2" ]
}

# flow BYTES SECONDS: so many more come, both ways.
flow() {
	local node from

	for node in node1 node2; do
		from=$(received $node)
		until_true "$2" came $node $((from + $1)) || {
			echo "$node: $from bytes, then $(received $node)"
			return 1
		}
	done
}

# whole: the streams end, and not a byte was lost.
whole() {
	on node1 touch /run/enough
	on node2 touch /run/enough
	same_sum node1 node2 && same_sum node2 node1
}

# same_sum FROM TO
same_sum() {
	until_true 60 on "$1" test -s "/tmp/from_$1" &&
	until_true 60 on "$2" test -s "/tmp/to_$2" ||
		{ echo "no end: $(received "$2") bytes"; return 1; }
	same "$(on "$2" cat "/tmp/to_$2")" "$(on "$1" cat "/tmp/from_$1")"
}
