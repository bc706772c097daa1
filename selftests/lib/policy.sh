#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libsdpdev.conf: which rule counts, what is said of wrong ones, and how a
# connection is explained.

. "$(dirname "$0")/tap.sh"

SDPRUN=$(readlink -f "$SDPRUN")
export SDPDEV_CONF=$WORK/conf
chmod 755 "$WORK"

rules() {
	printf '%s\n' "$@" > "$SDPDEV_CONF"
	chmod 644 "$SDPDEV_CONF"
}

# wrong TEXT LINE...: with these lines sdprun says that, and runs nothing
wrong() {
	local text=$1 status=0

	shift
	rules "$@"
	"$SDPRUN" --endpoint touch "$WORK/ran" 2> "$WORK/err" || status=$?
	if [ $status -ne 125 ] || [ -e "$WORK/ran" ] || [ "$(wc -l < "$WORK/err")" -ne 1 ] ||
	   ! grep -qF "sdprun: $SDPDEV_CONF:$text" "$WORK/err"; then
		status=1
		diag "$WORK/err"
	else
		status=0
	fi
	result $status "wrong: ${*: -1}"
}

# Without /dev/sdp, as on a machine that has not loaded the module.
without_device() {
	unshare -m sh -c 'mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 &&
		exec "$@"' sh "$@"
}

# goes CARRIER PORT [COMMAND...]: what carries a connection of socat
goes() {
	local want=$1 port=$2

	shift 2
	SDPDEV_DEBUG=1 "$@" "$SDPRUN" --endpoint socat -u OPEN:/dev/null "TCP:10.77.0.2:$port" 2> "$WORK/err"
	carried "$want"
}

# carried CARRIER: what the last one's diagnostics say
carried() {
	grep -q "connected to .* over $1" "$WORK/err" || { diag "$WORK/err"; return 1; }
}

# serve PORT: socat there, by the rules of now; it ends with its first connection
serve() {
	start 2 "$SDPRUN" --endpoint socat -u "TCP-LISTEN:$1,reuseaddr" OPEN:/dev/null 2> "$WORK/server.err"
	SERVER=$PID
	until_true 20 listens "$1" || bail "socat does not listen"
}

listens() {
	on 2 "$SDPSTAT" -l | grep -q ":$1 "
}

# explains STATUS TEXT ARGUMENT...: sdprun --check
explains() {
	local want=$1 text=$2 status=0

	shift 2
	"$SDPRUN" --check "$@" > "$WORK/out" 2>&1 || status=$?
	if [ "$status" -ne "$want" ] || ! grep -Eq -- "$text" "$WORK/out"; then
		echo "# exit status $status"
		diag "$WORK/out"
		return 1
	fi
}

# refuses CASE [COMMAND...]: every way to TCP is as the program has it for the case, and one
# line says which rule refuses it
refuses() {
	local how=$1 status=0

	shift
	"$@" "$SDPRUN" --endpoint "$BUILD/selftests/lib/refused" "$how" > "$WORK/out" 2> "$WORK/err" ||
		status=$?
	[ "$(grep -c "sdpdev\[.*conf:1 says 'use sdp" "$WORK/err")" -eq 1 ] || status=1
	[ "$status" -eq 0 ] ||
		{ grep -A 1 "^not\|^Bail" "$WORK/out"; diag "$WORK/err"; return 1; }
}

plan 74

wrong "1: 'ues': a rule begins with 'use'" "ues sdp connect * *"
wrong "3: words are missing" "# a comment" "" "use sdp connect *"
wrong "2: carrier 'spd' is none" "use tcp * * *   # good" "use spd connect * *"
wrong "1: direction 'send' is none" "use sdp send * *"
wrong "1: '10.0.0/8' is no address" "use sdp connect * 10.0.0/8"
wrong "1: '10.0.0.0/33:80' is no address" "use sdp connect * 10.0.0.0/33:80"
wrong "1: 'fd77::1' is no address" "use sdp connect * fd77::1"
wrong "1: '[fd77::]/129' is no address" "use sdp connect * [fd77::]/129"
wrong "1: 'host:80' is no address" "use sdp connect * host:80"
wrong "1: '*:65536': the port" "use sdp connect * *:65536"
wrong "1: '*:90-80': the port" "use sdp connect * *:90-80"
wrong "1: '*:': the port" "use sdp connect * *:"
wrong "1: 'group': only 'user USER'" "use sdp connect * * group root"
wrong "1: user 'no-such-user'" "use sdp connect * * user no-such-user"
wrong "1: words are missing" "use sdp connect * * user"
wrong "1: 'root' is one word too many" "use sdp connect * * user root root"
rm "$SDPDEV_CONF"
"$SDPRUN" --endpoint true 2> "$WORK/err"
check "a file that is not there is missed" test $? -eq 125
check "by its name" grep -q "conf: No such file" "$WORK/err"
mkdir "$SDPDEV_CONF"
"$SDPRUN" --endpoint true 2> "$WORK/err"
check "and a folder in its place has no rules" test $? -eq 125
check "as is said, too" grep -q "conf: Is a directory" "$WORK/err"
rmdir "$SDPDEV_CONF"
rules "use spd"
LD_PRELOAD=$(dirname "$SDPRUN")/libsdpdev-preload.so sh -c ':' 2> "$WORK/err"
check "a program that was not asked first says what is wrong" \
	grep -q 'sdpdev\[.*conf:1: words are missing.*; TCP is refused' "$WORK/err"
LD_PRELOAD=$(dirname "$SDPRUN")/libsdpdev-preload.so "$BUILD/selftests/lib/refused" unknown \
	> "$WORK/out" 2> "$WORK/err"
status=$?
[ $status -eq 0 ] || diag "$WORK/out"
result $status "and has no TCP"

# A rule "use sdp" is never met by TCP, whatever is there of SDP.
rules "use sdp connect * 127.0.0.1:7001" "use sdp connect * [::1]:7001" \
	"use sdp listen * 127.0.0.1:7002" "use sdp listen * [::]:7002"
chmod -R go+rX "$WORK"
check "use sdp: no TCP" refuses device
check "nor without /dev/sdp" refuses nothing without_device
check "as is said" grep -q "and /dev/sdp: No such file" "$WORK/err"
check "nor with an older module" refuses nothing env LD_PRELOAD="$BUILD/selftests/lib/older.so"
check "as is said" grep -q "and /dev/sdp: Protocol not supported" "$WORK/err"
limit=/sys/module/sdpdev/parameters/user_endpoints
endpoints=$(< $limit)
echo 0 > $limit
check "nor with no endpoint left" refuses nothing setpriv --reuid nobody --clear-groups
echo "$endpoints" > $limit
check "as is said" grep -q "and /dev/sdp: No buffer space" "$WORK/err"
rules "use sdp * busybox *"
"$SDPRUN" --endpoint busybox true 2> "$WORK/err"
check "nor without the library" test $? -eq 125
check "as is said" grep -q "statically linked.*conf:1 refuses TCP: use sdp" "$WORK/err"
rules "use sdp * * *"
cp /bin/true "$WORK/unreadable"
chmod 711 "$WORK/unreadable"
setpriv --reuid nobody --clear-groups "$SDPRUN" --endpoint "$WORK/unreadable" 2> "$WORK/err"
check "nor in a program that cannot be read" test $? -eq 125
check "as is said" grep -q "cannot be read.*conf:1 refuses TCP: use sdp" "$WORK/err"
# As many interpreters as the kernel follows.
next=$(command -v busybox)
for i in 5 4 3 2 1; do
	printf '#!%s\n' "$next" > "$WORK/script$i"
	chmod 755 "$WORK/script$i"
	next=$WORK/script$i
done
"$SDPRUN" --endpoint "$next" 2> "$WORK/err"
check "nor behind a chain of interpreters" test $? -eq 125

# A server that stays.
rules "use both * * *"
start 2 "$SDPRUN" --endpoint socat -u TCP-LISTEN:9000,fork,reuseaddr OPEN:/dev/null
start 2 "$SDPRUN" --endpoint socat -u TCP6-LISTEN:9001,fork,reuseaddr OPEN:/dev/null
wait_port 2 9000 && wait_port 2 9001 || bail "socat did not start"

rules ""
check "no rule: SDP" goes SDP 9000
rules "use tcp connect * *:9000" "use sdp connect * *"
check "the first that fits counts" goes TCP 9000
check "the rule is told" grep -q "conf:1: use tcp connect" "$WORK/err"
check "others are not it" goes SDP 9001
rules "use tcp listen * *:9000" "use tcp * curl *" "use tcp client /usr/bin/cu* *"
check "another direction, another program" goes SDP 9000
rules "use tcp connect soc?t *"
check "a pattern for the program's name" goes TCP 9000
rules "use tcp connect /usr/*/socat* *"
check "a pattern for the program's file" goes TCP 9000
rules "use tcp connect /usr/socat* *"
check "which has to fit" goes SDP 9000
rules "use tcp connect * 10.77.0.3/31"
check "a prefix" goes TCP 9000
rules "use tcp connect * 10.77.0.3"
check "an address" goes SDP 9000
rules "use tcp connect * *:9001-9005"
check "ports" goes TCP 9001
check "up to the last" goes SDP 9000
rules "use tcp connect * * user nobody"
check "a user" goes TCP 9000 setpriv --reuid nobody --clear-groups
check "another" goes SDP 9000
rules "use tcp connect * * user 65534"
check "a user's number" goes TCP 9000 setpriv --reuid nobody --clear-groups
rules "use tcp connect * [fd77::]/16:9001"
SDPDEV_DEBUG=1 "$SDPRUN" --endpoint socat -u OPEN:/dev/null "TCP:[fd77::2]:9001" 2> "$WORK/err"
check "an IPv6 prefix" carried TCP
rules "use tcp connect * 10.77.0.0/24"
SDPDEV_DEBUG=1 "$SDPRUN" --endpoint socat -u OPEN:/dev/null "TCP:[::ffff:10.77.0.2]:9001" 2> "$WORK/err"
check "IPv4 by IPv6" carried TCP
rules "use tcp server * *:*" "use tcp client * *"
SDPDEV_DEBUG=1 "$SDPRUN" --endpoint socat -u OPEN:/dev/null "TCP:10.77.0.2:9000" 2> "$WORK/err"
check "all is TCP's: no endpoint is made" test ! -s "$WORK/err"
"$SDPRUN" --endpoint "$BUILD/selftests/lib/families" tcp > "$WORK/out"
check "except for who asks for one" test $? -eq 0
SDPDEV_MODE=only
export SDPDEV_MODE
check "SDPDEV_MODE goes before it" goes SDP 9000
"$SDPRUN" --endpoint "$BUILD/selftests/lib/refused" only > "$WORK/out" 2> "$WORK/err"
status=$?
[ $status -eq 0 ] || diag "$WORK/out"
result $status "only: no connection over TCP, whoever made the socket"
check "as is said" grep -q "no connection: SDPDEV_MODE says 'only'" "$WORK/err"
unset SDPDEV_MODE

# Listeners.
rules "use tcp listen socat *:9002" "use sdp listen socat *:9003"
serve 9002
check "a server on TCP" goes TCP 9002
check "as the client is told" grep -q "the peer has no SDP listener" "$WORK/err"
wait "$SERVER"
serve 9003
socat -u OPEN:/dev/null TCP:10.77.0.2:9003 2> "$WORK/err"
check "a server on SDP refuses TCP" grep -q "Connection refused" "$WORK/err"
check "and takes SDP" goes SDP 9003
wait "$SERVER"

# A server that has only TCP.
start 2 socat -u TCP-LISTEN:9004,fork,reuseaddr OPEN:/dev/null
wait_port 2 9004 || bail "socat did not start"
rules "use both connect socat *"
check "a server without the library: TCP" goes TCP 9004
rules "use sdp connect socat *:9004"
socat_status=0
"$SDPRUN" --endpoint socat -u OPEN:/dev/null TCP:10.77.0.2:9004 2> "$WORK/err" || socat_status=$?
check "not where the rule says SDP" grep -q "Connection refused" "$WORK/err"
check "as the program's exit status says" test $socat_status -eq 1

# The file that is looked for.
unset SDPDEV_CONF
echo "use tcp connect socat *" > /etc/libsdpdev.conf
check "/etc/libsdpdev.conf" goes TCP 9000

check "--check: a rule for a program" explains 1 'rule .*/etc/libsdpdev.conf:1: use tcp connect' \
	10.77.0.2 9000 socat
check "says TCP" grep -q '^result *TCP$' "$WORK/out"
check "--check: for every program" explains 0 'about it$' 10.77.0.2 9000
check "says SDP" grep -q '^result *SDP$' "$WORK/out"
check "by which interface" grep -q '^route *by ib0 (IPoIB)' "$WORK/out"
check "--check: loopback" explains 2 'route *by lo' 127.0.0.1 9000
check "--check: no route" explains 2 'none: Network is unreachable' 192.0.2.1 9000
check "--check: nobody listens" explains 2 'has no SDP listener' fd77::2 9009
check "--check: no such host" explains 2 'sdprun: nowhere.invalid, port 1:' nowhere.invalid 1
rm /etc/libsdpdev.conf
check "--check: without rules" explains 0 'there is no /etc/libsdpdev.conf' 10.77.0.2 9000
finish
