#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Units of Redis's own test suite over the loopback device, with endpoints as over TCP.

. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/../apps/units.sh"

# shellcheck disable=SC2034 # for units.sh
REDIS=127.0.0.1
UNITS=(protocol pubsub)
[ "$VARIANT" != long ] || UNITS+=(quit keyspace multi type/string type/incr type/list type/hash)

answers() {
	redis-cli -p 6379 ping | grep -q PONG
}

start_redis() {
	mkdir -p "$WORK/redis"
	redis-server --port 6379 --save '' --dir "$WORK/redis" --enable-debug-command yes \
		> "$WORK/log" 2>&1 &
	servers=($!)
	until_true 30 answers || bail "redis-server did not start: $(< "$WORK/log")"
}

stop_redis() {
	kill "${servers[0]}"
	wait "${servers[0]}" 2> /dev/null
	servers=()
}

plan $((${#UNITS[@]} + 3))
start || bail 'sdpdev does not load'
copy_suite
attach 0
start_redis
suite "$WORK/tcp"
check "the suite over TCP" test $? -eq 0
stop_redis
attach 1
start_redis
before=$(moved)
suite "$WORK/sdp"
check "the suite with endpoints" test $? -eq 0
for unit in "${UNITS[@]}"; do
	check "unit/$unit" one "$unit"
done
check "connections moved" more_moved "$before" 10
stop_redis
finish
