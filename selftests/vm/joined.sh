#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the first of two machines, the second of which has the kernel's own
# ib_ipoib. In the end it kills the second.

. "$(dirname "$0")/../tap.sh"

tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT

# same TEXT COMMAND...: COMMAND's output is TEXT.
same() {
	local want=$1 output

	shift
	output=$("$@")
	[ "$output" = "$want" ] || { echo "$output"; return 1; }
}

# status N COMMAND...: COMMAND's status is N.
status() {
	local want=$1 status

	shift
	"$@" < /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
	[ "$status" -eq "$want" ] || { echo "status $status"; cat "$tmp/err"; return 1; }
}

bytes() {
	head -c 1000000 "$tmp/random" | machine 2 run cat | cmp - "$tmp/random"
}

# Several at a time; one takes none of the input that waits for it.
concurrent() {
	local pid pids=() failed=0

	machine 2 run sleep 1000 < /dev/zero & pid=$!
	for _ in 1 2 3; do
		bytes & pids+=($!)
	done
	wait "${pids[@]}" || failed=1
	kill "$pid"
	wait "$pid"
	return "$failed"
}

plan 24

# What is run elsewhere.
check "another machine" test "$(< /proc/sys/kernel/random/boot_id)" != \
	"$(machine 2 run cat /proc/sys/kernel/random/boot_id)"
check "in its node" same node2 machine 2 run ip netns identify
check "the first machine, too" same node1 machine 1 run ip netns identify
check "arguments" same $'a b||it\'s|tab\tnewline\nend|' \
	machine 2 run printf '%s|' 'a b' '' "it's" $'tab\tnewline\nend'
# shellcheck disable=SC2016 # for the other machine's shell
check "exit status" status 7 machine 2 run sh -c 'echo out; echo err >&2; exit 7'
check "output and error are two" test "$(< "$tmp/out") $(< "$tmp/err")" = "out err"
check "no such command" status 127 machine 2 run no-such-program
check "no such machine" status 125 machine 3 run true
check "no machine" status 2 machine two run true
check "the command's own machine is not frozen" status 125 machine 1 freeze
head -c 1000000 /dev/urandom > "$tmp/random"
check "input and output, several at a time" concurrent
check "what nobody waits for any more ends" \
	until_true 20 sh -c '! machine 2 run pgrep -x sleep'

# The fabric.
# shellcheck disable=SC2016 # for the machines' shells
check "each machine has its driver" same "ours stock" \
	echo "$VM_IPOIB" "$(machine 2 run sh -c 'echo $VM_IPOIB')"
check "out of the kernel's tree" grep -q O /sys/module/ib_ipoib/taint
check "and in it" same "" machine 2 run cat /sys/module/ib_ipoib/taint
# A node that asks for an address gives up after three seconds.
check "IPv4" until_true 20 ping -q -c 1 -W 5 10.77.0.2
check "IPv6" until_true 20 ping -q -c 1 -W 5 fd77::2
check "the other way" until_true 20 machine 2 run ping -q -c 1 -W 5 node1

# Freeze and thaw.
check "freeze" machine 2 freeze
check "a frozen machine does not answer" status 1 ping -q -c 1 -W 2 node2
check "thaw" machine 2 thaw
check "a thawed machine does" until_true 60 ping -q -c 1 -W 2 node2

# Kill, while it runs something.
mkfifo "$tmp/fifo"
machine 2 run sh -c 'echo here; exec sleep 1000' > "$tmp/fifo" 2> "$tmp/err" & pid=$!
read -r _ < "$tmp/fifo"
machine 2 kill && { wait $pid; [ $? -eq 125 ]; } && grep -q "Host is down" "$tmp/err"
result $? "what runs in a killed machine ends"
check "nothing runs there any more" status 125 machine 2 run true
finish
