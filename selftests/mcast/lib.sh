# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests of unmodified programs (groups.py) under sdprun --mcast. The other node sends with
# sockets.

. "$(dirname "$0")/../ipoib/lib.sh"

# shellcheck disable=SC2034 # for the tests
sdprun=$VM_BUILD/libsdpdev/sdprun
groups=$(dirname "$0")/groups.py
# shellcheck disable=SC2034 # for the tests
group=239.77.7.1 gid=ff12:401b:ffff:0:0:0:f4d:701 sa=ff12:401b:ffff::f4d:701
# shellcheck disable=SC2034 # for the tests
group6=ff05::77:7 gid6=ff12:601b:ffff:0:0:0:77:7
folder=/run/mcast-programs only='' ports=''

shows() {
	[ "$(field "${me}_mcg" "${3-$gid}" "$1")" = "$2" ]
}

started() {
	grep -q "${2-ready}" "$folder/$1"
}

# begin NAME COMMAND...: with its input from a pipe, and its lines and the library's in files.
# Without a rule if the name is kernel; $only and $ports limit the rule.
begin() {
	local fd run=("$sdprun" --never "--mcast$only" ${ports:+--ports=$ports})

	[ "$1" != kernel ] || run=()
	rm -f "$folder/to.$1" "$folder/log.$1" && mkfifo "$folder/to.$1" || return
	exec {fd}<> "$folder/to.$1"
	SDPMCAST_LOG=$folder/log.$1 "${run[@]}" "${@:2}" <&"$fd" > "$folder/$1" 2>&1 &
	echo $! > "$folder/pid.$1"
	echo "$fd" > "$folder/fd.$1"
}

# python NAME HOW PORTS GROUP...
python() {
	begin "$1" python3 "$groups" "$2" ib0 "${@:3}" && until_true 20 started "$1" ||
		{ cat "$folder/$1"; return 1; }
}

# command NAME WORD...: the program has done that
command_of() {
	echo "${*:2}" > "$folder/to.$1"
	until_true 10 started "$1" "done ${*:2}" || { cat "$folder/$1"; return 1; }
}

end() {
	local name fd

	for name; do
		kill "$(< "$folder/pid.$name")" 2> /dev/null
		wait "$(< "$folder/pid.$name")" 2> /dev/null
		read -r fd < "$folder/fd.$name"
		exec {fd}>&-
		rm -f "$folder/pid.$name"
	done
}

# row NAME COMMAND...: checks; a program that is left over ends
row() {
	local pid

	check "$@"
	for pid in "$folder"/pid.*; do
		[ ! -e "$pid" ] || end "${pid##*/pid.}"
	done
}

# send TEXT COUNT [GROUP [PORT]]
send() {
	on node2 python3 "$groups" send ib0 "${4-7400}" "$1" "$2" "${3-$group}"
}

logged() {
	grep -q "$2" "$folder/log.$1"
}

# offloaded NAME [GROUP GID]: by the queue pair, and the interface has no part in it
offloaded() {
	until_true 20 logged "$1" "${2-$group}: by the queue pair" &&
	until_true 10 shows attached no "${3-$gid}" ||
		{ cat "$folder/log.$1" "$folder/$1"; return 1; }
}

# by_kernel NAME REASON
by_kernel() {
	until_true 10 logged "$1" "by the kernel: .*$2" && until_true 10 shows attached yes ||
		{ cat "$folder/log.$1"; return 1; }
}

# reached NAME [GROUP [PORT]]: the switches learn of a member some time after the member knows
reached() {
	send probe 1 "${@:2}" && until_true 1 started "$1" ' probe 1$'
}

# twenty NAME TEXT [GROUP [PORT]]: each of 20 comes, once
twenty() {
	until_true 30 reached "$1" "${@:3}" && send "$2" 20 "${@:3}" &&
	until_true 10 started "$1" " $2 20\$" || { cat "$folder/$1" "$folder/log.$1"; return 1; }
	same "$(grep -c " $2 [0-9]*\$" "$folder/$1")" 20
}

mkdir -p $folder
me=$(debugfs_name node1)
