#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# 32-bit programs that 64-bit ones run, and the other way round: each finds the
# library of its own width, and goes on with the connection that it is handed.

. "$(dirname "$0")/tap.sh"

L=$(readlink -f "$BUILD/selftests/lib/cross")
S=$(readlink -f "$BUILD/selftests/lib/32/cross")

# The checked kernel runs no programs for i386: they cannot be executed there.
if [ "$KERNEL" = debug ] && ! "$S" run "$L" run 2> /dev/null; then
	echo '# no 32-bit programs: this kernel does not execute them (IA32_EMULATION)'
	echo '# 64-bit ones take their place'
	S=$L
fi

name() {
	case $1 in
	"$S") echo 32 ;;
	"$L") echo 64 ;;
	*) echo "$1" ;;
	esac
}

chain() {
	local all='' word

	for word; do
		all="$all $(name "$word")"
	done
	echo "$all"
}

# serve [RUNNER] -- PROGRAM...: such a listener, and whoever it runs
serve() {
	local runner=()

	while [ "$1" != -- ]; do
		runner+=("$1")
		shift
	done
	SDPDEV_DEBUG=1 start 2 "${runner[@]}" "$2" listen 9000 "${@:3}" 2> "$WORK/server.err"
	wait_port 2 9000 || { diag "$WORK/server.err"; bail "nobody listens"; }
}

# client OUTPUT COMMAND...
client() {
	local out=$1 status=0

	shift
	SDPDEV_DEBUG=1 timeout 60 "$@" > "$WORK/$out" 2> "$WORK/client.err" || status=$?
	wait "$PID" || status=1
	[ "$status" -eq 0 ] || { diag "$WORK/client.err"; diag "$WORK/server.err"; }
	return "$status"
}

# quiet FILE: the loader had nothing to say
quiet() {
	! grep -E 'ld\.so|cannot be preloaded' "$1" | sed 's/^/# /' | grep .
}

carried() {
	grep -q 'over SDP' "$1" && ! grep -q 'over TCP' "$1" && return
	diag "$1"
	return 1
}

# pair SERVER... / CLIENT...: the same over TCP and over SDP
pair() {
	local server=() title

	title="$(chain "$@")"
	while [ "$1" != / ]; do
		server+=("$1")
		shift
	done
	shift
	serve -- "${server[@]}"
	check "TCP:$title" client tcp "${@//HOST/10.77.0.2}"
	serve "$SDPRUN" --endpoint -- "${server[@]}"
	check "SDP:$title" client sdp "$SDPRUN" --endpoint "${@//HOST/10.77.0.2}"
	check "  says the same" cmp "$WORK/tcp" "$WORK/sdp"
	check "  over SDP, accepted" carried "$WORK/server.err"
	check "  over SDP, connected" carried "$WORK/client.err"
	check "  without a word of the loader" quiet "$WORK/server.err"
	check "  nor there" quiet "$WORK/client.err"
}

plan 42

# The listener is made by the one, the connection taken by the other.
pair "$L" "$S" accept "$L" talk "$S" talk / "$L" connect HOST 9000 "$S" hear "$L" hear
pair "$S" "$L" accept "$S" talk "$L" talk / "$S" connect HOST 9000 "$L" hear "$S" hear
# The program that is run makes connections of its own.
pair "$L" "$S" accept "$S" talk / "$L" run "$S" connect HOST 9000 "$L" hear
pair "$S" "$L" accept "$L" talk / "$S" run "$L" connect HOST 9000 "$S" hear
# By way of others, as programs are run by shells.
pair "$L" "$S" accept "$L" talk / sh -c '"$@"; exit' sh "$S" connect HOST 9000 "$S" hear
pair "$L" "$L" accept "$L" talk / "$S" run /bin/sh -c 'exec "$@"' sh \
	"$L" connect HOST 9000 "$S" hear
finish
