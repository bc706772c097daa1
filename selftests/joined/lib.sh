# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of TCP connections that are joined over InfiniBand. The nodes of one machine
# share a kernel, whose memory is not to carry anything.

. "$(dirname "$0")/../tap.sh"

build=${BUILD:-$(dirname "$(readlink -f "$0")")/../../build}
# shellcheck disable=SC2034 # for the tests
sock=$build/selftests/sock
talk=$build/selftests/joined/talk

# in_node N COMMAND...
in_node() {
	ip netns exec "node$1" "${@:2}"
}

# all_nodes FILE VALUE: a setting in each node's net.sdp
all_nodes() {
	local n

	for n in $(seq "$VM_NODES"); do
		in_node "$n" sysctl -qw "net.sdp.$1=$2" || return
	done
}

# only_ib: each connection that leaves TCP does so by InfiniBand, until the test ends.
only_ib() {
	all_nodes carriers ib
}

# What the connections are to.
case $VARIANT in
*v6)	v6=-6 to=fd77::2 ;;
*)	v6='' to=10.77.0.2 ;;
esac

order=$(in_node 1 sysctl -n net.sdp.carriers)
trap 'all_nodes carriers "$order"' EXIT

# begin [OPTION...]: connections from node1 to node2, which talk.
begin() {
	start "$@" && answer ready
}

# start [OPTION...]: likewise, without waiting for them.
start() {
	local fifo=/tmp/talk.$$

	mkfifo "$fifo" || return
	exec {said}< <(exec "$talk" ${v6:+"$v6"} -l $to -S node2 -c $to -C node1 "$@" \
		< "$fifo" 2>&1)
	talker=$!
	exec {asks}> "$fifo"
	rm "$fifo"
	answer listens
}

# answer WORD: what the program says begins so; $line is all of it.
answer() {
	line=
	read -r -t $((${patience:-100} * tap_slow)) -u "$said" line
	[[ $line = "$1"* && $line != *WRONG* ]] || { echo "$line"; return 1; }
}

# ask LINE...: so it is (talk.c).
ask() {
	echo "$*" >&"$asks"
	answer ok
}

# by_ib: bytes go both ways, by InfiniBand.
by_ib() {
	ask by ib && ask more
}

# leave: what was asked for is over.
leave() {
	kill "$talker"
	exec {asks}>&- {said}<&-
}
