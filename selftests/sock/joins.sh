#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# When a peer is asked for a carrier, and when not.  Each row has a namespace of its own, and so
# nothing is remembered from the one before.

. "$(dirname "$0")/sock.sh"
. "$(dirname "$0")/messages.sh"

# In the order of enum sdp_refusal.
later=0 no_service=1 never=3 unreachable=5

# begin [SETTING=VALUE...] -- ARGUMENT...: connections, in a namespace with these settings; by
# nothing but this carrier if they do not say otherwise
begin() {
	local settings=(carriers=test)

	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	asked=0
	# shellcheck disable=SC2016,SC2086,SC2093 # for that shell; it has the number of this one
	coproc joins {
		exec unshare $user --net bash -c '
			ip link set lo up
			while [ "$1" != -- ]; do
				echo "${1#*=}" > "/proc/sys/net/sdp/${1%%=*}"
				shift
			done
			shift
			exec $as "$@"' bash "${settings[@]}" -- "$programs/joins" "$@"
	}
	pid=$!
	counts=$pid
	answer
}

# answer: ends that have moved, and why the last one has not
answer() {
	read -r -t $((20 * tap_slow)) a b stay <&"${joins[0]}" || a=none b=none stay=none
}

# turn [?]: all connections carry something; with "?" they only tell
turn() {
	echo "$1" >&"${joins[1]}"
	answer
}

end() {
	local to=${joins[1]}

	exec {to}>&-
	wait "$pid"
}

# host COMMAND...: in the namespace that the machine has from the beginning
export user='' as=''
host() {
	nsenter --net=/proc/1/ns/net "$@"
}

# not_avoided USER...: a connection of each of them was asked for, but for two at most: owners share
# what few may ask if their hashes are the same.
not_avoided() {
	local user other avoided=0

	for user; do
		other=$(echo | nsenter --net=/proc/"$pid"/ns/net setpriv --reuid "$user" \
			--clear-groups "$programs/joins" -r 20 1 | head -n 1)
		echo "user $user: $other"
		[ -n "$other" ] || return
		[[ "$other" != *avoid ]] || avoided=$((avoided + 1))
	done
	[ "$avoided" -le 2 ]
}

# asks LEAST MOST: how often somebody has asked since the beginning of the row
asks() {
	local count=$(($(counted carrier_asked) - asked))

	echo "asked $count times, moved $a, $b, $stay"
	[ "$count" -ge "$1" ] && [ "$count" -le "$2" ]
}

# where A B: as many have moved
where() {
	echo "moved: $a, $b, $stay"
	[ "$a" = "$1" ] && [ "$b" = "$2" ]
}

# there A B: a turn, and as many have moved
there() {
	turn
	where "$1" "$2"
}

# said WHY: the reason
said() {
	echo "stays because of $stay"
	[ "$stay" = "$1" ]
}

no_carriers() {
	[ "$(counted links)" = 0 ]
}

# brought_back FD MOST: bytes for each touch
brought_back() {
	local bytes

	read -r bytes <&"$1"
	echo "$bytes bytes"
	[ "$bytes" -gt 0 ] && [ "$bytes" -lt "$2" ]
}

# for_a_while SECONDS: turns, five a second at most
for_a_while() {
	local end=$((SECONDS + $1))

	while [ $SECONDS -lt $end ]; do
		turn
		sleep 0.2
	done
}

plan 54
check "a machine" start
check "a carrier" insmod "$module"

with refuse=1 why=$no_service
begin -- 20
check "a host without the service is asked once" asks 1 3
check "and is avoided" said avoid
end
with why=$never
begin -- -r 200 3
check "a connection that is refused for good asks once" asks 3 3
check "and its peer is the reason" said peer
end
with why=$later
begin -- -r 200 1
check "one that is refused for now asks again" asks 2 8
end
begin -- -r 200 -o a 1
check "but not before it has heard something" asks 1 1
end

with why=$unreachable
begin -- 20
check "a path that has failed is not tried at once" asks 1 3
check "and is avoided by all" said avoid
for_a_while 8
check "it is tried after pauses that double" asks 3 6
with refuse=0
until_true 20 there 20 20
check "and again used when it is there" where 20 20
end
with refuse=1
begin -- 1
for_a_while 9
with refuse=0 changed=1
for_a_while 3
check "or at once, where the carrier says that something has changed" where 1 1
end

refused=$(counted refused)
with tries=0
begin -- -u -r 10 10
check "sockets that are in use all the time are asked" asks 10 10
check "and answer with the next call that ends" test "$(counted refused)" = "$refused"
with tries=200
end

begin joins=2 -- 14
check "so many ask in a second and no more" asks 2 10
check "others may later" said avoid
until_true 20 there 14 14
check "all have moved at last" where 14 14
check "each has asked once" asks 14 14
end

as='setpriv --reuid 1001 --clear-groups'
begin joins=4 -- -r 5 150
as=
# They go on while the other user's asks.
for ((i = 0; i < 300; i++)); do
	echo >&"${joins[1]}"
done
check "one user's connections wait" said avoid
check "and do not keep other users' waiting" not_avoided 1002 1003 1004 1005 1006 1007
kill "$pid"
end

user='--user --map-root-user'
host sysctl -qw net.sdp.joins=2 net.sdp.idle=1
begin joins=0 idle=0 -- 14
check "a user's own namespace gets no more than the host's" asks 2 10
until_true 20 there 14 14
check "nor do its carriers stay for longer" until_true 10 no_carriers
end
host sysctl -qw net.sdp.joins=200 net.sdp.idle=30
user=

begin -- 1
until_true 5 there 1 1
check "a connection has moved" where 1 1
lost=0
for ((i = 0; i < 15; i++)); do
	with kill=1 where=1
	turn
	until_true 5 there 1 1 || break
	lost=$((lost + 1))
done
check "and again, however often its carrier is lost" test $lost = 15
end
begin -- -o b 1
until_true 5 there 0 1
with kill=1 where=1
turn
until_true 5 there 0 1
check "so has one whose end that asks only receives" where 0 1
end

begin -- 40
until_true 5 there 40 40
check "many have moved" where 40 40
with broken=1
turn
asked=$(counted carrier_asked)
for_a_while 3
check "all of their path's carriers are lost" where 0 0
check "one at a time asks again" asks 1 3
with broken=0
until_true 20 there 40 40
check "all have moved when the path is there again" where 40 40
end

begin idle=2 -- -r 3 3
until_true 5 there 3 3
check "connections have moved" where 3 3
turn
turn
check "their carriers go when they are idle" until_true 10 no_carriers
turn '?'
check "and they say so" said idle
asked=$(counted carrier_asked)
turn
check "the next message asks for others" asks 3 3
until_true 5 there 3 3
check "they move again" where 3 3
end
begin idle=1 -- -r 1 1
until_true 5 there 1 1
asked=$(counted carrier_asked)
for ((i = 0; i < 3; i++)); do
	until_true 10 no_carriers
	turn
done
check "a message now and then asks for none" asks 0 1
end
begin -- 1
until_true 5 there 1 1
# Its work looks again when it would be idle.
sleep 2
with frozen=1
lost=$(counted returned_lost)
turn
check "what waits for an idle carrier does not wait longer" more returned_lost "$lost"
with frozen=0
end

begin -- 1
until_true 5 there 1 1
sleep 1.2
touched=$(counted returned_touch)
nsenter --net=/proc/$pid/ns/net ip route add 192.0.2.0/24 dev lo
turn
check "a new route is a reason to pass by TCP" test $(($(counted returned_touch) - touched)) = 2
until_true 5 there 1 1
check "and it moves again by the same carrier" asks 1 1
sleep 1.2
with fit=0
nsenter --net=/proc/$pid/ns/net ip route add 198.51.100.0/24 dev lo
turn
turn
check "where the packets leave by another device it loses the carrier" where 0 0
check "and says so" more stayed_route 0
with fit=1
until_true 5 there 1 1
check "and gets another when they may" where 1 1
end
begin touch=1 -- -s 4 1
until_true 5 there 1 1
exec {from}<&"${joins[0]}"
end
check "what a touch brings back has not gone before" brought_back "$from" 800000
exec {from}<&-

begin "carriers=local test" -- 1
check "the first of the kinds that are set is used" asks 0 0
check "and moves the connection" where 1 1
end
joined=$(counted joined)
begin "carriers=local test" -- -o a 1
check "an end that looks before the other one asks for the next kind" asks 1 1
until_true 5 there 1 0
check "and moves by the first one" where 1 0
check "as the other end has no carrier for it" test "$(counted joined)" = "$joined"
end
begin carriers=none,local -- 1
check "one that is not there is left out" where 1 1
end
begin carriers=none -- 1
check "one that is not named is not used" where 0 0
check "nor asked" asks 0 0
end
begin carriers= -- 1
check "without a setting the order is that of the ranks" asks 1 1
end

check "nothing holds the carrier" rmmod sdp_carrier_test
check "nothing holds the module" until_true 5 unused
finish
