# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# To wait for a state that causes no event.

# Nothing ever comes out of it. A program that waits would take more of a slow machine
# than most of what is waited for.
open_nothing() {
	local fifo

	fifo=$(mktemp -u) && mkfifo "$fifo" && exec {nothing}<> "$fifo" && rm "$fifo"
}

# nap SECONDS
nap() {
	[ -n "$nothing" ] || open_nothing || return
	read -rt "$1" -u "$nothing"
	true
}

# until_true SECONDS COMMAND...: runs COMMAND until it succeeds.
until_true() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return
		nap 0.05
	done
}
