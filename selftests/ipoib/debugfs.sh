#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the driver shows of groups and paths in debugfs.

. "$(dirname "$0")/lib.sh"

dir=$debugfs
bcast=ff12:401b:ffff:0:0:0:ffff:ffff
group=ff12:401b:ffff:0:0:0:f4d:707
nowhere=02:00:00:00:00:00

# has FILE GID NAME VALUE
has() {
	same "$(field "$1" "$2" "$3")" "$4"
}

listed() {
	grep -qx "GID: $2" "$dir/$1"
}

# fields FILE NAME...: every entry has them, in this order, and first.
fields() {
	local file=$1

	shift
	awk -v RS= -F '\n' -v names="$*" '
		BEGIN { n = split(names, name, " ") }
		{
			for (i = 1; i <= n; i++)
				if ($(i + 1) !~ "^ +" name[i] ": +[^ ]")
					bad = $0
		}
		END { print bad; exit NR == 0 || bad != "" }' "$dir/$file"
}

broadcast() {
	has "$me"_mcg $bcast complete yes && has "$me"_mcg $bcast send_only no &&
	has "$me"_mcg $bcast queuelen 0
}

send_only() {
	echo datagram | socat -u - UDP4-DATAGRAM:239.77.7.7:7000,ip-multicast-if=10.77.0.1
	until_true 10 has "$me"_mcg $group complete yes
	has "$me"_mcg $group send_only yes
}

listen() {
	local listener status

	socat -u UDP4-RECV:7001,reuseaddr,ip-add-membership=239.77.7.7:ib0 - &
	listener=$!
	until_true 10 has "$me"_mcg $group send_only no
	status=$?
	kill "$listener"
	wait "$listener"
	[ $status -eq 0 ] && until_true 10 not listed "$me"_mcg $group &&
	not listed "$me"_mcg $group
}

path() {
	local port=/sys/class/infiniband/softib1/ports/1 rate
	local -a values

	no_loss -q -c 1 10.77.0.2 || return
	rate=$(cut -d ' ' -f 1 "$port"/rate)
	for i in complete DLID SL rate; do
		values+=("$(field "$me"_path "$(gid 2)" "$i")")
	done
	same "${values[*]}" \
		"yes 0x$(printf %04x "$(< "$port"/lid)") 0 $rate.0"
}

# strangers COUNT: sends to so many GIDs that no port has. The subnet
# administrator has no path to them.
strangers() {
	local i

	for i in $(seq "$1"); do
		printf 'neigh replace 10.77.%d.%d lladdr %s:%02x:%02x dev ib0 nud permanent\n' \
			$((1 + i / 200)) $((1 + i % 200)) \
			00:00:00:77:fe:80:00:00:00:00:00:00:$nowhere $((i / 256)) $((i % 256))
	done | ip -batch - && ip route replace 10.77.0.0/16 dev ib0 || return
	for i in $(seq "$1"); do
		echo x > /dev/udp/10.77.$((1 + i / 200)).$((1 + i % 200))/9
	done
}

# Once each, in a file of many pages.
all_listed() {
	local n

	n=$(grep -cE 'GID: fe80:0:0:0:200:0:0:[0-9a-f]+$' "$dir/$me"_path)
	same "$n" "$1" &&
	same "$(grep GID: "$dir/$me"_path | sort | uniq -d)" ""
}

many() {
	strangers 400 || return
	# Once is enough: while a look goes on, another path may come.
	until_true 20 all_listed 400 || all_listed 400
}

# refused_at_once: one more stranger, who is asked for once, as there is an answer.
refused_at_once() {
	local n

	another=$((another + 1))
	printf -v n %02x $another
	ip neigh replace 10.77.201.1 dev ib0 nud permanent \
		lladdr "00:00:00:77:fe:80:00:00:00:00:00:00:$nowhere:60:$n"
	echo x > /dev/udp/10.77.201.1/9
	until_true 2 has "$me"_path "fe80:0:0:0:200:0:0:60$n" state failed
	has "$me"_path "fe80:0:0:0:200:0:0:60$n" tries 1
}

no_path() {
	local another=0 gid=fe80:0:0:0:200:0:0:7

	has "$me"_path $gid complete no && has "$me"_path $gid DLID "" || return
	# The kernel's driver has no more about it.
	ours || return 0
	until_true 10 has "$me"_path $gid state failed
	has "$me"_path $gid state failed && has "$me"_path $gid queuelen 0 &&
	! has "$me"_path $gid error 0 || return
	# Where the answer took more than a second there was another question before it.
	has "$me"_path $gid tries 1 || until_true 10 refused_at_once
}

# What waits is counted. Nobody answers while the subnet administrator stands still.
waiting() {
	local gid=fe80:0:0:0:200:0:0:7fff status

	pkill -STOP -x opensm
	ip neigh replace 10.77.200.1 dev ib0 nud permanent \
		lladdr 00:00:00:77:fe:80:00:00:00:00:00:00:$nowhere:7f:ff
	ping -q -c 3 -i 0.2 -W 1 10.77.200.1 > /dev/null
	has "$me"_path $gid queuelen 3 && has "$me"_path $gid state resolving
	status=$?
	pkill -CONT -x opensm
	until_true 10 has "$me"_path $gid queuelen 0
	return $status
}

gone_when_down() {
	ip link set ib0 down
	same "$(cat "$dir/$me"_mcg "$dir/$me"_path)" ""
}

renamed() {
	ip link set ib0 down && ip link set ib0 name other0 &&
	[ -e $dir/other0_mcg ] && [ -e $dir/other0_path ] &&
	[ ! -e "$dir/$me"_mcg ] && [ ! -e "$dir/$me"_path ]
}

renamed_back() {
	ip link set other0 name ib0 && address_up node1 1 &&
	[ ! -e $dir/other0_mcg ] && [ ! -e $dir/other0_path ] &&
	me=$(debugfs_name node1) && until_true 10 carrier &&
	until_true 10 broadcast && broadcast
}

# A program that has a file open when it goes reads nothing more.
open_file() {
	local fd

	ip link set ib0 down &&
	exec {fd}< "$dir/$me"_mcg && ip link set ib0 name other0 || return
	! cat <&"$fd" 2> /dev/null || return
	exec {fd}<&-
	renamed_back
}

# Three files for each, and each tells of its own node, which has an address of
# nobody's that no other node knows.
namespaces() {
	local other

	other=$(debugfs_name node2)
	on node2 ip neigh replace 10.77.0.200 dev ib0 nud permanent \
		lladdr 00:00:00:77:fe:80:00:00:00:00:00:00:$nowhere:7f:fe
	on node2 ping -q -c 1 -W 1 10.77.0.200
	on node2 ping -q -c 1 -W 10 10.77.0.3
	find $dir -type f
	tail -n +1 "$dir/$me"_path "$dir/$other"_path

	same "$(find $dir -type f | wc -l)" $((3 * VM_NODES)) &&
	listed "$other"_path fe80:0:0:0:200:0:0:7ffe &&
	not listed "$me"_path fe80:0:0:0:200:0:0:7ffe &&
	has "$other"_path "$(gid 3)" complete yes
}

reader() {
	while [ ! -e /tmp/enough ]; do
		cat $dir/*
		sleep 0.01
	done
} > /dev/null 2>&1

# Reading while groups, paths, files and the interface come and go.
restless() {
	local status=0

	rm -f /tmp/enough
	reader &
	for _ in $(seq "$(fewer 5)"); do
		ip link set ib0 down && ip link set ib0 name other0 &&
		ip link set other0 name ib0 && address_up node1 1 &&
		until_true 10 carrier && strangers 20 || status=1
	done
	touch /tmp/enough
	wait
	me=$(debugfs_name node1)
	return "$status"
}

# The folder goes with the driver.
driver_gone() {
	rmmod ib_ipoib && [ ! -e $dir ]
}

driver_back() {
	echo "test: loads" > /dev/kmsg
	modprobe ib_ipoib && give_all && until_true 20 carrier &&
	me=$(debugfs_name node1) && until_true 10 broadcast && broadcast
}

# One line, with the version
named_once() {
	[ "$(dmesg | tac | sed '/test: loads/q' |
		grep -c 'ib_ipoib: the driver of sdpdev, version [0-9.]*$')" -eq 1 ]
}

if ours; then plan 18; else plan 14; fi
me=$(debugfs_name node1)
no_loss -q -c 1 10.77.0.2 > /dev/null
check "broadcast group is joined" broadcast
check "fields of groups" fields "$me"_mcg created queuelen complete send_only
check "fields of paths" fields "$me"_path complete
check "group that is only sent to" send_only
check "group that is listened to, and left" listen
check "path to a node" path
check "400 paths, each once" many
check "no path to where nobody is" no_path
# The kernel's own driver keeps some of its groups, names a file for one
# namespace only, and has no state.
ours && check "packets that wait" waiting
ours && check "nothing is left when the interface is down" gone_when_down
check "files follow the interface's name" renamed
renamed_back
result $? "and back"
open_file
result $? "a file that goes while it is read"
ours && check "one for each namespace" namespaces
restless
result $? "read while all changes"
check "the folder goes with the driver" driver_gone
driver_back
result $? "and comes back"
ours && check "and the log has one line of it" named_once
finish
