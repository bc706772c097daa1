#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What networks do to connections, they do to joined ones: firewalls, conntrack, routes, VRF, IPsec,
# addresses that move, packets that are lost, and cables that are out for long.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/links.sh"

case $VARIANT in
*v6)	from=fd77::1 length=128 mask=64 ;;
*)	from=10.77.0.1 length=32 mask=24 ;;
esac

# both COMMAND...: ip(8) in both nodes
both() {
	ip -n node1 "$@" && ip -n node2 "$@"
}

# --- a firewall --------------------------------------------------------------------

# rules NODE HOOK RULE...: a table of them
rules() {
	{
		printf 'table inet judge {\nchain one {\ntype filter hook %s priority 0\n' "$2"
		printf '%s\n' "${@:3}" '}' '}'
	} | in_node "$1" nft -f -
}

no_rules() {
	in_node "$1" nft delete table inet judge
}

# closed NODE HOOK: nothing passes there within a touch.
closed() {
	rules "$1" "$2" "tcp dport 7777 drop" "tcp sport 7777 drop" && ask still
}

opened() {
	no_rules "$1" && ask more
}

# --- conntrack ---------------------------------------------------------------------

track=("ct state established accept" "tcp dport 7777 tcp flags & (syn | ack) == syn accept"
	"tcp dport 7777 drop" "tcp sport 7777 drop")

# Entries last a little longer than a touch, and what has none begins with SYN.
tracked() {
	local n

	for n in 1 2; do
		rules "$n" input "${track[@]}" &&
		in_node "$n" sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 &&
		in_node "$n" sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=5 ||
			return
	done
}

untracked() {
	local n

	for n in 1 2; do
		no_rules "$n" &&
		in_node "$n" sysctl -qw net.netfilter.nf_conntrack_tcp_loose=1 &&
		in_node "$n" sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=432000 ||
			return
	done
}

# They come back to TCP, and its packets pass.
returned() {
	in_node 1 "$build/tools/sdpctl/sdpctl" return -a && ask more
}

# --- routes ------------------------------------------------------------------------

# Another way from node1 to node2, which some packets take
detour() {
	ip link add d1 netns node1 type veth peer d2 netns node2 &&
	ip -n node1 link set d1 up && ip -n node2 link set d2 up &&
	ip -n node1 route add "$to/$length" dev d1 table 7 &&
	ip -n node1 neigh add "$to" dev d1 lladdr "$(in_node 2 cat /sys/class/net/d2/address)" &&
	ip -n node1 ${v6:+"$v6"} rule add to "$to" ipproto tcp dport 7777 lookup 7
}

no_detour() {
	ip -n node1 ${v6:+"$v6"} rule del to "$to" ipproto tcp dport 7777 lookup 7 &&
	ip -n node1 link del d1
}

# --- VRF ---------------------------------------------------------------------------

# into_vrf NAME TABLE: node2's interface, which loses its addresses of IPv6
into_vrf() {
	ip -n node2 link add "$1" type vrf table "$2" && ip -n node2 link set "$1" up &&
	ip -n node2 link set ib0 master "$1" &&
	ip -n node2 addr replace "$to/$mask" dev ib0 ${v6:+nodad}
}

out_of_vrf() {
	ip -n node2 link del "$1" && ip -n node2 addr replace "$to/$mask" dev ib0 ${v6:+nodad}
}

# --- IPsec -------------------------------------------------------------------------

aead=('rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128)

# one_way FROM TO OUT IN: nodes between which it is encrypted
one_way() {
	both xfrm state add src "$1" dst "$2" proto esp spi 257 reqid 1 aead "${aead[@]}" &&
	ip -n "$3" xfrm policy add src "$1" dst "$2" dir out tmpl proto esp reqid 1 &&
	ip -n "$4" xfrm policy add src "$1" dst "$2" dir in tmpl proto esp reqid 1
}

encrypted() {
	one_way "$from" "$to" node1 node2 && one_way "$to" "$from" node2 node1
}

not_encrypted() {
	both xfrm policy flush && both xfrm state flush
}

# on_fabric COMMAND...: what is on the fabric meanwhile: "ESP", and "clear" if there is any TCP, or
# a message of a reliable connection
on_fabric() {
	local capture=/tmp/fabric.$$

	cat /sys/kernel/debug/softib/capture > "$capture" &
	until_true 10 [ -s "$capture" ] && "$@" || return
	kill $! && wait $! 2> /dev/null
	python3 - "$capture" <<-'EOP'
		import struct, sys

		seen = set()
		data = open(sys.argv[1], "rb").read()
		at = 24
		while at + 16 <= len(data):
		    n = struct.unpack_from("<I", data, at + 8)[0]
		    # Behind the header of ERF
		    p = data[at + 32:at + 16 + n]
		    at += 16 + n
		    bth = 48 if p[1] & 3 == 3 else 8
		    if len(p) < bth + 12:
		        continue
		    ud = bth + 20
		    ether = p[ud:ud + 2]
		    if p[bth] < 0x20:
		        seen.add("clear")
		    elif p[bth] == 0x64 and ether in (b"\x08\x00", b"\x86\xdd"):
		        proto = p[ud + 4 + (9 if ether == b"\x08\x00" else 6)]
		        seen.add({6: "clear", 50: "ESP"}.get(proto, "other"))
		seen.discard("other")
		print(*sorted(seen))
	EOP
	rm "$capture"
}

seen() {
	local what

	what=$(on_fabric "${@:2}") && [ "$what" = "$1" ] || { echo "seen: $what"; return 1; }
}

# --- addresses ---------------------------------------------------------------------

# A third node, on node2's port
third() {
	ip netns add third && ip -n third link set lo up &&
	ip -n node2 link add link ib0 name t0 type ipoib pkey 0xffff &&
	ip -n node2 link set t0 netns third && ip -n third link set t0 up
}

# address_moves FROM DEVICE TO DEVICE: node2's address
address_moves() {
	ip -n "$1" addr del "$to/$mask" dev "$2" &&
	ip -n "$3" addr add "$to/$mask" dev "$4" ${v6:+nodad} &&
	ip -n node1 neigh flush dev ib0
}

# As with TCP: the node that has the address now knows nothing of the connection.
reset_by_third() {
	address_moves node2 ib0 third t0 && ask errors a && echo "$line"
}

reset_like_tcp() {
	local tcp joined

	begin -n 1 -m 3 && ask by tcp && tcp=$(reset_by_third) && leave &&
	address_moves third t0 node2 ib0 || return
	begin -n 1 && by_ib && joined=$(reset_by_third) && leave &&
	address_moves third t0 node2 ib0 || return
	diag "$tcp" >&"$out"
	[ "$tcp" = "$joined" ] || { echo "TCP: $tcp; joined: $joined"; return 1; }
}

# --- loss --------------------------------------------------------------------------

# losing PPM: of what goes to and from node2
losing() {
	fault a loss "$1" && fault b loss "$1"
}

plan 40
check "only InfiniBand" only_ib
check "a touch each second" all_nodes touch 1
begin -n 2 -b 4096
result $? "connections"
check "by InfiniBand" by_ib

for n in 1 2; do
	for hook in input output; do
		check "node$n's firewall closes its $hook" closed "$n" "$hook"
		check "and opens it" opened "$n"
	done
done
check "by InfiniBand again" by_ib
check "another way" detour
check "a rule leads there: by TCP" ask by tcp
check "and it goes on" ask more
check "the way goes" no_detour
check "by InfiniBand again" by_ib
check "bytes go in the clear" seen clear ask more
check "all is to be encrypted" encrypted
check "and is" ask by tcp
check "nothing goes in the clear from then on" seen ESP eval 'nap 5; ask more'
check "nothing is to be" not_encrypted
check "by InfiniBand again" by_ib

check "one packet in a hundred is lost" losing 10000
check "by InfiniBand" eval 'nap 20; by_ib'
check "none is lost" losing 0
check "all bytes are right" ask end
leave

check "conntrack, which forgets" tracked
begin -n 2 -b 4096
result $? "connections through it"
check "by InfiniBand" by_ib
nap 30
check "its entries are alive: TCP's packets pass" returned
check "the rules go" untracked
leave
check "node2's interface is in a VRF" into_vrf red 9
begin -n 2 -b 4096 -D red
result $? "connections to a server there"
check "by InfiniBand" by_ib
check "all bytes are right" ask end
leave
check "out of the VRF" out_of_vrf red
check "a third node" third
exec {out}>&1
check "an address moves: a reset as with TCP" reset_like_tcp
ip netns del third
all_nodes touch 10
finish
