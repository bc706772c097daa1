#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Transmit queues: one for each CPU, chosen by the CPU that sends. The kernel's
# driver has one.

. "$(dirname "$0")/lib.sh"

cpus=$(nproc)
ours || cpus=1
group=239.1.2.3
trace=/sys/kernel/tracing
event=$trace/events/net/net_dev_start_xmit
mountpoint -q $trace || mount -t tracefs tracefs $trace

# channels PART: how many transmit queues ethtool shows as maximum or in use.
channels() {
	ethtool -l ib0 | awk -v part="$1" '
		/maximums:/ { now = "maximum" } /Current/ { now = "current" }
		$1 == "TX:" && now == part { print $2 }'
}

queues_are() {
	if ours; then
		same "$(channels maximum) $(channels current)" "$1 $2"
	else
		# It has nothing to show them by.
		same "$(tx_queues ib0)" "$1" && unsupported -l ib0
	fi
}

# unsupported ETHTOOL-ARGUMENT...
unsupported() {
	local output

	output=$(ethtool "$@" 2>&1) && { echo "not refused"; return 1; }
	[[ $output == *"Operation not supported"* ]] || { echo "$output"; return 1; }
}

# Datagrams that nobody takes
twenty='
import socket, time
for i in range(20):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(bytes(777), ("10.77.0.2", 9))
    time.sleep(0.01)
'

# by_cpu CPU QUEUE: what that CPU sends goes through that queue, counted from 0.
by_cpu() {
	local n

	no_loss -q -c 1 10.77.0.2 || return
	echo > $trace/trace
	echo "name == \"ib0\"" > $event/filter
	echo 1 > $event/enable
	taskset -c "$1" python3 -c "$twenty" || return
	echo 0 > $event/enable
	# The CPU that gets the queue's lock sends them; the test knows them by their length.
	awk -v len=$((777 + 28)) 'match($0, / len=[0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) - len
			if (n >= 0 && n <= 44) print }' $trace/trace > /tmp/queues.sent
	n=$(grep -c " queue_mapping=$2 " /tmp/queues.sent)
	echo "$n of $(wc -l < /tmp/queues.sent) by queue $2"
	[ "$n" -ge 20 ] && same "$n" "$(wc -l < /tmp/queues.sent)" ||
		{ cat $trace/trace; return 1; }
}

each_cpu_its_own() {
	local cpu

	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		by_cpu "$cpu" $((cpu % cpus)) || return
	done
}

# pings NODE N
pings() {
	local output

	output=$(ping -q -W 10 -c "$2" -i 0.005 "10.77.0.$1")
	echo "$output"
	[[ $output == *" received"* && $output != *duplicates* ]]
}

# Two CPUs send small packets, and a TCP connection large ones: never as many as
# there are receive buffers, or a CPU that is slow to empty them loses some. None is
# lost, of fifty one by the kernel's own driver where the machine has much else to do;
# ping itself does not wait for all.
all_at_once() {
	local pids=() cpu pid n least before

	n=$(fewer 300)
	least=$((2 * n))
	ours || least=$((least - least / 50))
	before=$(replies 0)

	socat -u TCP-LISTEN:4000,reuseaddr,rcvbuf=65536 \
		OPEN:/tmp/queues.in,creat,trunc &
	pids+=($!)
	until_true 10 eval 'ss -Hltn sport = :4000 | grep -q .' || return
	for ((cpu = 0; cpu < 2; cpu++)); do
		pings $((cpu + 2)) "$n" &
		pids+=($!)
		taskset -cp "$cpu" $! > /dev/null
	done
	head -c 4M /dev/urandom > /tmp/queues.out
	on node2 socat -u OPEN:/tmp/queues.out TCP:10.77.0.1:4000 || return
	for pid in "${pids[@]}"; do
		wait "$pid" || return
	done
	cmp /tmp/queues.out /tmp/queues.in && until_true 10 replies $((before + least))
}

# The number may change while packets go.
changes() {
	local pid

	no_loss -q -c "$(fewer 500)" -i 0.01 10.77.0.2 &
	pid=$!
	for _ in $(seq 10); do
		ethtool -L ib0 tx 1 && ethtool -L ib0 tx "$cpus" || return
	done
	wait $pid
}

one_queue() {
	ethtool -L ib0 tx 1 && queues_are "$cpus" 1 && by_cpu 1 0
	local status=$?

	ethtool -L ib0 tx "$cpus" && return $status
}

# burst TIMES: packets of 1000 bytes, which the stack cuts sixteen of at a time from
# a large one
burst() {
	python3 - "$1" <<-EOF
	import socket, sys
	UDP_SEGMENT = 103
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
	for _ in range(int(sys.argv[1])):
	    s.sendto(bytes(16000), ("10.77.0.2", 9))
	EOF
}

passed() {
	[ "$(grep -c net_dev_start_xmit $trace/trace)" -ge "$1" ]
}

# The adapter is told of many packets at once.
batched() {
	local packets posts status

	echo "p:posts rvt_post_send" > $trace/kprobe_events || return
	echo > $trace/trace
	echo "name == \"ib0\"" > $event/filter
	echo 1 > $event/enable && echo 1 > $trace/events/kprobes/posts/enable
	burst 20 && until_true 10 passed 320
	status=$?
	echo 0 > $event/enable
	echo 0 > $trace/events/kprobes/posts/enable
	packets=$(grep -c net_dev_start_xmit $trace/trace)
	posts=$(grep -c ' posts: ' $trace/trace)
	echo > $trace/kprobe_events
	echo "$packets packets, $posts posts"
	[ $status -eq 0 ] && [ $((posts * 4)) -le "$packets" ]
}

# vectors: those of the completion queues that a new child has
vectors() {
	echo "p:vectors rvt_create_cq vector=+4(%si):u32" > $trace/kprobe_events || return
	echo > $trace/trace
	echo 1 > $trace/events/kprobes/vectors/enable
	ip link add link ib0 name spread type ipoib pkey 0xffff && ip link delete spread
	echo 0 > $trace/events/kprobes/vectors/enable
	sed -n 's/.* vectors: .* vector=\([0-9]*\).*/\1/p' $trace/trace
	echo > $trace/kprobe_events
}

# Each CPU has completions to handle, one has as many as another: there is a queue for
# each to send, and one to receive. The adapter has a vector for each.
spread() {
	vectors > /tmp/queues.vectors
	sort /tmp/queues.vectors | uniq -c | awk -v cpus="$(nproc)" '
		{ print; n += $1; least = !least || $1 < least ? $1 : least
		  most = $1 > most ? $1 : most }
		END { exit !(NR == cpus && n == cpus + 1 && most - least <= 1) }'
}

# refused COUNT
refused() {
	local output

	output=$(ethtool -L ib0 tx "$1" 2>&1) && { echo "not refused"; return 1; }
	echo "$output"
	same "$(channels current)" "$cpus"
}

bad_numbers() {
	refused 0 && refused $((cpus + 1))
}

came_back() {
	! ours || [ "$(counter rx_own_multicast)" -ge "$1" ]
}

# A member of the group that it sends to gets its packet once, by the stack,
# and not again from the fabric, whichever queue pair sent it.
own_multicast() {
	local cpu before=0

	! ours || before=$(counter rx_own_multicast)
	socat -u UDP-RECV:4001,ip-add-membership=$group:ib0,reuseaddr \
		OPEN:/tmp/queues.group,creat,trunc > /dev/null 2>&1 &
	until_true 10 eval "ip maddr show dev ib0 | grep -q $group" || return
	for ((cpu = 0; cpu < 2; cpu++)); do
		echo "cpu $cpu" | taskset -c "$cpu" socat -u - \
			UDP-SENDTO:$group:4001,ip-multicast-if=10.77.0.1 || return
	done
	until_true 10 came_back $((before + 2)) &&
	until_true 10 grep -q "cpu 1" /tmp/queues.group || return
	kill %%
	wait
	same "$(sort /tmp/queues.group)" $'cpu 0\ncpu 1'
}

tx_queues() {
	find "/sys/class/net/$1/queues" -name 'tx-*' | wc -l
}

child_queues() {
	local n

	ip link add link ib0 name many type ipoib pkey 0xffff &&
	ip link add link ib0 name few numtxqueues 1 type ipoib pkey 0xffff || return
	n="$(tx_queues many) $(tx_queues few)"
	ip link delete many && ip link delete few && same "$n" "$cpus 1"
}

# The kernel's driver has no batches.
plan $((6 + $(ours && echo 4 || echo 0)))
no_loss -q -c 1 10.77.0.2 > /dev/null
check "one transmit queue for each CPU" queues_are "$cpus" "$cpus"
check "what a CPU sends goes through its queue" each_cpu_its_own
check "two CPUs and TCP at once, none lost" all_at_once
if ours; then
	check "one doorbell for many packets" batched
	check "completions are spread over the CPUs" spread
fi
if ours; then
	check "fewer queues by ethtool" one_queue
	check "numbers that there are not are refused" bad_numbers
	check "changed under way, none lost" changes
else
	check "their number is fixed" unsupported -L ib0 tx 1
fi
check "own multicast does not come back" own_multicast
check "a child's queues, and as many as asked for" child_queues
finish
