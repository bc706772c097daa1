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
