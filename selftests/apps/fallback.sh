#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where SDP does not go, the same programs go over TCP, on the same descriptors,
# and nobody notices.

. "$(dirname "$0")/common.sh"

# fetch NAME REASON URL [RUNNER]: curl gets the file, and says over what
fetch() {
	local name=$1 reason=$2 url=$3

	shift 3
	rm -f "$WORK/got"
	SDPDEV_DEBUG=1 "$@" curl -sS -o "$WORK/got" "$url" 2> "$WORK/curl.err"
	check "$name: the file arrives" same "$WORK/www/file" "$WORK/got"
	[ -n "$reason" ] || return
	check "$name: over TCP, and says why" grep -q "over TCP ($reason)" "$WORK/curl.err"
	grep -q "over TCP ($reason)" "$WORK/curl.err" || diag "$WORK/curl.err"
}

plan 18
make_file file 2

# The server without the library.
start_nginx 2
fetch "plain server, IPv4" "the peer has no SDP listener" "http://$SERVER4:8080/file" "$SDPRUN" --endpoint
fetch "plain server, IPv6" "the peer has no SDP listener" "http://[$SERVER6]:8080/file" "$SDPRUN" --endpoint
SDPDEV_MODE=only "$SDPRUN" --endpoint curl -sS "http://$SERVER4:8080/file" > /dev/null 2>&1
check "plain server, SDPDEV_MODE=only: curl cannot connect" test $? -eq 7
stop_nginx

# The client without it.
start_nginx 2 "$SDPRUN" --endpoint
before=$(ib_bytes 1)
fetch "plain client, IPv4" "" "http://$SERVER4:8080/file" env
fetch "plain client, IPv6" "" "http://[$SERVER6]:8080/file" env
check "plain client: the bytes went through the IPoIB interface" \
	test $(($(ib_bytes 1) - before)) -gt $((4 << 20))
before=$(ib_bytes 1)
fetch "SDPDEV_MODE=off" "" "http://$SERVER4:8080/file" env SDPDEV_MODE=off "$SDPRUN" --endpoint
check "SDPDEV_MODE=off: the bytes went through the IPoIB interface" \
	test $(($(ib_bytes 1) - before)) -gt $((2 << 20))
before=$(ib_bytes 1)
fetch "both with the library" "" "http://$SERVER4:8080/file" "$SDPRUN" --endpoint
few_bytes "$before" 500000 "both with the library: they did not"
stop_nginx

# Routes that leave by other interfaces.
start_nginx 1 "$SDPRUN" --endpoint
fetch "loopback, IPv4" "the route does not leave by IPoIB" "http://127.0.0.1:8080/file" "$SDPRUN" --endpoint
fetch "loopback, IPv6" "the route does not leave by IPoIB" "http://[::1]:8080/file" "$SDPRUN" --endpoint
stop_nginx

start_nginx 2 "$SDPRUN" --endpoint
on 1 ip link add veth1 type veth peer name veth2 netns node2
on 1 ip addr add 10.78.0.1/24 dev veth1
on 2 ip addr add 10.78.0.2/24 dev veth2
on 1 ip link set veth1 up
on 2 ip link set veth2 up
fetch "another interface" "the route does not leave by IPoIB" "http://10.78.0.2:8080/file" "$SDPRUN" --endpoint
on 1 ip link del veth1
stop_nginx
finish
