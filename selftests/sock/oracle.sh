#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of it see what they see on TCP where every connection is in memory,
# and some of them once more with rings from the first call on.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../lib/oracle/compare.sh"

module=$build/$KERNEL/sdpdev/sdpdev.ko
namespaces=('' left right)
long='stream keep files options events control again defer waits busy limit'
places=('IPv4 10.77.0.2 left right' 'IPv6 fd77::2 left right' 'mapped ::ffff:10.77.0.2 left right'
	'loopback 127.0.0.1' 'rings 10.77.0.2 left right' '32-bit 10.77.0.2 left right')

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

runner() {
	[ "$1" != rings ] ||
		echo "env SDPDEV_RINGS=always LD_PRELOAD=$build/libsdpdev/libsdprings.so"
}

veth() {
	ip netns add left && ip netns add right &&
	ip -n left link add veth0 type veth peer name veth0 netns right &&
	ip -n left address add 10.77.0.2/24 dev veth0 &&
	ip -n right address add 10.77.0.1/24 dev veth0 &&
	ip -n left address add fd77::2/64 dev veth0 nodad &&
	ip -n right address add fd77::1/64 dev veth0 nodad &&
	ip -n left link set lo up && ip -n right link set lo up &&
	ip -n left link set veth0 up && ip -n right link set veth0 up &&
	until_true 10 ip netns exec right ping -q -c 1 -W 1 fd77::2 > /dev/null
}

ip link set lo up
veth || bail 'no veth'
insmod "$module" || bail 'sdpdev does not load'
transcribe "${places[@]}"
compare
ip netns del left
ip netns del right
until_true 10 rmmod sdpdev
finish
