#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Addresses by DHCP as RFC 4390 has it on InfiniBand, by router advertisement
# and by DHCPv6: node1 has a dnsmasq, node2 and node3 a systemd-networkd, which
# both are as Debian has them; node4 has no client but the kernel.
#
# Of the other clients in Debian 12, dhcpcd cannot receive on InfiniBand.

. "$(dirname "$0")/lib.sh"

capture=/tmp/dhcp.pcap
log=/tmp/dnsmasq.log
clients=()	# their processes

# Leases are the shortest that dnsmasq gives, to be renewed long before.
serve() {
	ip address add fd90::1/64 dev ib0 nodad &&
	ip address add 10.91.0.1/24 dev blue || return
	dnsmasq --conf-file=/dev/null --keep-in-foreground --port=0 --user=root \
		--bind-interfaces --interface=ib0 --interface=blue \
		--dhcp-authoritative --no-ping --dhcp-option=option:T1,5 \
		--dhcp-range=10.77.0.100,10.77.0.199,120 \
		--dhcp-range=10.91.0.100,10.91.0.199,120 \
		--enable-ra --dhcp-range=fd90::100,fd90::150,slaac,64,120 \
		--dhcp-leasefile=/tmp/dnsmasq.leases --log-facility=$log &
	server=$!
	tcpdump -Z root -q -U -i ib0 -w $capture udp > /tmp/tcpdump.log 2>&1 &
	sniffer=$!
	until_true 10 grep -q 'router advertisement enabled' $log &&
	until_true 10 grep -q listening /tmp/tcpdump.log
}

# What the client finds of the machine: a name of its own, interfaces that no
# udev has to approve of (/sys can only be read), and its user.
# shellcheck disable=SC2016 # for the inner shell
machine='
	grep -q ^systemd-network: /etc/passwd ||
		echo systemd-network:x:998:998::/:/bin/false >> /etc/passwd
	mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd &&
	mount -o remount,bind,ro /sys &&
	printf "%032d\n" "$1" > /run/machine-id && touch /etc/machine-id &&
	mount --bind /run/machine-id /etc/machine-id &&
	install -d -o systemd-network -g 998 /run/systemd/netif &&
	mkdir -p /etc/systemd/network &&
	printf "%s\n" "[Match]" "Name=ib0 blue" "[Network]" DHCP=yes \
		> /etc/systemd/network/all.network &&
	SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console \
		exec /lib/systemd/systemd-networkd
'

# client NUMBER: starts the node's
client() {
	ip -n "node$1" -4 address flush dev ib0
	ip netns exec "node$1" unshare -m bash -c "$machine" - "$1" \
		> "/tmp/networkd.$1" 2>&1 &
	clients+=($!)
}

# address NODE INTERFACE PREFIX: its address that begins with PREFIX
address() {
	ip -n "$1" -o address show dev "$2" |
		awk -v p="$3" 'index($4, p) == 1 { sub("/.*", "", $4); print $4; exit }'
}

got() {
	[ -n "$(address "$@")" ]
}

# reach NUMBER INTERFACE PREFIX: the node has such an address, and answers
reach() {
	until_true 120 got "node$1" "$2" "$3" || {
		tail -n 30 "/tmp/networkd.$1" $log
		return 1
	}
	no_loss -q -c 3 -i 0.05 "$(address "node$1" "$2" "$3")"
}

different() {
	local second third

	second=$(address node2 ib0 10.77.0.1) third=$(address node3 ib0 10.77.0.1)
	reach 3 ib0 10.77.0.1 && not same "$second" "$third"
}

# decode: the capture's messages, one a line: its type, source, destination,
# hardware type and length, flags, and all of the UDP payload
decode() {
	tshark -r $capture -Y dhcp -T fields -E separator=' ' \
		-e dhcp.option.dhcp -e ip.src -e ip.dst -e dhcp.hw.type \
		-e dhcp.hw.len -e dhcp.flags -e udp.payload \
		> /tmp/dhcp.decoded 2> /tmp/tshark.log &&
	[ -s /tmp/dhcp.decoded ] || { cat /tmp/tshark.log; return 1; }
}

# as_rfc TYPE: each such message of a client without an address says that it
# has no hardware address, is broadcast and wants its answer to be, and has a
# client identifier (option 61, or 0x3d) after the type (option 53, or 0x35).
as_rfc() {
	local type from to hardware length flags payload n=0

	while read -r type from to hardware length flags payload; do
		[ "$type $from" = "$1 0.0.0.0" ] || continue
		n=$((n + 1))
		same "$to $hardware $length $flags" "255.255.255.255 0x20 0 0x8000" &&
		same "${payload:56:32}" 00000000000000000000000000000000 &&
		[[ ${payload:480} =~ ^(3501..)3d13ff ]] || {
			echo "$payload"
			return 1
		}
	done < /tmp/dhcp.decoded
	[ $n -gt 0 ] || { echo "no such message"; return 1; }
}

# Discover and Request
requests() {
	as_rfc 1 && as_rfc 3
}

# Offer and Ack; there are Acks of renewals, too.
replies() {
	grep '^2 10.77.0.1 255.255.255.255 0x20 0 0x8000 ' /tmp/dhcp.decoded &&
	not grep -E '^2 [^ ]+ 10\.' /tmp/dhcp.decoded &&
	grep '^5 10.77.0.1 255.255.255.255 0x20 0 0x8000 ' /tmp/dhcp.decoded
}

# renewed NUMBER: and still reached, by the same address
renewed() {
	local before

	before=$(address "node$1" ib0 10.77.0.1)
	# Once the client has sent it, and once the answer has been understood
	until_true 30 awk '/ib0: .*REQUEST .renewing/ { asked = 1 }
		asked && /ib0: .*client: ACK/ { found = 1 } END { exit !found }' \
		"/tmp/networkd.$1" &&
	same "$(address "node$1" ib0 10.77.0.1)" "$before" &&
	reach "$1" ib0 "$before"
}

# The renewal goes to the server alone, from the address that there is, and
# comes back by no broadcast.
renewal() {
	local own

	own=$(address node2 ib0 10.77.0.1)
	grep "^3 $own 10.77.0.1 0x20 0 " /tmp/dhcp.decoded &&
	grep "^5 10.77.0.1 $own 0x20 0 " /tmp/dhcp.decoded
}

# The kernel makes the address of the port's GUID.
autoconfigured() {
	local own

	own=$(address node4 ib0 fe80::)
	reach 4 ib0 "fd90::${own#fe80::}"
}

children() {
	local n

	partitions 'Blue=0x0001, ipoib, defmember=full : ALL=full;' || return
	for n in 1 2 3; do
		ip -n "node$n" link add link ib0 name blue type ipoib pkey 0x8001 &&
		ip -n "node$n" link set blue up || return
	done
	for n in 1 2 3; do
		until_true 20 on "node$n" grep -q 1 /sys/class/net/blue/carrier ||
			return
	done
}

# New interfaces have nothing of all that any more.
clean() {
	rmmod ib_ipoib && modprobe ib_ipoib && give_all && partitions "" &&
	until_true 20 ping -q -c 1 -W 1 10.77.0.2
}

plan 13
check "children in a partition" children
serve
result $? "a server on a port's interface and on a child"
client 2
client 3
check "a client gets an address" reach 2 ib0 10.77.0.1
check "another client gets another one" different
check "a client gets an address on a child" reach 2 blue 10.91.0.1
check "by router advertisement, the kernel" autoconfigured
check "by DHCPv6" reach 2 ib0 fd90::1
check "a lease is renewed" renewed 2
check "the messages are read" decode
check "requests are as RFC 4390 says" requests
check "replies, too" replies
check "the renewal is by unicast" renewal
kill "${clients[@]}" "$sniffer" "$server"
wait
check "all is as before" clean
finish
