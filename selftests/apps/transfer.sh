#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A large file each way between unmodified programs, over SDP.

. "$(dirname "$0")/common.sh"

MEGABYTES=$(fewer 64)
BYTES=$((MEGABYTES << 20))

# moved COLUMN: the largest number there of node1's endpoints over SDP
moved() {
	on 1 "$SDPSTAT" -n | awk -v column="$1" \
		'$2 == "SDP" && $column > n { n = $column } END { print n + 0 }'
}

# Whether the receiver's file has its whole size.
whole() {
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$BYTES" ]
}

plan 10
make_file big "$MEGABYTES"
start_nginx 2 "$SDPRUN" --endpoint

# Down: nginx and curl, IPv4.
before=$(ib_bytes 1)
SDPDEV_DEBUG=1 "$SDPRUN" --endpoint curl -sS -o "$WORK/down" "http://$SERVER4:8080/big" \
	2> "$WORK/curl.err"
check "nginx to curl, $MEGABYTES MiB over IPv4" test $? -eq 0
check "its SHA-256" same "$WORK/www/big" "$WORK/down"
check "the program says SDP" over SDP "$WORK/curl.err"
few_bytes "$before" 1000000 "the IPoIB interface carried none of it"
rm -f "$WORK/down"
stop_nginx

# Up: socat both, IPv6; the sender stays connected to be looked at.
before=$(ib_bytes 1)
start 2 "$SDPRUN" --endpoint socat -u TCP6-LISTEN:9000,reuseaddr "CREATE:$WORK/up" 2> "$WORK/server.err"
server=$PID
wait_port 2 9000 || bail "socat did not start"
mkfifo "$WORK/hold"
{ cat "$WORK/www/big"; cat "$WORK/hold"; } |
	SDPDEV_DEBUG=1 "$SDPRUN" --endpoint socat -u - "TCP6:[$SERVER6]:9000" 2> "$WORK/client.err" &
check "socat to socat, $MEGABYTES MiB over IPv6" until_true 120 whole "$WORK/up"
check "sdpstat shows the bytes, sent over SDP" test "$(moved 5)" -ge "$BYTES"
check "sdpstat shows them in messages" test "$(moved 7)" -ge "$((BYTES >> 16))"
: > "$WORK/hold"
wait "$server"
check "its SHA-256" same "$WORK/www/big" "$WORK/up"
check "the program says SDP" over SDP "$WORK/client.err"
few_bytes "$before" 1000000 "the IPoIB interface carried none of it"
finish
