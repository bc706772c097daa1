#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Multicast that a queue pair of the program sends (libsdpmcast). Sockets of the kernel, here and
# in the other node, tell what has come: they check what the library has written.

. "$(dirname "$0")/../ipoib/lib.sh"

send=$VM_BUILD/libsdpmcast/examples/send
receive=$VM_BUILD/libsdpmcast/examples/receive
group=239.77.6.1 sa=ff12:401b:ffff::f4d:601
group6=ff05::77:6 sa6=ff12:601b:ffff::77:6
folder=/run/mcast-send

# Prints a line for each datagram: the length, the source, the TTL, the first word and number.
socket_py='
import socket, struct, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
group = socket.inet_pton(family, sys.argv[1])
index = struct.pack("=I", socket.if_nametoindex("ib0"))
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 7300))
if family == socket.AF_INET:
    s.setsockopt(0, 35, group + bytes(4) + index)
    s.setsockopt(0, 12, 1)
    s.setsockopt(0, 49, 0)
else:
    s.setsockopt(41, 20, group + index)
    s.setsockopt(41, 51, 1)
print("ready", flush=True)
while True:
    data, control, flags, source = s.recvmsg(65536, 100)
    ttl = struct.unpack("=i", control[0][2])[0]
    first = data.decode().split("\n")[0]
    print(len(data), source[0], source[1], ttl, first[:30], flush=True)
'

# listen NODE NAME GROUP: a socket of the kernel, which writes what comes to a file
listen() {
	ip netns exec "$1" python3 -c "$socket_py" "$3" > "$folder/$2" 2>&1 &
	echo $! > "$folder/pid.$2"
	until_true 10 grep -q ready "$folder/$2" || { cat "$folder/$2"; return 1; }
}

# begin NAME ARGUMENT...: a sender, whose datagrams come from a pipe. The pipe stays open here,
# so that a write does not wait for a sender that has ended.
begin() {
	local fd

	rm -f "$folder/to.$1" && mkfifo "$folder/to.$1" || return
	exec {fd}<> "$folder/to.$1"
	"$send" ib0 "${@:2}" <&"$fd" > "$folder/said.$1" 2>&1 &
	echo $! > "$folder/pid.$1"
}

told() {
	[ "$(wc -l < "$folder/said.$1")" -gt "$2" ]
}

# value NAME WHAT: what the sender says of itself
value() {
	local before

	before=$(wc -l < "$folder/said.$1")
	echo tell > "$folder/to.$1"
	until_true 10 told "$1" "$before" || { cat "$folder/said.$1"; return 1; }
	tail -n 1 "$folder/said.$1" | tr ' ' '\n' | grep -A 1 -x "$2" | tail -n 1
}

# The switches learn of a member some time after the member knows.
reaches() {
	echo probe > "$folder/to.$1"
	until_true 1 grep -q ' probe$' "$folder/$2"
}

# twenty NAME LISTENER TEXT LINE: each of 20 comes once, as that line says
twenty() {
	local i

	until_true 20 reaches "$1" "$2" || { cat "$folder/$2" "$folder/said.$1"; return 1; }
	for i in $(seq 10 29); do
		echo "$3 $i" > "$folder/to.$1"
	done
	until_true 10 grep -q " $3 29\$" "$folder/$2" || { cat "$folder/$2"; return 1; }
	same "$(grep -c "^$4 $3 [12][0-9]\$" "$folder/$2")" 20 &&
	same "$(grep -c " $3 " "$folder/$2")" 20
}

to_a_socket() {
	listen node2 far $group && begin a 7300 $group 5 && twenty a far one '7 10.77.0.1 7300 5' &&
	same "$(value a way)" 0 && same "$(value a socket)" 0 &&
	[ "$(value a sent)" -ge 21 ]
}

# states: how the group's members have joined: 8 is to send only, 1 is full
states() {
	saquery --smkey 1 -m | awk -v g="MGID[.]*$sa\$" '
		/MGID/ { found = $0 ~ g } found && /ScopeState/ { print substr($0, length) }' |
		sort | xargs
}

sends_only() {
	until_true 10 member $sa 1 && until_true 10 member $sa 2 && same "$(states)" '1 8'
}

not_here() {
	listen node1 near $group && twenty a far two '7 10.77.0.1 7300 5' &&
	same "$(grep -c ' two ' "$folder/near")" 0
}

# The adapter gives the endpoint a copy of what the endpoint has sent, which it drops.
own() {
	begin d 7300 $group 5 0 join && twenty d far own '7 10.77.0.1 7300 5' &&
	same "$(value d came)" 0 && [ "$(value d filtered)" -ge 10 ] && end d
}

# Then the socket sends.
here() {
	begin b 7300 $group 5 1 && twenty b near three '9 10.77.0.1 7300 5' &&
	twenty b far four '8 10.77.0.1 7300 5' && same "$(value b sent)" 0
}

ipv6() {
	listen node2 far6 $group6 && begin c 7300 $group6 9 &&
	twenty c far6 five '8 fd77::1 7300 9' && same "$(value c way)" 0 &&
	same "$(value c socket)" 0 && until_true 10 member $sa6 1
}

large() {
	local before

	before=$(value a socket)
	{ printf 'large '; head -c 8000 /dev/zero | tr '\0' x; echo; } > "$folder/to.a"
	until_true 10 grep -q '^8007 10.77.0.1 7300 5 large' "$folder/far" &&
	same "$(value a socket)" $((before + 1)) && twenty a far six '7 10.77.0.1 7300 5'
}

# One packet of the link holds 2044 bytes of IP, so 2016 of a datagram.
largest() {
	local n before

	for n in 2016 2017; do
		before=$(value a socket)
		{ printf 'exact%d' $n; head -c $((n - 10)) /dev/zero | tr '\0' x; echo; } \
			> "$folder/to.a"
		until_true 10 grep -q "^$n 10.77.0.1 7300 5 exact$n" "$folder/far" &&
		same "$(value a socket)" $((before + n - 2016)) || return
	done
}

# The other node's program receives by its queue pair, and so does this one's own.
pair_reached() {
	echo pair > "$folder/to.a"
	grep -q '^queue-pair 5 pair' "$folder/pair"
}

to_a_queue_pair() {
	local status

	mkfifo "$folder/to.pair" || return
	ip netns exec node2 "$receive" ib0 7300 $group <> "$folder/to.pair" > "$folder/pair" 2>&1 &
	until_true 20 pair_reached
	status=$?
	kill $!
	return $status
}

# wrong ARGUMENT...: such a sender ends with a line
wrong() {
	fails_with "$1" "$send" "${@:2}" < /dev/null
}

refused() {
	wrong 'Invalid argument' ib0 7300 $group 256 && wrong 'Invalid argument' ib0 7300 $group 1 2
}

# Without a queue pair (no InfiniBand there) everything goes by the socket.
by_socket() {
	ip link add name other type dummy && ip addr add 10.78.0.1/24 dev other &&
	ip link set other up multicast on || return
	{ echo x; echo tell; } | "$send" other 7300 $group > "$folder/other" 2>&1
	same "$(< "$folder/other")" 'way 2 sent 0 socket 1 came 0 filtered 0'
}

end() {
	local name

	for name; do
		kill "$(< "$folder/pid.$name")" || return
	done
}

gone() {
	until_true 10 not member $sa 1 && until_true 10 not member $sa6 1
}

mkdir -p $folder
plan 12
check "a socket of another node receives what the queue pair sends" to_a_socket
check "the subnet administrator has both as members, one to send only" sends_only
check "sockets of this host do not receive it" not_here
check "nor does the endpoint that has sent it" own
check "unless the program wants that" here
check "IPv6" ipv6
check "a large datagram goes by the socket" large
check "the largest in one packet, and one byte more" largest
check "a program receives it by its queue pair" to_a_queue_pair
check "values that cannot be" refused
check "without InfiniBand" by_socket
end a b c near far far6
check "the memberships go with the programs" gone
finish
