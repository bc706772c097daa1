# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # for the tests
#
# For tests that spoil the link of node2.

conf=/sys/kernel/config/softib
hcas=/sys/class/infiniband
link=$conf/links/softib1

mountpoint -q /sys/kernel/config ||
	mount -t configfs none /sys/kernel/config || exit

# fault END NAME VALUE: softib1 sends at end a, the switch at end b.
fault() {
	echo "$3" > "$link/$1/$2"
}

# out SECONDS: the cable of node2 is.
out() {
	echo 0 > "$link/up" && nap "$1" && echo 1 > "$link/up"
}

# Seconds after which a path that carries is as good as one that has never failed
GOOD=11

port_active() {
	[ "$(< "$hcas/$1/ports/1/state")" = "4: ACTIVE" ]
}

# ib_device: the IPoIB interface that belongs to no node yet
ib_device() {
	nsenter -t 1 -n ip -o link show type ipoib | sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p' | grep .
}

# node2_back: its new interface is what the old one was.
node2_back() {
	local dev

	until_true 30 ib_device || return
	dev=$(ib_device)
	nsenter -t 1 -n ip link set "$dev" netns node2 name ib0 &&
	ip -n node2 address add 10.77.0.2/24 dev ib0 &&
	ip -n node2 address add fd77::2/64 dev ib0 nodad &&
	ip -n node2 link set ib0 up
}

adapter_goes() {
	echo 0 > "$conf/hcas/softib1/enable" && [ ! -e "$hcas/softib1" ]
}

adapter_comes() {
	echo 1 > "$conf/hcas/softib1/enable" && echo 1 > "$link/enable" &&
	until_true 30 port_active softib1 && node2_back
}
