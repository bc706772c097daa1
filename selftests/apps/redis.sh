#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Units of Redis's own test suite, as its authors published it: over TCP first,
# where every test that passes is one that has to pass over SDP.

. "$(dirname "$0")/common.sh"

SUITE=/usr/src/redis
UNITS=(protocol quit keyspace multi pubsub)
# Thousands of commands one after the other, too many for a kernel that checks itself
[ "$KERNEL" = debug ] || UNITS+=(type/string type/incr type/list type/hash)

# start_redis FILE [RUNNER]: a server whose log that is
start_redis() {
	local log=$1

	shift
	mkdir -p "$WORK/redis"
	start 2 "$@" redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --save '' \
		--dir "$WORK/redis" --enable-debug-command yes > "$log" 2>&1
	wait_port 2 6379 || { diag "$log"; bail "redis-server did not start"; }
}

stop_redis() {
	kill "$PID"
	wait "$PID" 2>/dev/null
}

# suite FILE [RUNNER]: the units, against that server; what they said is in FILE
suite() {
	local out=$1 unit singles=()

	shift
	for unit in "${UNITS[@]}"; do
		singles+=(--single "unit/$unit")
	done
	(cd "$WORK/suite" && "$@" tclsh tests/test_helper.tcl --host "$SERVER4" --port 6379 \
		"${singles[@]}" --tags '-slow -large-memory -needs:repl' --no-latency \
		--skiptest '/[Ff]uzzing|[Ss]tress') > "$out" 2>&1
}

# told WHAT UNIT FILE: the names of that unit's tests, by what became of them
told() {
	awk -v what="$1" -v unit="unit/$2" '
		{ gsub(/\033\[[0-9;]*m/, "") }
		$1 == "Testing" { at = $2 }
		at == unit && $1 == "[" what "]:" {
			sub(/^[^ ]* /, ""); sub(/ \([0-9]+ ms\)$/, ""); print
		}' "$3" | sort
}

# finished UNIT FILE: that unit came to its end
finished() {
	sed 's/\x1b\[[0-9;]*m//g' "$2" | grep -q "done\]: unit/$1 "
}

# seconds UNIT FILE: how long it took
seconds() {
	sed 's/\x1b\[[0-9;]*m//g' "$2" | sed -n "s|.*done\]: unit/$1 (\([0-9]*\) seconds)|\1|p"
}

# one UNIT: it passed over SDP as it did over TCP, and had something to pass
one() {
	local tests

	finished "$1" "$WORK/tcp" || { echo "# over TCP it has no end"; return 1; }
	finished "$1" "$WORK/sdp" || { echo "# over SDP it has no end"; return 1; }
	told err "$1" "$WORK/sdp" | sed 's/^/# failed: /'
	told ok "$1" "$WORK/tcp" > "$WORK/want"
	told ok "$1" "$WORK/sdp" > "$WORK/got"
	tests=$(wc -l < "$WORK/want")
	echo "# $1: $tests tests pass over TCP in $(seconds "$1" "$WORK/tcp") s," \
		"$(wc -l < "$WORK/got") over SDP in $(seconds "$1" "$WORK/sdp") s"
	[ "$tests" -gt 0 ] && [ -z "$(told err "$1" "$WORK/sdp")" ] &&
		diff "$WORK/want" "$WORK/got" > "$WORK/diff" && return
	diag "$WORK/diff"
	return 1
}

plan $((${#UNITS[@]} + 3))
[ -d "$SUITE/tests" ] || bail "the source of redis is not there"
mkdir "$WORK/suite"
cp -r "$SUITE/tests" "$WORK/suite/"

start_redis "$WORK/server.tcp"
suite "$WORK/tcp"
check "the suite over TCP" test $? -eq 0
stop_redis

start_redis "$WORK/server.sdp" "$SDPRUN"
before_it
suite "$WORK/sdp" "$SDPRUN"
check "the suite over SDP" test $? -eq 0
for unit in "${UNITS[@]}"; do
	check "unit/$unit" one "$unit"
done
all_sdp "its connections" 10
stop_redis
finish
