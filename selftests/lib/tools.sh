#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdprun and sdpstat: what they say, and how they fail.

. "$(dirname "$0")/tap.sh"

# said FILE TEXT: the file has the text
said() {
	grep -qF -e "$2" "$1" || { diag "$1"; return 1; }
}

silent() {
	[ ! -s "$1" ] || { diag "$1"; return 1; }
}

# gives STATUS COMMAND...: with its output in out and err
gives() {
	local want=$1 got=0

	shift
	"$@" > "$WORK/out" 2> "$WORK/err" || got=$?
	[ "$got" -eq "$want" ] || { echo "# exit status $got"; diag "$WORK/err"; return 1; }
}

# Without /dev/sdp, as on a machine that has not loaded the module.
without_device() {
	unshare -m sh -c 'mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 &&
		exec "$@"' sh "$@"
}

valid_json() {
	python3 -m json.tool < "$1" > /dev/null
}

# What a connection of 1000 bytes leaves, on both ends, while it is open.
connection() {
	start 2 "$SDPRUN" --endpoint socat -u TCP-LISTEN:9000,reuseaddr "CREATE:$WORK/got"
	wait_port 2 9000 || bail "socat did not start"
	mkfifo "$WORK/hold"
	{ head -c 1000 /dev/zero; cat "$WORK/hold"; } |
		"$SDPRUN" --endpoint socat -u - TCP:10.77.0.2:9000 &
	until_true 20 test -s "$WORK/got" || bail "nothing arrived"
}

# Every variable that the manual page has.
all_variables() {
	local name

	while read -r name; do
		said "$WORK/out" "$name=" || return
	done < <(sed -n 's/^\.B \(SDPDEV_[A-Z]*\)$/\1/p' Documentation/man/sdprun.1)
}

plan 47

check "sdprun --help" gives 0 "$SDPRUN" --help
check "shows how to use it" said "$WORK/out" "Usage: sdprun PROGRAM"
check "and every variable" all_variables
check "sdprun --version" gives 0 "$SDPRUN" --version
check "sdprun without a program" gives 125 "$SDPRUN" --endpoint
check "sdprun with an unknown option" gives 125 "$SDPRUN" --frob
check "is named" said "$WORK/err" "--frob"
check "sdprun with a program that is not there" gives 127 "$SDPRUN" --endpoint no-such-program
check "is named" said "$WORK/err" "no-such-program: program not found"
: > "$WORK/text"
chmod +x "$WORK/text"
check "sdprun with what cannot be executed" gives 126 "$SDPRUN" --endpoint "$WORK"
check "passes the exit status on" gives 7 "$SDPRUN" --endpoint sh -c 'exit 7'
# shellcheck disable=SC2016 # for the new shell to expand
check "passes arguments on" gives 0 "$SDPRUN" --endpoint -- sh -c 'test "$1" = "a b"' sh 'a b'
check "and says nothing" silent "$WORK/err"
check "keeps LD_PRELOAD" gives 0 env LD_PRELOAD=libc.so.6 "$SDPRUN" --endpoint printenv LD_PRELOAD
# shellcheck disable=SC2016 # for the loader to expand
check "behind its own" said "$WORK/out" 'libsdpdev-preload-$PLATFORM.so:libc.so.6'
check "a static program" gives 0 "$SDPRUN" --endpoint busybox true
check "is warned of" said "$WORK/err" "statically linked"
cp /bin/true "$WORK/setuid"
chmod 755 "$WORK"
chmod 4755 "$WORK/setuid"
check "a setuid program" gives 0 setpriv --reuid 65534 "$(readlink -f "$SDPRUN")" --endpoint "$WORK/setuid"
check "is warned of" said "$WORK/err" "other rights"
check "without /dev/sdp a program runs" gives 0 without_device "$SDPRUN" --endpoint echo hello
check "with its output" said "$WORK/out" "hello"
check "and a warning" said "$WORK/err" "is the module sdpdev loaded?"
check "with SDPDEV_MODE=only as well" gives 0 without_device env SDPDEV_MODE=only "$SDPRUN" --endpoint true
check "which it says" said "$WORK/err" "loaded?); SDPDEV_MODE=only refuses TCP"
check "with an older module" gives 0 env LD_PRELOAD="$BUILD/selftests/lib/older.so" "$SDPRUN" --endpoint true
check "it says so" said "$WORK/err" "not the one of this sdprun's version; going on over TCP"
check "with an unknown SDPDEV_MODE" gives 125 env SDPDEV_MODE=maybe "$SDPRUN" --endpoint true
check "is named" said "$WORK/err" "SDPDEV_MODE is none of"
cp "$SDPRUN" "$WORK/alone"
check "without its library" gives 125 "$WORK/alone" --endpoint true
check "it says where it looked" said "$WORK/err" "neither beside this program nor in"

check "sdpstat --help" gives 0 "$SDPSTAT" --help
check "sdpstat with an unknown option" gives 2 "$SDPSTAT" --frob
check "sdpstat with an argument" gives 2 "$SDPSTAT" frob
connection
check "sdpstat of the client's node" gives 0 on 1 "$SDPSTAT"
check "the connection is there" grep -Eq \
	'^CONNECTED +SDP +10\.77\.0\.1:[0-9]+ +10\.77\.0\.2:9000 +1000 +0 .* - +[1-9][0-9]+$' \
	"$WORK/out"
check "sdpstat of the server's node" gives 0 on 2 "$SDPSTAT" -n
check "the connection is there" grep -Eq \
	'^CONNECTED +SDP +10\.77\.0\.2:9000 +10\.77\.0\.1:[0-9]+ +0 +1000 .* - +[1-9][0-9]+$' \
	"$WORK/out"
check "sdpstat -j" gives 0 on 2 "$SDPSTAT" -j
check "is JSON" valid_json "$WORK/out"
check "sdpstat -p" gives 0 on 2 "$SDPSTAT" -p kind=device
check "names the process" grep -Eq '10\.77\.0\.2:9000 .* socat\([0-9]+\)$' "$WORK/out"
check "sdpstat -s" gives 0 "$SDPSTAT" -s
check "counts the connection" grep -Eq '^connected +[1-9]' "$WORK/out"
check "sdpstat -sj" gives 0 "$SDPSTAT" -sj
check "is JSON" valid_json "$WORK/out"
start 2 "$SDPRUN" --endpoint socat -u TCP-LISTEN:9002,reuseaddr "CREATE:$WORK/got2"
wait_port 2 9002
check "sdpstat -l" gives 0 on 2 "$SDPSTAT" -l
check "the listener is there" grep -Eq '^LISTEN +- +0\.0\.0\.0:9002 ' "$WORK/out"
: > "$WORK/hold"
finish
