#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Allocations and verbs calls that fail where no program is that could be told: in
# softirqs (completions, packets), and in the kernel's workers (connection management,
# answers of the subnet administrator, the modules' own work). What is under way may
# come to nothing; afterwards everything works, and nothing is left.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
programs=${BUILD:-$folder/../../build}/selftests/wire
debug=/sys/kernel/debug
faults=("$debug/failslab" "$debug/fail_page_alloc" "$debug/softib/fail_verbs")
port=7000 most=1000000 failures=0
rounds=${ROUNDS:-8}

# set WHERE NAME=VALUE...
set_fault() {
	local where=$1 word

	shift
	for word; do
		echo "${word#*=}" > "$where/${word%%=*}" || return
	done
}

on() {
	ip netns exec "$@"
}

# direct 0|1: sockets of family 27 are direct SDP's, which remembers no failed path.
direct() {
	on node1 sysctl -qw net.sdp.direct="$1" && on node2 sysctl -qw net.sdp.direct="$1"
}

leave_it() {
	kill "$server"
	direct 0
} 2> /dev/null

serve() {
	"$programs/sdp_end" echo $port > /tmp/server 2>&1 &
	server=$!
	until_true 10 grep -q listening /tmp/server
}

# mode NAME: of both interfaces
mode() {
	echo "$1" > /sys/class/net/ib0/mode &&
		on node2 sh -c "echo $1 > /sys/class/net/ib0/mode"
}

# All that the modules do: the link goes down and up, groups are joined, paths and
# connections found anew, bytes go by each. Each is tried, whatever became of the rest.
goes() {
	ip -n node2 link set ib0 down
	ip -n node2 link set ib0 up
	ping -q -A -c 8 -w 2 10.77.0.2
	ping -q -c 3 -i 0.1 -w 2 -s 20000 10.77.0.2
	timeout 4 ip netns exec node2 "$programs/sdp_end" send 10.77.0.1 "$port" 60000 20000
}

# Small packets, large ones, and 60 KB over SDP that come back
works() {
	ping -q -A -c 3 -w 4 10.77.0.2 &&
		ping -q -c 2 -i 0.1 -w 4 -s 20000 10.77.0.2 &&
		timeout 60 ip netns exec node2 \
			"$programs/sdp_end" send 10.77.0.1 "$port" 60000 20000
}

# After what failed: whoever is up works, once what is tried again was tried.
recovers() {
	kill -0 "$server" || serve
	ip -n node1 link set ib0 up && ip -n node2 link set ib0 up && until_true 60 works
}

# none: nothing fails any more. Adds up how often it did.
none() {
	local where left

	for where in "${faults[@]}"; do
		echo 0 > "$where/probability"
		left=$(< "$where/times")
		failures=$((failures + most - left))
		echo "$most" > "$where/times"
	done
}

# every INTERVAL FOLDER: each INTERVALth of its calls fails, while all goes on
every() {
	set_fault "$2" interval="$1" probability=100
	goes > /dev/null 2>&1
	none
	recovers > /tmp/recovers 2>&1 || { echo "not after $*"; cat /tmp/recovers; return 1; }
}

# each FOLDER INTERVAL...: in both modes. A caller that may not sleep is mostly in a softirq.
each() {
	local where=$1 interval kind

	shift
	for kind in datagram connected; do
		mode "$kind" || return
		for interval; do
			every "$interval" "$where" || { echo "$kind"; return 1; }
		done
	done
}

workers() {
	local file

	for file in $(pgrep kworker); do
		echo "/proc/$file/task/$file/fail-nth"
	done
}

# nth N: the Nth of each worker's calls fails.
nth() {
	local file n

	for file in $(workers); do
		echo "$1" 2> /dev/null > "$file"
	done
	goes > /dev/null 2>&1
	for file in $(workers); do
		n=$(cat "$file" 2> /dev/null)
		echo 0 2> /dev/null > "$file"
		[ "${n:-$1}" -eq "$1" ] || echo "$n"
	done > /tmp/left
	failures=$((failures + $(grep -c '^0$' /tmp/left)))
	recovers > /tmp/recovers 2>&1 || { echo "not after $1"; cat /tmp/recovers; return 1; }
}

all_nth() {
	local n

	for ((n = 1; n <= rounds; n++)); do
		mode "$([ $((n % 2)) -eq 0 ] && echo datagram || echo connected)" && nth "$n" ||
			return
	done
}

# told NAME COMMAND...: a result, and of how many failures it is that
told() {
	local name=$1

	shift
	failures=0
	tap_output=$("$@"; status=$?; echo "$failures" > /tmp/failures; exit $status)
	tap_status=$?
	failures=$(< /tmp/failures)
	echo "# $name: $failures failures"
	[ $tap_status -eq 0 ] || diag "$tap_output"
	[ $tap_status -eq 0 ] && [ "$failures" -ge 20 ]
	result $? "$name"
}

# Those of users in the kernel, in datagram mode
qps() {
	rdma resource show qp | awk '{ print $2, $0 ~ /type RC/ }' | sort | uniq -c
}

qps_back() {
	[ "$(qps)" = "$before" ]
}

plan 8
for where in "${faults[@]}"; do
	set_fault "$where" verbose=0 times=$most
done
set_fault "$debug/fail_page_alloc" min-order=0
direct 1 || exit
trap leave_it EXIT
serve
mode datagram
check "all works" recovers
before=$(qps)
# Smaller intervals let no fork() succeed, and a shell that is the first process ends.
told "memory, in softirqs" each "$debug/failslab" 7
told "pages, in softirqs" each "$debug/fail_page_alloc" 5
told "verbs calls" each "$debug/softib/fail_verbs" 5 23
set_fault "$debug/failslab" ignore-gfp-wait=N
set_fault "$debug/fail_page_alloc" ignore-gfp-wait=N
echo Y > "$debug/softib/fail_verbs/nth"
told "all of them, in workers" all_nth
echo N > "$debug/softib/fail_verbs/nth"
mode datagram
check "all works again" recovers
check "no queue pair is left" until_true 120 qps_back
check "the server still runs" kill -0 "$server"
finish
