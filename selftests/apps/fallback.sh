#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where InfiniBand cannot carry a connection TCP does, and sdpstat, the counters, the tracepoints
# and Prometheus' file say why. This runs in the first of two machines, the second of which has the
# kernel's own ib_ipoib.

. "$(dirname "$0")/../lib/tap.sh"

PORT=9000

# serve [RUNNER]: an echo on the second machine, in the place of the one before
serve() {
	[ -z "$PID" ] || { kill "$PID" && wait "$PID"; } 2> /dev/null
	until_true 20 not_there
	machine 2 run "$@" socat "TCP-LISTEN:$PORT,reuseaddr,fork" EXEC:cat < /dev/null &
	PID=$!
	until_true 20 there || bail "socat does not listen"
}

there() {
	machine 2 run ss -Hltn "sport = :$PORT" | grep -q .
}

not_there() {
	! there
}

# seen CARRIER REASON [MACHINE]: so sdpstat shows the connection there.
seen() {
	machine "${3:-1}" run "$stat" "port=$PORT" state=established | tee "$WORK/seen" |
		awk -v carrier="$1" -v reason="$2" '
			NR == 1 { at = index($0, "Reason") }
			NR > 1 && index($2, carrier) == 1 {
				split(substr($0, at), word, " ")
				good += word[1] == reason
			}
			END { exit !good }'
}

# echoed: 200 kB come back as they were.
echoed() {
	local i

	for ((i = 0; i < 20; i++)); do
		cat "$WORK/file" >&"$to"
		head -c 10000 <&"$from" | cmp "$WORK/file" || return
	done
}

# goes CARRIER REASON MACHINE: what is sent next
goes() {
	echoed && seen "$@"
}

# carried NAME CARRIER REASON MACHINE [RUNNER]: a connection of a client that runs so
carried() {
	local name=$1 to from

	coproc talk { exec "${@:5}" socat - "TCP:10.77.0.2:$PORT" 2> "$WORK/err"; }
	# Subshells have those two.
	exec {to}>&"${talk[1]}" {from}<&"${talk[0]}"
	check "$name: the bytes come back" echoed
	check "$name: $2" until_true 20 goes "$2" "$3" "$4"
	diag "$WORK/seen"
	diag "$WORK/err"
	# shellcheck disable=SC2154 # coproc sets it
	kill "$talk_PID"
	wait "$talk_PID" 2> /dev/null
	exec {to}>&- {from}<&-
}

# traced LINE: the trace has one of this pattern.
traced() {
	grep -E " $1" "$tracing/trace" && return
	grep ' sdp_' "$tracing/trace" | tail -n 20
	return 1
}

# traces 0|1: switches the tracepoints off or on.
traces() {
	mountpoint -q "$tracing" || mount -t tracefs none "$tracing" || return
	echo "$1" > "$tracing/events/sdp/enable" && echo "$1" > "$tracing/events/sdp_verbs/enable"
}

exported() {
	PATH=${stat%/*}:$PATH "$root/tools/system/textfile" |
		grep '^sdp_carrier_refused_total{reason="no_service"} [1-9]'
}

counted() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp/snmp
}

tracing=/sys/kernel/tracing
root=$(dirname "$(readlink -f "$0")")/../..

plan 17
head -c 10000 /dev/urandom > "$WORK/file"
until_true 60 ping -q -c 1 -W 5 10.77.0.2 || bail "the machines do not reach each other"
run=$(readlink -f "$SDPRUN") stat=$(readlink -f "$SDPSTAT")
serve "$run"
carried "both by sdprun" ib - 1 "$run"
carried "the server alone" TCP peer 2 env
serve
carried "the client alone" TCP peer 1 "$run"
serve "$run"
rmmod sdp_ib
carried "no transport" TCP peer 1 "$run"
modprobe sdp_ib
machine 2 run rmmod sdp_ib
refused=$(counted carrier_refused_no_service)
check "tracepoints" traces 1
carried "no transport at the peer" TCP avoid 1 "$run"
check "a counter says so" test "$(counted carrier_refused_no_service)" -gt "$refused"
check "and what Prometheus gets" exported
check "and the tracepoint of carriers" traced 'sdp_sock_refused: .*why=no_service'
check "and that of directions" traced 'sdp_sock_stay: .*why=avoid'
check "and that of the transport" traced \
	'sdp_rc_event: .*by=sdp_ib device=softib.* peer=10\.77\.0\.2:.*event=rejected'
traces 0
machine 2 run modprobe sdp_ib
check "the transport is back" modprobe sdp_ib
finish
