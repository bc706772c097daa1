#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Calls that few programs make, under sdprun --mcast, and what a line has to say.

. "$(dirname "$0")/lib.sh"

calls=$VM_BUILD/selftests/mcast/calls

# calls NAME HOW: with a socket that is bound to the group
calls() {
	begin "$1" "$calls" "$2" 7400 $group && until_true 20 started "$1" ||
		{ cat "$folder/$1"; return 1; }
}

receives() {
	calls a "$1" && offloaded a && twenty a "$1" && end a
}

# What recvmsg(2) says of control data for which there is no room
little() {
	calls a little && offloaded a && calls kernel little && until_true 10 shows attached yes &&
	until_true 30 reached a && until_true 30 reached kernel && send same 16 &&
	until_true 10 started a ' same 16$' && until_true 10 started kernel ' same 16$' || return
	same "$(grep ' same ' $folder/a)" "$(grep ' same ' $folder/kernel)" && end a kernel
}

# remains WORD: the queue pair goes on
remains() {
	calls a poll && offloaded a && command_of a "$1" && twenty a behind &&
	shows attached no && ! logged a 'by the kernel' && end a
}

# returns WORD REASON: then the kernel receives
returns() {
	calls a poll && offloaded a && twenty a before && command_of a "$1" &&
	by_kernel a "$2" && twenty a behind && end a
}

# executed WORD: the next program has the socket, which the kernel receives
executed() {
	calls a poll && offloaded a && twenty a before && echo "$1" > $folder/to.a &&
	until_true 20 started a 'done exec' && by_kernel a 'executes another' &&
	twenty a behind && end a
}

executes() {
	local how

	for how; do
		executed "$how" || { echo "$how"; return 1; }
	done
}

# Only its peer then, as with the kernel; and all again behind that.
connected() {
	local name

	calls a poll && offloaded a && calls kernel poll && until_true 10 shows attached yes &&
	until_true 30 reached a && until_true 30 reached kernel || return
	for name in a kernel; do
		command_of $name connect || return
	done
	send foreign 5 && for name in a kernel; do
		command_of $name disconnect || return
	done
	send mine 5 && for name in a kernel; do
		until_true 10 started $name ' mine 5$' &&
		same "$(grep -c foreign $folder/$name)" 0 &&
		same "$(grep -c mine $folder/$name)" 5 || return
	done
	end a kernel
}

# Nothing reads them before the program forks.
lost() {
	calls a poll && offloaded a && command_of a hold && calls b poll && offloaded b &&
	until_true 30 reached b && send held 7 &&
	until_true 10 started b ' held 7$' && command_of a fork &&
	by_kernel a forks &&
	logged a "are lost: $(grep -cE ' (held|probe) ' $folder/b)\$" && end a b
}

# told WORD REASON: of a socket that was never served
told() {
	calls a poll && offloaded a && command_of a "$1" &&
	until_true 10 logged a "by the kernel: $2" && end a
}

untold() {
	local only="=239.78.0.0/16"

	calls a poll && command_of a high && not test -e $folder/log.a && end a
}

only_ports() {
	local ports=7402-7500

	python a poll 7401,7402 $group && until_true 20 logged a 'by the queue pair' &&
	until_true 10 shows attached yes && twenty a one $group 7401 && twenty a two $group 7402 &&
	same "$(grep -c 'by the queue pair' $folder/log.a)" 1 && end a
}

# Each of the library's calls for memory fails once: the datagrams come all the same.
poor() {
	local n

	for n in $(seq 30); do
		POOR=$n LD_PRELOAD=$VM_BUILD/selftests/mcast/poor.so calls a poll &&
		until_true 20 logged a ': by the ' && twenty a "poor$n" || return
		if ! started a '^poor: '; then
			[ "$n" -gt 5 ] && end a
			return
		fi
		logged a 'by the kernel: ' || { echo "$n: no line"; cat $folder/log.a; return 1; }
		end a
	done
	echo "failures do not end"
	return 1
}

plan 15
row "recvmmsg()" receives mmsg
row "threads" receives threads
row "recvmsg() with little room tells what the kernel tells" little
row "vfork() and execl(): the queue pair goes on" remains vfork
row "system(): the queue pair goes on" remains system
row "a connected socket" connected
row "execl(), execlp(), execle(): the kernel receives" executes execl execlp execle
row "execv(), execvp(), execvpe(), execve(): the kernel receives" \
	executes execv execvp execvpe execve
row "execveat(), fexecve(): the kernel receives" executes execveat fexecve
row "sendmmsg() passes the socket: the kernel receives" returns pass 'two descriptors'
row "datagrams that fork() loses are told" lost
row "a descriptor with a high number, and an epoll set with many" \
	eval "told high 'the number of the descriptor' && told many 'an epoll set'"
row "no line for a group that the rule leaves out" untold
row "--ports" only_ports
row "no memory for the library: the datagrams come, and a line says why" poor
finish
