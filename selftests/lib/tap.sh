# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # used where it is sourced
#
# Results in the Test Anything Protocol, and the two nodes, for shell tests.  To
# be sourced; tests run in the VM, in node1, with the project's root as working
# directory.

BUILD=${BUILD:-build}
SDPRUN=$BUILD/libsdpdev/sdprun
SDPSTAT=$BUILD/tools/sdpstat/sdpstat
WORK=$(mktemp -d)
TAP_DONE=0
TAP_FAILED=0

# Whatever a test starts in the background ends with it.
tap_cleanup() {
	local pid

	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$WORK"
}
trap tap_cleanup EXIT

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# result STATUS NAME: ok where STATUS is 0
result() {
	TAP_DONE=$((TAP_DONE + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $TAP_DONE - $2"
	else
		TAP_FAILED=$((TAP_FAILED + 1))
		echo "not ok $TAP_DONE - $2"
	fi
}

# check NAME COMMAND...: ok where COMMAND succeeds
check() {
	local name=$1 status=0

	shift
	"$@" || status=$?
	result "$status" "$name"
}

# diag FILE: a file's last lines as comments
diag() {
	tail -n "${2:-20}" "$1" | sed 's/^/# /'
}

finish() {
	[ "$TAP_FAILED" -eq 0 ]
	exit
}

bail() {
	echo "Bail out! $*"
	exit 1
}

# on NODE COMMAND...: in that node's network namespace
on() {
	local node=$1

	shift
	ip netns exec "node$node" "$@"
}

# start NODE COMMAND...: there, in the background; PID is then its own, so that
# it can be killed
start() {
	local node=$1

	shift
	ip netns exec "node$node" "$@" &
	PID=$!
}

# eventually SECONDS COMMAND...: until it succeeds, at most that long
eventually() {
	local end=$((SECONDS + $1))

	shift
	while ! "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

listening() {
	[ -n "$(on "$1" ss -Hltn "sport = :$2" 2>/dev/null)" ]
}

# wait_port NODE PORT: until somebody listens there over TCP
wait_port() {
	eventually 30 listening "$1" "$2"
}
