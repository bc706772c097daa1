# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests of this folder: TAP, the other node, and waiting. They run in
# node1 of tools/vm/run; the driver under test is named by VM_IPOIB.

# shellcheck source=/dev/null # written by tools/vm/run
. /run/vm

. "$(dirname "$0")/../tap.sh"

# on NODE COMMAND...: runs COMMAND in the other node, which may be in a machine of
# its own.
on() {
	local node=$1

	shift
	if [ "$VM_MACHINES" -gt 1 ]; then
		machine "${node#node}" run "$@"
	else
		ip netns exec "$node" "$@"
	fi
}

same() {
	[ "$1" = "$2" ] || { echo "got '$1', wanted '$2'"; return 1; }
}

carrier() {
	[ "$(< /sys/class/net/ib0/carrier)" = 1 ]
}

# replies LEAST: has this node's stack so many echo replies?
replies() {
	nstat -asz IcmpInEchoReps Icmp6InEchoReplies |
		awk -v least="$1" '{ n += $2 } END { print n; exit n < least }'
}

# all_answered OUTPUT REPLIES: what ping sent, when there were so many replies, was
# answered once. It waits for the last no longer than twice what one took until then.
all_answered() {
	local sent

	[[ $1 != *duplicates* ]] || return
	[[ $1 != *" 0% packet loss"* ]] || return 0
	sent=$(sed -n 's/^\([0-9]*\) packets transmitted.*/\1/p' <<< "$1")
	[ -n "$sent" ] && until_true 10 replies $(($2 + sent))
}

# no_loss PING-ARGUMENT...: every packet is answered, once.
no_loss() {
	local before output node

	before=$(replies 0)
	output=$(ping -W 10 "$@") || { echo "$output"; return 1; }
	if ! all_answered "$output" "$before"; then
		echo "$output"
		for node in node1 node2; do
			echo "$node:"
			on "$node" ethtool -S ib0 | grep -v ': 0$'
			on "$node" ip -s link show ib0
			on "$node" nstat -a | grep -E 'Fail|Drop|Err|Discard'
		done
		return 1
	fi
}

# path_known NODE-NUMBER: has this node a path to it, be it one that is asked for?
path_known() {
	grep -qx "GID: $(gid "$1")" "$debugfs/$(debugfs_name node1)_path"
}

# no_path NODE-NUMBER: there is no path to it, nor will there be: the subnet administrator
# is silent. Down and up forgets all paths; that node's stack, too, may have questions.
no_path() {
	ip link set ib0 down && on "node$1" ip neigh flush dev ib0 &&
	on "node$1" ip -6 neigh flush dev ib0 && address_up node1 1 &&
	until_true 10 carrier && pkill -STOP -x opensm || return
	not path_known "$1" || { pkill -CONT -x opensm; return 1; }
}

receiving() {
	[ -n "$(ip netns exec "$1" ss -Huln "sport = :7003")" ]
}

# came N: so many lines of what first_wait() sends
came() {
	[ "$(wc -l < /run/came)" -ge "$1" ]
}

# first_wait NODE-NUMBER: of a hundred packets to that node, all at once, the first 64
# wait for the path and arrive in order.
first_wait() {
	local n=$1 to=10.77.0.$1 receiver

	# SO_RCVBUFFORCE (33): the usual buffer has no room for them in an adapter's large ones.
	ip netns exec "node$n" python3 - > /run/came <<-EOF &
	import socket
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.SOL_SOCKET, 33, 1 << 20)
	s.bind(("", 7003))
	while True:
	    print(s.recv(9).decode(), flush=True)
	EOF
	receiver=$!
	until_true 10 receiving "node$n" && until_true 10 no_path "$n" &&
	ip neigh replace "$to" lladdr "$(lladdr "node$n")" dev ib0 nud permanent &&
	python3 - "$to" "$(pgrep -x opensm)" <<-EOF
	import os, signal, socket, sys
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	for i in range(1, 101):
	    s.sendto(b"%d" % i, (sys.argv[1], 7003))
	os.kill(int(sys.argv[2]), signal.SIGCONT)
	EOF
	pkill -CONT -x opensm
	until_true 20 came 64
	kill $receiver
	wait $receiver 2> /dev/null
	ip neigh del "$to" dev ib0
	same "$(paste -sd ' ' /run/came)" "$(seq -s ' ' 64)"
}

# large_pings N ADDRESS: so many, each after the answer to the one before. With -A
# the next goes when an answer is due, and two large ones may be more than ping's
# socket has room for.
large_pings() {
	local i

	for ((i = 0; i < $1; i++)); do
		no_loss -q -c 1 -s 60000 "$2" || return
	done
}

# steady ADDRESS...: no packet is lost. The kernel's driver drops all but three of
# those that wait while it asks for a path anew, as it does whenever the subnet
# manager tells of a change: with it, that may take a while.
steady() {
	local to

	for to; do
		! ours && until_true 20 no_loss -q -c 10 -i 0.05 "$to" ||
		no_loss -q -c 10 -i 0.05 "$to" || return
	done
}

# members MGID: how many ports the subnet administrator has in the group; its
# list of ports is for those who know the SM_Key.
members() {
	saquery --smkey 1 -m 2> /dev/null | awk -v g="MGID[.]*$1\$" '
		/MGID/ { found = $0 ~ g } /PortGid/ { n += found } END { print n + 0 }'
}

# member MGID NODE-NUMBER: is the node's port in it?
member() {
	local gid

	gid=$(on "node$2" cat "/sys/class/infiniband/softib$(($2 - 1))/ports/1/gids/0")
	gid=$(python3 -c 'import ipaddress, sys
print(ipaddress.ip_address(sys.argv[1]))' "$gid")
	saquery --smkey 1 -m 2> /dev/null | awk -v g="MGID[.]*$1\$" -v p="PortGid[.]*$gid\$" '
		/MGID/ { found = $0 ~ g } found && $0 ~ p { yes = 1 } END { exit !yes }'
}

# fails_with PATTERN COMMAND...: and says that
fails_with() {
	local pattern=$1 output

	shift
	output=$("$@" 2>&1) && { echo "not refused"; return 1; }
	echo "$output"
	[[ $output == *$pattern* ]]
}

not() {
	! "$@"
}

# timed NAME COMMAND...: checks, and tells how long that took
timed() {
	local start=${EPOCHREALTIME//[.,]/}

	check "$@"
	diag "$1: $(((${EPOCHREALTIME//[.,]/} - start) / 1000)) ms"
}

# counter NAME: one of the driver's own (ethtool -S).
counter() {
	ethtool -S ib0 | awk -v name="$1:" '$1 == name { print $2 }'
}

# joined GID: has an interface here joined the group, as debugfs has it? Nobody else
# is in it. The subnet administrator would be asked for longer than this may take.
joined() {
	cat /sys/kernel/debug/ipoib/*_mcg |
		awk -v RS= -v g="GID: $1" '{ split($0, line, "\n") }
			line[1] == g && /complete: *yes/ { yes = 1 } END { exit !yes }'
}

debugfs=/sys/kernel/debug/ipoib

# debugfs_name NODE: what its interface is called there.
debugfs_name() {
	local long

	long=ib0@$(netns_number "$1")
	if [ -e "$debugfs/${long}_mcg" ]; then echo "$long"; else echo ib0; fi
}

# field FILE GID NAME: the values of that field in the entry of that GID.
field() {
	awk -v RS= -v gid="GID: $2" -v name="$3:" '
		index($0, gid "\n") == 1 {
			for (i = 1; i < NF; i++)
				if ($i == name)
					print $(i + 1)
		}' "$debugfs/$1"
}

# lladdr NODE: the link-layer address of its interface.
lladdr() {
	on "$1" cat /sys/class/net/ib0/address
}

# address_up NODE NUMBER: addresses as the fabric was set up with, and up.
address_up() {
	ip -n "$1" -batch - <<-EOF
		address replace 10.77.0.$2/24 dev ib0
		address replace fd77::$2/64 dev ib0 nodad
		link set ib0 up
	EOF
}

# interface NODE-NUMBER: that of its port, in the first namespace.
interface() {
	local guid

	guid=$(sed -E 's/^.{20}//; s/(..)(..)(:|$)/\1:\2\3/g' \
		"/sys/class/infiniband/softib$(($1 - 1))/ports/1/gids/0")
	nsenter -t 1 -n ip -br link show | awk -v end="$guid\$" '$3 ~ end { print $1 }'
}

# The driver makes its interfaces in the first namespace, in the order in which
# the HCAs came; one that was pulled out is the last.
give_all() {
	local n

	for n in $(seq "$VM_NODES"); do
		echo "link set $(interface "$n") netns node$n name ib0"
	done | nsenter -t 1 -n ip -batch - || return
	for n in $(seq "$VM_NODES"); do
		address_up "node$n" "$n" || return
	done
}

# lid NODE-NUMBER: of its port
lid() {
	printf '%d' "$(< "/sys/class/infiniband/softib$(($1 - 1))/ports/1/lid")"
}

# mlid: of the broadcast group
mlid() {
	saquery --smkey 1 MCMR 2> /dev/null | awk '
		/MGID/ { found = /MGID[.]*ff12:401b:ffff::ffff:ffff$/ }
		found && sub(/.*mlid\.*/, "") { print; exit }'
}

sm_lid_is() {
	same "$(printf '%d' "$(< /sys/class/infiniband/softib0/ports/1/sm_lid)")" "$1"
}

# redirect NODE-NUMBER: there is node 1's subnet administrator
redirect() {
	local lid

	lid=$(lid "$1")
	ibportstate -C softib0 -D 0 1 smlid "$lid" > /dev/null &&
	until_true 10 sm_lid_is "$lid"
}

# partitions TEXT...: beside the default one
partitions() {
	printf '%s\n' 'Default=0x7fff, ipoib, defmember=full : ALL=full;' "$@" \
		> /run/partitions.conf
	pkill -HUP -x opensm
}

stop_sm() {
	pkill -x opensm
	until_true 20 not pgrep -x opensm
}

# How often the subnet was up, as the log has it.
sweeps() {
	grep -c 'SUBNET UP' /tmp/opensm.log
}

swept() {
	[ "$(sweeps)" -gt "$1" ]
}

# A subnet manager, until the subnet is up; more of its configuration may be in
# /run/opensm.conf. Otherwise its log would be written late.
start_sm() {
	local before

	before=$(sweeps)
	{ cat /run/opensm.conf; echo "force_log_flush TRUE"; } \
		> /run/opensm.now 2> /dev/null
	opensm -B -F /run/opensm.now -f /tmp/opensm.log -P /run/partitions.conf \
		> /dev/null && until_true 30 swept "$before"
}

ours() {
	[ "$VM_IPOIB" = ours ]
}

# netns_number NODE: of its network namespace.
netns_number() {
	on "$1" readlink /proc/self/ns/net | tr -dc 0-9
}

# gid NODE-NUMBER: of its port, as debugfs has it.
gid() {
	sed -E 's/(^|:)0{1,3}/\1/g' \
		"/sys/class/infiniband/softib$(($1 - 1))/ports/1/gids/0"
}

# in_use: KiB of memory that are neither free, be it for one CPU, nor a cache's.
in_use() {
	local what

	# 4 drops nothing, and keeps the next one out of the log.
	for what in 4 3; do
		echo $what > /proc/sys/vm/drop_caches
	done
	awk '/^MemTotal:/ { n += $2 }
	     /^(MemFree|Buffers|Cached|SReclaimable):/ { n -= $2 }
	     $1 == "count:" { n -= 4 * $2 }
	     END { print n }' /proc/meminfo /proc/zoneinfo
}

# back_to KIB [COMMAND]: no more memory is in use than that, as COMMAND counts it (in_use).
back_to() {
	local now

	now=$("${2:-in_use}")
	echo "$now KiB, wanted $1"
	[ "$now" -le "$1" ]
}

# lose MILLIONTHS: of what passes node 2's link, in either direction
lose() {
	local end

	for end in a b; do
		echo 1 > /sys/kernel/config/softib/links/softib1/$end/seed
		echo "$1" > /sys/kernel/config/softib/links/softib1/$end/loss
	done
}

# lost N: at least so many packets were, in each direction.
lost() {
	local end n

	for end in a b; do
		n=$(sed -n 's/^lost //p' /sys/kernel/config/softib/links/softib1/$end/counts)
		echo "$end: $n"
		[ "$n" -ge "$1" ] || return
	done
}

# objects: verbs objects of node 1's adapter. The kernel's driver now and then keeps
# address handles, and a group that it was joining when it went down.
objects() {
	if ours; then
		cat /sys/kernel/debug/softib/softib0/objects
	else
		grep -v -e ^multicast_group -e ^ah /sys/kernel/debug/softib/softib0/objects
	fi
}

# no_more BEFORE COMMAND...: what COMMAND counts is no more than it was; address
# handles go later than what used them.
no_more() {
	local before=$1

	shift
	"$@" | awk -v before="$before" '
		BEGIN {
			n = split(before, f)
			for (i = 1; i < n; i += 2)
				limit[f[i]] = f[i + 1]
		}
		$2 > limit[$1] { print $0, "after", limit[$1]; more = 1 }
		END { exit more }'
}
