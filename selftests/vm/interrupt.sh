#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A run that is cut short leaves no process and no file behind.

. "$(dirname "$0")/../tap.sh"

tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp/tmp
mkdir "$TMPDIR"

# Does anything of the run with the log $tmp/log run?
running() {
	pgrep -f "(qemu-system-x86_64|tools/vm/host) .*$tmp/log" > /dev/null
}

# Waits until the command in the VM says that it runs.
started() {
	local i

	for ((i = 0; i < 1200; i++)); do
		[ ! -s "$tmp/out" ] || return 0
		sleep 0.1
	done
	diag "the VM did not start"
	return 1
}

# nothing_left NAME: no process, a moment later, and no file
nothing_left() {
	local i

	for ((i = 0; i < 300; i++)); do
		running || break
		sleep 0.1
	done
	running && { diag "something still runs"; result 1 "$1"; return; }
	check "$1" test -z "$(ls -A "$TMPDIR")"
}

start() {
	rm -f "$tmp/out"
	tools/vm/run --bare --kernel "$KERNEL" --log "$tmp/log" "$@" -- \
		sh -c 'echo here; sleep 1000' > "$tmp/out" 2> "$tmp/err" < /dev/null &
	run=$!
}

plan 9
start
started && running
result $? "the emulator runs"
kill -TERM $run
wait $run
result $((! ($? == 143))) "SIGTERM: status 128 + 15"
nothing_left "SIGTERM leaves nothing"

start --machines 2
started
kill -KILL $run
wait $run
nothing_left "not even SIGKILL leaves something"

start --timeout 4
wait $run
result $((! ($? == 124))) "time-out: status 124"
check "time-out: a message" grep -q "timed out" "$tmp/err"
nothing_left "time-out leaves nothing"

# shellcheck disable=SC2119
tools/vm/run --bare --kernel "$KERNEL" --log "$tmp/log" -- yes < /dev/null |
	head -n 1 > "$tmp/out"
result $((! (PIPESTATUS[0] == 141))) "nobody reads the output: the run ends"
nothing_left "nor does that leave something"
finish
