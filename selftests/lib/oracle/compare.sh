# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the tests have these
#
# Runs the oracle's programs over TCP first, then where every socket gets the ULP and moves at its
# first call.  Each line that they write is a test: it must read the same.
#
# A test has: programs FAMILY, a function that names the programs to run; namespaces, those whose
# sockets get the ULP ('' is the first one); long, the programs some of whose connections carry more
# than a message or two; and it may have runner FAMILY, which puts a command before the second run.

build=${BUILD:-$(dirname "$(readlink -f "$0")")/../../build}
work=$(mktemp -d)

runner() {
	:
}

bail() {
	echo "Bail out! $*"
	exit 1
}

# same WANT GOT: but for the option that tells of the ULP, which is there
same() {
	[ "$1" = "$2" ] || [[ $1 == 'IPPROTO_TCP 31:'* && $2 == 'IPPROTO_TCP 31:'* ]]
}

# attach 0|1: what every socket of all namespaces gets
attach() {
	local ns

	for ns in "${namespaces[@]}"; do
		${ns:+ip netns exec $ns} sysctl -qw net.sdp.attach="$1" net.sdp.move_messages=0
	done
}

# What TCP remembers of an address, a cookie of fast open for one, changes what programs see.
forget() {
	local ns

	for ns in "${namespaces[@]}"; do
		${ns:+ip netns exec $ns} ip tcp_metrics flush all
	done
}

# transcript FAMILY NAME OUTPUT ADDRESS...: with the command RUN before it
transcript() {
	local folder=''

	[ "$1" != 32-bit ] || folder=32/
	"${RUN[@]}" "$build/selftests/lib/${folder}oracle/$2" "${@:4}" > "$3" 2> "$3.err"
}

moved() {
	local ns

	for ns in "${namespaces[@]}"; do
		${ns:+ip netns exec $ns} cat /proc/net/sdp/snmp
	done | awk '$1 == "moved" { n += $2 } END { print n }'
}

# transcribe PLACE...: over TCP; a place is "FAMILY ADDRESS [SERVER CLIENT]", with the namespaces
# that both ends are in. Sets the plan.
transcribe() {
	local place family name total=0 RUN=()

	no_autoload
	forget
	runs=()
	for place; do
		read -ra place <<< "$place"
		family=${place[0]}
		for name in $(programs "$family"); do
			# The checked kernel runs no programs for i386.
			[ "$family" != 32-bit ] || [ "$KERNEL" != debug ] || continue
			transcript "$family" "$name" "$work/$family.$name.tcp" "${place[@]:1}" ||
				bail "$name, $family: $(tail -n 1 "$work/$family.$name.tcp")"
			runs+=("$name ${place[*]}")
			total=$((total + $(wc -l < "$work/$family.$name.tcp")))
			[[ " $long " != *" $name "* ]] || total=$((total + 1))
		done
	done
	plan "$total"
}

# compare: all of them again, where connections move
compare() {
	local run name family before want got status RUN

	attach 1
	forget
	for run in "${runs[@]}"; do
		read -ra run <<< "$run"
		name=${run[0]} family=${run[1]}
		read -ra RUN <<< "$(runner "$family")"
		before=$(moved)
		transcript "$family" "$name" "$work/moved" "${run[@]:2}"
		echo "# $family, $name: exit status $?"
		while IFS= read -r want <&3; do
			IFS= read -r got <&4 || got='(nothing)'
			same "$want" "$got"
			status=$?
			result $status "$family, $name: $want"
			[ $status -eq 0 ] || echo "# got: $got"
		done 3< "$work/$family.$name.tcp" 4< "$work/moved"
		[[ " $long " == *" $name "* ]] || continue
		[ "$(moved)" -gt "$before" ]
		result $? "$family, $name: connections moved"
	done
	attach 0
	autoload
	rm -rf "$work"
}
