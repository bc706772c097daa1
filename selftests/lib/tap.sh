# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # used where it is sourced
#
# Two nodes, and programs on them, for tests in shell that run in node1, with the
# project's root as working directory.

. "$(dirname "$0")/../tap.sh"

BUILD=${BUILD:-build}
SDPRUN=$BUILD/libsdpdev/sdprun
SDPSTAT=$BUILD/tools/sdpstat/sdpstat
WORK=$(mktemp -d)

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

# check NAME COMMAND...: ok where COMMAND succeeds; in this shell, whose background
# jobs it may start and wait for
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

listening() {
	[ -n "$(on "$1" ss -Hltn "sport = :$2" 2>/dev/null)" ]
}

# wait_port NODE PORT: until somebody listens there over TCP
wait_port() {
	until_true 30 listening "$1" "$2"
}
