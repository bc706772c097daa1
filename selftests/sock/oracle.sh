#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The oracle programs of selftests/lib, which write down what their socket calls gave: over
# TCP first, then the same programs where every socket gets the ULP and moves at its first
# call, and some of them once more with rings from the first call on.  Each line is a test: it must
# read the same.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
build=${BUILD:-$root/build}
module=$build/$KERNEL/sdpdev/sdpdev.ko
library=$build/libsdpdev/libsdprings.so
work=$(mktemp -d)

# family address server's namespace, client's
places=('IPv4 10.78.0.2 left right' 'IPv6 fd78::2 left right' 'mapped ::ffff:10.78.0.2 left right'
	'loopback 127.0.0.1' 'rings 10.78.0.2 left right' '32-bit 10.78.0.2 left right')

# programs FAMILY: those to run
programs() {
	case $1 in
	IPv4)		echo names stream ends keep files urgent options events control again \
				every defer woken ports waits busy limit pointers ;;
	mapped|IPv6)	echo names stream ends keep ;;
	loopback)	echo stream ends woken ;;
	rings)		echo stream ends keep files urgent options events control again every \
				defer woken waits busy limit ;;
	32-bit)		echo stream options control ;;
	esac
}

veth() {
	ip netns add left && ip netns add right &&
	ip -n left link add veth0 type veth peer name veth0 netns right &&
	ip -n left address add 10.78.0.2/24 dev veth0 &&
	ip -n right address add 10.78.0.1/24 dev veth0 &&
	ip -n left address add fd78::2/64 dev veth0 nodad &&
	ip -n right address add fd78::1/64 dev veth0 nodad &&
	ip -n left link set lo up && ip -n right link set lo up &&
	ip -n left link set veth0 up && ip -n right link set veth0 up &&
	until_true 10 ip netns exec right ping -q -c 1 -W 1 fd78::2 > /dev/null
}

# What has connections that carry more than a message or two.
long='stream keep files options events control again defer waits busy limit'

# same WANT GOT: but for the option that tells of the ULP, which is there
same() {
	[ "$1" = "$2" ] || [[ $1 == 'IPPROTO_TCP 31:'* && $2 == 'IPPROTO_TCP 31:'* ]]
}

# attach 0|1: what every socket of all namespaces gets
attach() {
	local ns

	for ns in '' left right; do
		${ns:+ip netns exec $ns} sysctl -q -w net.sdp.attach="$1" net.sdp.move_messages=0
	done
}

# transcript FAMILY NAME OUTPUT ADDRESS...
transcript() {
	local folder='' rings=()

	[ "$1" != 32-bit ] || folder=32/
	[ "$1" != rings ] || rings=(env SDPDEV_RINGS=always LD_PRELOAD="$library")
	"${rings[@]}" "$build/selftests/lib/${folder}oracle/$2" "${@:4}" > "$3" 2> "$3.err"
}

moved() {
	awk '$1 == "moved" { print $2 }' /proc/net/sdp/snmp
}

ip link set lo up
veth || bail 'no veth'
insmod "$module" || bail 'sdpdev does not load'

runs=()
total=0
for place in "${places[@]}"; do
	read -r family address server client <<< "$place"
	for name in $(programs "$family"); do
		# The checked kernel runs no programs for i386.
		[ "$family" != 32-bit ] || [ "$KERNEL" != debug ] || continue
		# shellcheck disable=SC2086 # none, or one
		transcript "$family" "$name" "$work/$family.$name.tcp" "$address" $server $client ||
			bail "$name over TCP and $family: $(tail -n 1 "$work/$family.$name.tcp")"
		runs+=("$name $place")
		total=$((total + $(wc -l < "$work/$family.$name.tcp")))
		[[ " $long " != *" $name "* ]] || total=$((total + 1))
	done
done
plan $total

attach 1
for run in "${runs[@]}"; do
	read -r name family address server client <<< "$run"
	before=$(moved)
	# shellcheck disable=SC2086 # none, or one
	transcript "$family" "$name" "$work/sdp" "$address" $server $client
	echo "# $family, $name: exit status $?"
	while IFS= read -r want <&3; do
		IFS= read -r got <&4 || got='(nothing)'
		same "$want" "$got"
		status=$?
		result $status "$family, $name: $want"
		[ $status -eq 0 ] || echo "# got: $got"
	done 3< "$work/$family.$name.tcp" 4< "$work/sdp"
	[[ " $long " == *" $name "* ]] || continue
	[ "$(moved)" -gt "$before" ]
	result $? "$family, $name: connections moved"
done
attach 0
ip netns del left
ip netns del right
until_true 10 rmmod sdpdev
finish
