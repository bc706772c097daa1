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

# say NAME WORD: as command_of, of a word that comes several times
say() {
	local before

	before=$(grep -c "done $2" "$folder/$1")
	echo "$2" > "$folder/to.$1"
	until_true 10 eval "[ \$(grep -c 'done $2' '$folder/$1') -gt $before ]"
}

# near TEXT: by the kernel, from a socket of this host; and far TEXT by the queue pair
near() {
	python3 "$groups" send ib0 7400 "$1" 1 $group
}

far() {
	send "$1" "${2-1}" && until_true 10 started b " $1 ${2-1}\$"
}

held() {
	calls a poll && offloaded a && calls b poll && offloaded b && until_true 30 reached b &&
	twenty a before && command_of a hold
}

# What the program has been told of comes next, also if the queue pair has had another one since.
peeks() {
	held && near early && say a peek && far distant && say a next && say a next &&
	near close && say a length && far remote && say a next && say a next &&
	same "$(grep '^next' $folder/a | tr '\n' ';')" "$(printf '%s;' \
		'next -1 7 early 1' 'next 7 7 early 1' 'next 9 9 distant 1' \
		'next 7 0 ' 'next 7 7 close 1' 'next 8 8 remote 1')" && end a b
}

# A busy queue pair: what the kernel has does not come last.
busy() {
	held && far many 200 && near early && command_of a go &&
	until_true 10 started a ' many 200$' && until_true 10 started a ' early 1$' &&
	same "$(tail -n 1 $folder/a)" '8 many 200' && end a b
}

# The late socket joins when the library has stopped the others.
late() {
	LD_PRELOAD=$VM_BUILD/selftests/mcast/late.so calls a poll && offloaded a &&
	command_of a fork && until_true 10 started a '^late: joined' &&
	same "$(grep -c 'by the kernel: the program forks' $folder/log.a)" 2 && end a ||
		{ cat $folder/log.a $folder/a; return 1; }
}

# The route to the group is by another interface than its source address.
elsewhere() {
	local status

	ip link add link ib0 name kid type ipoib && ip addr add 10.79.0.1/24 dev kid &&
	ip link set kid up && ip route add 239.77.0.0/16 dev kid src 10.77.0.1 &&
	begin a python3 "$groups" poll any 7400 $group &&
	until_true 20 logged a 'by the kernel: the socket has joined the group on another' ||
		{ cat $folder/a $folder/log.a; false; }
	status=$?
	end a
	ip link del kid
	return $status
}

plan 21
row "recvmmsg()" receives mmsg
row "threads" receives threads
row "recvmsg() with little room tells what the kernel tells" little
row "vfork() and execl(): the queue pair goes on" remains vfork
row "system(): the queue pair goes on" remains system
row "a connected socket" connected
row "poll() with more than half of the descriptors that the limit allows" receives limit
row "a program that writes over its environment" receives wipe
row "a peek, FIONREAD, and the next call" peeks
row "a busy queue pair does not keep the kernel's datagrams waiting" busy
row "a thread that joins while another one forks" late
row "the route is by another interface than its source" elsewhere
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
