#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# memcached: libmemcached's test of both protocols, and a load whose values are verified, to the
# server itself and through haproxy.

. "$(dirname "$0")/common.sh"

SERVER=11211 PROXY=11212

cat > "$WORK/haproxy.conf" <<EOF
defaults
	mode tcp
	timeout connect 20s
	timeout client 100s
	timeout server 100s
listen memcached
	bind 127.0.0.1:$PROXY
	server only 127.0.0.1:$SERVER
EOF

answers() {
	timeout 5 memcping --servers="127.0.0.1:$1"
}

# serve_all: the server, and the proxy before it
serve_all() {
	memcached -u root -l 127.0.0.1 -p "$SERVER" > "$WORK/server.log" 2>&1 &
	servers=($!)
	haproxy -db -f "$WORK/haproxy.conf" > "$WORK/proxy.log" 2>&1 &
	servers+=($!)
	until_true 30 answers "$SERVER" && until_true 30 answers "$PROXY"
}

stop_all() {
	kill "${servers[@]}"
	wait "${servers[@]}"
	servers=()
} 2> /dev/null

# protocols PORT OUTPUT: each test of libmemcached's and its result
protocols() {
	timeout 200 memccapable -h 127.0.0.1 -p "$1" -t 20 | tr -s ' ' | sort > "$2"
	cat "$2"
	grep -q 'All tests passed' "$2"
}

# load PORT: eight connections, and each value is what it was
load() {
	timeout 200 memcaslap -s "127.0.0.1:$1" -T 2 -c 8 -x 4000 -X 1024 -v 1.0 > "$WORK/load"
	cat "$WORK/load"
	grep -q '^cmd_get: [1-9]' "$WORK/load" &&
	[ "$(grep -cE '^(get_misses|verify_misses|verify_failed): 0' "$WORK/load")" -eq 3 ]
}

# both KIND: what there is to do at the server and at the proxy
both() {
	local port

	for port in "$SERVER" "$PROXY"; do
		check "port $port $1: the protocols" protocols "$port" "$WORK/$1.$port"
		check "port $port $1: a load" load "$port"
	done
}

plan 13
start || bail 'sdpdev does not load'
attach 0
serve_all; result $? "servers over TCP"
both TCP
stop_all
attach 1
serve_all; result $? "servers with endpoints"
before=$(moved)
both endpoints
check "connections moved" more_moved "$before" 40
for port in "$SERVER" "$PROXY"; do
	check "port $port: as over TCP" same_results "$WORK/TCP.$port" "$WORK/endpoints.$port"
done
stop_all
finish
