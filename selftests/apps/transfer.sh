#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A large file each way between unmodified programs, over InfiniBand. How much goes by TCP does
# not depend on how fast the machine is: no end takes more than TCP's buffers hold before the
# connection has a carrier, and the direction does not pass by TCP again.

. "$(dirname "$0")/common.sh"

MEGABYTES=$(fewer 64)
BYTES=$((MEGABYTES << 20))

# sent: the most bytes that one of node1's connections has sent by InfiniBand
sent() {
	on 1 "$SDPSTAT" | awk '$2 ~ /^ib/ && $5 > n { n = $5 } END { print n + 0 }'
}

# Whether the receiver's file has its whole size.
whole() {
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$BYTES" ]
}

# settled: since before_it a connection has got a carrier.
settled() {
	[ "$(counted carrier_joined)" -gt "$joined" ]
}

# passes SECONDS: a direction passes by TCP so often, and gives up a carrier so late. Other
# namespaces may have no more than the first one.
passes() {
	nsenter -t 1 -n sysctl -qw net.sdp.touch="$1" && all_nodes touch "$1" &&
	all_nodes idle $((3 * $1))
}

as_it_was() {
	passes 10
	as_before
}

plan 8
trap as_it_was EXIT
check "directions stay" passes 1200
make_file big "$MEGABYTES"
start_nginx 2 "$SDPRUN"

# Down: nginx and curl, IPv4.
before_it
"$SDPRUN" curl -sS "http://$SERVER4:8080/big" | { until_true 60 settled; cat; } > "$WORK/down"
check "nginx to curl, $MEGABYTES MiB over IPv4" test "${PIPESTATUS[*]}" = '0 0'
check "its SHA-256" same "$WORK/www/big" "$WORK/down"
joined "nginx" 1 $((BYTES * 3 / 4096))
rm -f "$WORK/down"
stop_nginx

# Up: socat both, IPv6; the sender stays connected to be looked at.
before_it
start 2 "$SDPRUN" socat -u TCP6-LISTEN:9000,reuseaddr "CREATE:$WORK/up"
server=$PID
wait_port 2 9000 || bail "socat did not start"
mkfifo "$WORK/hold"
{ head -c 4096; until_true 60 settled; cat; } < "$WORK/www/big" | cat - "$WORK/hold" |
	"$SDPRUN" socat -u - "TCP6:[$SERVER6]:9000" &
check "socat to socat, $MEGABYTES MiB over IPv6" until_true 120 whole "$WORK/up"
check "sdpstat shows the bytes, sent by InfiniBand" test "$(sent)" -ge $((BYTES * 3 / 4))
: > "$WORK/hold"
wait "$server"
check "its SHA-256" same "$WORK/www/big" "$WORK/up"
joined "socat" 1 $((BYTES * 3 / 4096))
finish
