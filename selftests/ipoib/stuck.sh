#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sending that comes to a stop: packets that no adapter takes, one that has no room, a
# peer that nobody has. halt.sh is about one that sends no more, fail/adapter.sh about one
# that does not take what is right.

. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
way=/sys/kernel/config/softib/links/softib0/a
stranger=fe80:0:0:0:0:0:0:99

talks() {
	until_true "$1" ping -q -c 1 -W 1 10.77.0.2 > /dev/null &&
	no_loss -q -c 10 -i 0.05 10.77.0.2
}

known() {
	cat /sys/kernel/debug/ipoib/*_path | grep -qx "GID: $1"
}

# nowhere: what is sent to a peer that there is not fails.
nowhere() {
	ip neigh replace 10.77.0.99 dev ib0 nud permanent \
		lladdr 00:00:00:77:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:99
	ping -q -c 1 -W 0.1 10.77.0.99 > /dev/null
	ip neigh del 10.77.0.99 dev ib0
	known $stranger
}

counted() {
	[ "$(counter "$1")" -gt "$2" ]
}

# Each is dropped; none gets as far as to the adapter, for which the queue pair would be
# made anew.
uncut() {
	local bad failed n

	! ours || { bad=$(counter tx_bad_frame) failed=$(counter tx_post_failed); }
	n=$("$here/gso.py" "$(lladdr node2)" 10.77.0.1 10.77.0.2) && talks 20 || return
	! ours || same "$n 0" \
		"$(($(counter tx_bad_frame) - bad)) $(($(counter tx_post_failed) - failed))"
}

# packets N ADDRESS: so many at once
packets() {
	head -c $(($1 * 1000)) /dev/zero | socat -u -b 1000 - "UDP4:$2:7009"
}

# Paths are asked for while as much is sent as the adapter takes.
asked() {
	local n

	for n in {1..6}; do
		packets 2000 10.77.0.2 &
	done
	for n in 3 4; do
		ip neigh replace 10.77.0.$n dev ib0 lladdr "$(lladdr node$n)" nud permanent &&
		packets 64 10.77.0.$n || return
	done
	until_true 2 counted tx_ring_full "$1"
	pkill -x socat
	wait
	ip link set ib0 down && address_up node1 1 && until_true 20 carrier && talks 20
} 2> /dev/null

# least BYTES: so many may be in the ring, however long they take. By itself the limit
# would stay as high after that.
least() {
	local limit

	for limit in /sys/class/net/ib0/queues/tx-*/byte_queue_limits/limit{_min,}; do
		echo "$1" > "$limit"
	done
}

# Those who have waited find no room in the ring. It is not to be kept short for what
# takes a while in the fabric.
full() {
	local before status

	least 1000000
	echo 500000 > $way/delay
	before=$(counter tx_ring_full)
	until_true 60 overtaken "$before"
	status=$?
	echo 0 > $way/delay
	least 0
	return $status
}

overtaken() {
	asked "$1"
	counted tx_ring_full "$1"
}

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit
if ours; then plan 5; else plan 3; fi
check "traffic" talks 20
check "a peer that there is not" nowhere
check "large packets that none can cut, and then others" uncut
if ours; then
	check "no room for those who have waited" full
	check "for others there is" talks 20
fi
finish
