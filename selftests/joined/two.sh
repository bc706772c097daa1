# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of connections between programs of two machines.

. "$(dirname "$0")/../tap.sh"

build=${BUILD:-$(dirname "$(readlink -f "$0")")/../../build}
talk=$build/selftests/joined/talk
# How the other machine is asked, what the connections are to, and how many there are.
far=(machine 2 run)
to=10.77.0.2 v6='' n=2
declare -A said asks pid

# speak WHO COMMAND...
speak() {
	local fifo=/tmp/talk.$1 in out

	mkfifo "$fifo" || return
	exec {out}< <(exec "${@:2}" < "$fifo" 2>&1)
	# shellcheck disable=SC2034 # for the tests
	pid[$1]=$!
	exec {in}> "$fifo"
	rm "$fifo"
	said[$1]=$out asks[$1]=$in
}

# answer WHO WORD: what the program says begins so.
answer() {
	line=
	read -r -t 200 -u "${said[$1]}" line
	[[ $line = "$2"* && $line != *WRONG* ]] || { echo "$1: $line"; return 1; }
}

# ask LINE...: so it is, at both ends.
ask() {
	local who

	for who in client server; do
		echo "$*" >&"${asks[$who]}" || return
	done
	answer client ok && answer server ok
}

connections() {
	speak server "${far[@]}" "$talk" ${v6:+"$v6"} -l $to -n $n -b 4096 -p 150 &&
	answer server listens &&
	speak client "$talk" ${v6:+"$v6"} -c $to -n $n -b 4096 -p 150 &&
	answer client ready && answer server ready
}

# numbers N LINE: of an answer to "end": 2: what each end has received; 3: what it has sent
numbers() {
	sed -E "s/ [ab]([0-9]+) in ([0-9]+) out ([0-9]+)/ \1:\\$1/g" <<< "${2#ok}"
}

ended() {
	local client

	echo end >&"${asks[client]}" && echo end >&"${asks[server]}" &&
	answer client ok && client=$line && answer server ok || return
	echo "$client; $line"
	[ "$(numbers 2 "$client")" = "$(numbers 3 "$line")" ] &&
	[ "$(numbers 3 "$client")" = "$(numbers 2 "$line")" ]
}
