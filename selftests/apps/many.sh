#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A hundred connections at once, between unmodified programs, over InfiniBand; none of
# them leaves a descriptor behind.

. "$(dirname "$0")/common.sh"

CONNECTIONS=100

# How many of node2's connections send by InfiniBand now.
connected() {
	on 2 "$SDPSTAT" | awk '$1 == "ESTABLISHED" && $2 ~ /^ib/ { n++ } END { print n + 0 }'
}

# Descriptors that the server's workers have open.
descriptors() {
	local pid n=0

	for pid in $(pgrep -P "$NGINX"); do
		n=$((n + $(find "/proc/$pid/fd" -mindepth 1 | wc -l)))
	done
	echo "$n"
}

# Both workers run, and have opened all their files: they tell each other of themselves
# when the one that listens has begun to.
settled() {
	local before=$fds

	fds=$(descriptors)
	[ "$(pgrep -c -P "$NGINX" -f 'worker process')" -eq 2 ] && [ "$fds" -eq "$before" ]
}

plan 5
make_file part 1
head -c 100000 "$WORK/www/part" > "$WORK/www/slow-part"
start_nginx 2 "$SDPRUN"
fds=0
until_true 10 settled

config=$WORK/urls
for ((i = 0; i < CONNECTIONS; i++)); do
	printf 'url = "http://%s:8080/slow/slow-part"\noutput = "%s"\n' \
		"$SERVER4" "$WORK/part.$i"
done > "$config"
"$SDPRUN" curl -sS -Z --parallel-immediate --parallel-max "$CONNECTIONS" \
	-K "$config" &
curl=$!
most=0
while kill -0 $curl 2>/dev/null; do
	now=$(connected)
	[ "$now" -le "$most" ] || most=$now
	sleep 0.5
done
wait $curl
check "curl has $CONNECTIONS transfers" test $? -eq 0
check "sdpstat saw $CONNECTIONS connections at once over InfiniBand" test "$most" -ge "$CONNECTIONS"
[ "$most" -ge "$CONNECTIONS" ] || echo "# $most"
want=$(sum "$WORK/www/slow-part")
good=$(sha256sum "$WORK"/part.* | grep -c "^$want ")
check "all of them arrived whole" test "$good" -eq "$CONNECTIONS"

no_more_descriptors() {
	[ "$(descriptors)" -eq "$fds" ]
}

none_connected() {
	[ "$(connected)" -eq 0 ]
}

check "the server holds as many descriptors as before" until_true 10 no_more_descriptors
check "no connection is left" until_true 20 none_connected
finish
