#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Exit status, input, output and arguments of the command pass unchanged.

. "$(dirname "$0")/../tap.sh"

tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT

vm() {
	tools/vm/run --bare --kernel "$KERNEL" "$@"
}

plan 13

# One boot for what one command can tell.
# shellcheck disable=SC2016 # for the VM's shell
vm -- bash -c 'pwd; id -u; uname -r; printf "%s|" "$@"; echo
	echo to stderr >&2; touch new && ls new; exit 7' \
	bash 'a b' '' "it's" '$HOME "*"' $'tab\tnewline\nend' \
	> "$tmp/out" 2> "$tmp/err" < /dev/null
result $((! ($? == 7))) "exit status 7"
check "working directory is the project's root" test \
	"$(sed -n 1p "$tmp/out")" = "$(pwd -P)"
check "root" test "$(sed -n 2p "$tmp/out")" = 0
check "kernel $KERNEL" grep -q "^$KERNEL\." <(sed -n 3p "$tmp/out")
check "arguments" test "$(sed -n 4,5p "$tmp/out")" = \
	$'a b||it\'s|$HOME "*"|tab\tnewline\nend|'
check "standard error is its own" test "$(< "$tmp/err")" = "to stderr"
check "the project can be written to" grep -qx new "$tmp/out"
check "what was written is gone" test ! -e new

# Every byte, more than any buffer, and a slow reader at the end.
head -c 5000000 /dev/urandom > "$tmp/in"
printf '\r\n\0\003\004\032\377' >> "$tmp/in"
vm -- cat < "$tmp/in" > "$tmp/out"
check "5 MB through standard input and output" cmp "$tmp/in" "$tmp/out"
vm -- head -c 1500000 /dev/zero < /dev/null |
	{ dd bs=1 count=1 of=/dev/null status=none; sleep 8; wc -c; } > "$tmp/out"
check "output is whole when the reader is slow" test "$(< "$tmp/out")" = 1499999

vm -- true <&-
result $? "standard input closed"
# shellcheck disable=SC2016 # for the VM's shell
vm -- sh -c 'kill -TERM $$' < /dev/null
result $((! ($? == 143))) "killed by a signal: 128 + 15"
vm -- no-such-program < /dev/null 2> "$tmp/err"
[ $? -eq 127 ] && grep -q no-such-program "$tmp/err"
result $? "no such program: 127 and a message"
finish
