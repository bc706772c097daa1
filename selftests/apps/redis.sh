#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Units of Redis's own test suite, as its authors published it: over TCP first,
# where every test that passes is one that has to pass over InfiniBand.

. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/units.sh"

REDIS=$SERVER4
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

plan $((${#UNITS[@]} + 3))
copy_suite

start_redis "$WORK/server.tcp"
suite "$WORK/tcp"
check "the suite over TCP" test $? -eq 0
stop_redis

start_redis "$WORK/server.sdp" "$SDPRUN"
before_it
suite "$WORK/sdp" "$SDPRUN"
check "the suite over InfiniBand" test $? -eq 0
for unit in "${UNITS[@]}"; do
	check "unit/$unit" one "$unit"
done
joined "its connections" 10 1000
stop_redis
finish
