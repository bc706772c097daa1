# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of the fabric, which load it themselves.

. "$(dirname "$0")/../tap.sh"

# What the test files use.
# shellcheck disable=SC2034
{
module=$BUILD/$KERNEL/tools/softib/softib.ko
programs=$BUILD/selftests/softib
hcas=/sys/class/infiniband
parameters=/sys/module/softib/parameters
debug=/sys/kernel/debug/softib
conf=/sys/kernel/config/softib
}

mountpoint -q /sys/kernel/debug ||
	mount -t debugfs debugfs /sys/kernel/debug || exit
ip link set lo up
modprobe -a ib_umad ib_uverbs rdmavt configfs udp_tunnel ip6_udp_tunnel || exit
# What needs it fails without.
modprobe -q rdma_ucm
mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit

# all_active N: the ports of N HCAs are up.
all_active() {
	local file state n=0

	for file in "$hcas"/softib*/ports/1/state; do
		[ -e "$file" ] && read -r state < "$file" && [ "$state" = "4: ACTIVE" ] &&
			n=$((n + 1))
	done
	[ $n -eq "$1" ]
}

# up N [PARAMETER...]: a fabric of N HCAs, managed.
up() {
	local n=$1

	shift
	# shellcheck disable=SC2119 # it needs no options
	insmod "$module" hcas="$n" "$@" &&
	manage &&
	until_true 60 all_active "$n"
}

# manage [OPTION...]: opensm, on the first HCA unless told otherwise. It looks
# at the fabric only when it is told of a change.
# shellcheck disable=SC2120 # others have some
manage() {
	opensm -B -f /tmp/opensm.log -s 0 "$@" > /dev/null
}

# unmanage: as if the node it runs on had crashed.
unmanage() {
	pkill -KILL -x opensm
	until_true 20 not pgrep -x opensm > /dev/null
}

# add_hca NAME, add_switch NAME PORTS, add_link NAME NODE/PORT NODE/PORT: to the
# fabric, by way of configfs.
add_hca() {
	mkdir "$conf/hcas/$1" && echo 1 > "$conf/hcas/$1/enable"
}

add_switch() {
	mkdir "$conf/switches/$1" && echo "$2" > "$conf/switches/$1/ports" &&
	echo 1 > "$conf/switches/$1/enable"
}

add_link() {
	mkdir "$conf/links/$1" && echo "$2" > "$conf/links/$1/a/port" &&
	echo "$3" > "$conf/links/$1/b/port" && echo 1 > "$conf/links/$1/enable"
}

# remove_all: everything that was added.
remove_all() {
	local dir

	for dir in "$conf"/{hcas,links,switches}/*/; do
		[ ! -d "$dir" ] || rmdir "$dir" || return
	done
}

# port_is HCA STATE
port_is() {
	local state

	read -r state < "$hcas/$1/ports/1/state" && [ "${state#*: }" = "$2" ]
}

down() {
	pkill -x opensm
	until_true 20 not pgrep -x opensm > /dev/null
	rmmod softib
}

not() {
	! "$@"
}

# pair PROGRAM [OPTION...]: a server on softib0, the same as client on softib1.
pair() {
	local server status

	timeout $((100 * tap_slow)) "$1" -d softib0 "${@:2}" > /tmp/server 2>&1 &
	server=$!
	until_true 20 listening ||
		{ cat /tmp/server; kill $server; return 1; }
	timeout $((100 * tap_slow)) "$1" -d softib1 "${@:2}" localhost 2>&1
	status=$?
	wait $server && return $status
	cat /tmp/server
	return 1
}

# These programs' servers listen on the port 18515.
listening() {
	[ -n "$(ss -Hltn sport = :18515)" ]
}

# on_fabric LOSS PROGRAM [ARGUMENT...]: a program that prints its results itself,
# while two HCAs are there that lose so many packets in a million.
on_fabric() {
	local status

	up 2 loss="$1" || return
	"$programs/$2" "${@:3}"
	status=$?
	down && return $status
}
