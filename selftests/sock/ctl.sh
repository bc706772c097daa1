#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpctl: connections return to TCP and look for a carrier when somebody says so.

. "$(dirname "$0")/sock.sh"

module=$build/$KERNEL/selftests/sock/carrier/sdp_carrier_test.ko
parameters=/sys/module/sdp_carrier_test/parameters
work=$(mktemp -d)
program=''

end() {
	[ -z "$program" ] || { kill "$program" && wait "$program"; } 2> /dev/null
	[ ! -e /sys/module/sdp_carrier_test ] || until_true 10 rmmod sdp_carrier_test
	rm -rf "$work"
	leave
}

trap end EXIT
# Where a user without rights may run it
chmod 755 "$work"
cp "${SDPCTL:-$build/tools/sdpctl/sdpctl}" "$work/sdpctl"

# ctl STATUS TEXT ARGUMENT...: it exits so, and says so
ctl() {
	local expected=$1 text=$2 status=0

	shift 2
	timeout 60 "$work/sdpctl" "$@" > "$work/out" 2>&1 || status=$?
	cat "$work/out"
	[ "$status" -eq "$expected" ] && grep -qE -e "$text" "$work/out"
}

# count [FILTER...]: so many are listed
count() {
	"$work/sdpctl" list "$@" | tail -n +2 | wc -l
}

# carriers CARRIER REASON [FILTER...]: all that are listed have that carrier and that reason
carriers() {
	local carrier=$1 reason=$2

	shift 2
	"$work/sdpctl" list "$@" > "$work/out"
	cat "$work/out"
	awk -v carrier="$carrier" -v reason="$reason" '
		$1 == "ESTABLISHED" && ($2 != carrier || $9 != reason) { bad = 1 }
		$1 == "ESTABLISHED" { n++ }
		END { exit bad || !n }' "$work/out"
}

logged() {
	dmesg | tail -n 20 | grep -E "sdp: sdpctl\[[0-9]+\], user 0: $1\$"
}

# id PORT: of the end that has connected to it
id() {
	"$work/sdpctl" list -j "port=$1" | python3 -c '
import json, sys
print([x["id"] for x in json.load(sys.stdin)["endpoints"] if x["peer"].endswith(sys.argv[1])][0])
' ":$1"
}

same() {
	"$build/tools/sdpstat/sdpstat" "$@" > "$work/stat" &&
		"$work/sdpctl" list "$@" | diff "$work/stat" -
}

refusals() {
	ctl 2 'no connections given' return &&
		ctl 2 'exclude each other' return -a port=1 &&
		ctl 2 'unknown command frob' frob && ctl 2 'invalid option' offload -s &&
		ctl 2 'has no option --stay' list --stay &&
		ctl 2 'has no option --wait' list --wait 10 &&
		ctl 2 'not a time' return -a -w 0 &&
		ctl 2 'unknown filter x' list x=1 && ctl 2 'no command given' &&
		ctl 2 'not a number' return id=x
}

as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

user() {
	as_user "$work/sdpctl" return -a > "$work/out" 2>&1 && return 1
	cat "$work/out"
	grep -q CAP_NET_ADMIN "$work/out"
}

# The checked kernel has no userfaultfd(2).
held=6
[ "$KERNEL" != debug ] || held=0
plan $((79 + held))
check "a machine" start
check "wrong arguments are named" refusals
check "nothing to return" ctl 0 '^0 connections returned$' return --all
coproc sockets { exec python3 -u "$root/selftests/sock/stat.py" 2>&1; }
# shellcheck disable=SC2154 # coproc sets it
program=$sockets_PID
check "a connection" tell "c, s = connect(AF_INET, '127.0.0.1', 7001); both(c, s)"
check "has moved" carriers local - port=7001
check "it is listed as by sdpstat" same -ap
check "filters" test "$(count address=127.0.0.1 program=python3 port=7001)" = 2
check "that hold for none" test "$(count address=127.0.0.2)$(count program=sh)$(count id=1)" = 000
check "another namespace has no connection" unshare --net "$work/sdpctl" return --all
check "nor finds this one" tell 'in_child(elsewhere, (0, errno.ENOENT, 0), c)'
check "another user may not move it" tell 'in_child(as_user, (0, errno.EPERM, 0), c)'
check "nor see it" user
check "it has stayed" carriers local - port=7001
check "it returns" ctl 0 '^1 connection returned$' return port=7001
check "both directions are with TCP" carriers TCP tool port=7001
check "the log says who did it" logged '1 connection returned'
check "again, there is nothing to do" ctl 0 '^0 connections returned$' return port=7001
check "it carries a little" tell 'both(c, s, 100, 2)'
check "and stays" carriers TCP tool port=7001
check "it carries as much again" tell 'both(c, s)'
check "and moves" carriers local - port=7001
check "a program reads a part" tell 'c.send(b"x" * 777); s.recv(100)'
check "its bytes are waited for in vain" ctl 1 \
	":7001 127.* python3\($program\): its program has not read 677 bytes" \
	return --wait 0.3 port=7001
"$work/sdpctl" return --wait 60 port=7001 > "$work/waits" 2>&1 &
waits=$!
check "the program reads the rest" tell 's.recv(677)'
wait $waits
check "and TCP has it all" test $? = 0
check "many connections" tell \
	"many = [connect(AF_INET, '127.0.0.1', 7100 + i) for i in range(20)]"
check "move" tell '[both(*m) for m in many]'
check "all of them return" ctl 0 '^20 connections returned$' return -a
check "they are with TCP" test "$(count carrier=local)$(count reason=tool)" = 042
check "it waits for those that are back" ctl 0 '^0 connections' return -a -w 5
check "to be offloaded, though they have carried little" ctl 0 '^20 connections offloaded$' \
	offload "port=$(seq -s , 7100 7119)"
check "the log says it, too" logged '20 connections offloaded'
check "they carry a message" tell '[both(*m, 9, 2) for m in many]'
check "and have moved" test "$(count carrier=local)" = 40
tell '[x.close() for m in many for x in m]'

check "the first one moves again" tell 'o = c, s; both(c, s)'
check "it returns for good" ctl 0 '^1 connection returned$' return --stay port=7001
check "says who has said so" carriers TCP never "id=$(id 7001)"
check "it carries much" tell "both(c, s); both(c, s)"
check "and stays" test "$(count carrier=TCP port=7001)" = 2
check "an offload is refused" ctl 1 'it stays with TCP: never' offload port=7001

check "a young connection" tell "c, s = connect(AF_INET, '127.0.0.1', 7002)"
check "looks for a carrier" ctl 0 '^1 connection offloaded$' offload port=7002
check "and moves with the next messages" tell 'both(c, s, 9, 2)'
check "at once" carriers local - port=7002
check "an option keeps another with TCP" tell \
	"c, s = connect(AF_INET, '127.0.0.1', 7003); slow(c, s)"
check "an offload says which" ctl 1 'it stays with TCP: pacing' offload port=7003

check "a user's own connection" tell \
	"os.seteuid(65534); c, s = connect(AF_INET, '127.0.0.1', 7004); os.seteuid(0); both(c, s)"
check "may be returned by the user" tell 'in_child(as_user, (0, 0, 1), c)'
check "which it is" carriers TCP tool port=7004
check "words that are wrong" tell 'wrong_words(c)'

if [ $held != 0 ]; then
	check "a call keeps its socket" tell \
		"c, s = connect(AF_INET, '127.0.0.1', 7005); both(c, s); hole = Hole(); hole.send(c)"
	check "which is waited for" ctl 1 'a call of its program keeps the socket' return port=7005
	timeout -s INT 0.3 "$work/sdpctl" return -w 30 port=7005
	check "or not any more" test $? = 124
	timeout 60 "$work/sdpctl" return --wait 50 port=7005 > "$work/waits" 2>&1 &
	waits=$!
	check "the call ends" tell 'hole.fill()'
	wait $waits
	check "and the connection returns" test $? = 0
	check "without a byte lost" tell 'assert s.recv(1000) == bytes(100)'
fi

# moves BYTES MESSAGES: a connection that has a carrier of messages
moves() {
	tell "both(c, s, $1, $2)" && carriers test - "port=$port"
}

by_tcp() {
	test "$(count carrier=TCP port="$port")" = 2
}

# reasons ONE OTHER: of both ends
reasons() {
	test "$(count reason="$1" port="$port")$(count reason="$2" port="$port")" = 11
}

port=7010
check "a carrier" insmod "$module"
check "a connection" tell "c, s = connect(AF_INET, '127.0.0.1', $port)"
check "moves to it" until_true 20 moves 1000 20
client=$(id $port)
check "one end returns, and the other one is asked" ctl 0 '^1 connection returned$' \
	return --wait 20 "id=$client"
check "both directions are with TCP" by_tcp
check "and say why" reasons tool leave
check "it carries a little" tell 'both(c, s, 100, 2)'
check "and stays" test "$(count carrier=TCP port="$port")" = 2
check "it carries more, and moves" until_true 20 moves 1000 50
check "something waits to be read" tell 'c.send(b"x" * 777)'
check "that is waited for in vain" ctl 1 'its program has not read 777 bytes' \
	return -w 0.3 port=$port
check "until it is read" tell 's.recv(777)'
check "then TCP has it all" ctl 0 '^0 connections returned$' return -w 20 port=$port
check "it moves again" until_true 20 moves 1000 50
echo 1 > $parameters/frozen
check "a peer that cannot be asked" ctl 1 'its peer has not returned what it sends' \
	return -w 0.5 "id=$client"
echo 0 > $parameters/frozen
check "returns later" ctl 0 connection return -w 20 "id=$client"
check "it moves once more" until_true 20 moves 1000 50
idle=$(sysctl -n net.sdp.idle)
sysctl -qw net.sdp.idle=1
tell 'both(c, s, 1, 1)'
check "its carrier goes, as nobody uses it" until_true 20 by_tcp
check "one end returns, and waits for nobody" ctl 0 '^1 connection returned$' \
	return --wait 20 "id=$client"
check "the other one is left alone" test "$(count reason=leave port=$port)" = 0
check "without a byte lost" tell 'both(c, s, 100, 2)'
check "it moves again" until_true 20 moves 1000 50
check "and is idle again" until_true 20 by_tcp
check "an end that closes is heard to its last byte" tell 'last(c, s, 250000)'
sysctl -qw net.sdp.idle="$idle"
port=7011
check "a young connection" tell "c, s = connect(AF_INET, '127.0.0.1', $port)"
check "asks for the carrier" ctl 0 '^1 connection offloaded$' offload "id=$(id $port)"
check "and moves with the next messages" until_true 20 moves 9 1
check "all of them close" tell "[x.close() for x in (c, s, *o)]"
check "the carrier goes" rmmod sdp_carrier_test
finish
