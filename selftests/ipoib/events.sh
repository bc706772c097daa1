#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What happens to the fabric, and how soon after it is well again packets flow: a
# cable, other LIDs, another subnet prefix, a P_Key, a subnet manager that was away
# for so long that whoever wants something of it has become patient.

. "$(dirname "$0")/lib.sh"

net=/sys/class/net
rdma=/sys/class/infiniband
links=/sys/kernel/config/softib/links
tracing=/sys/kernel/tracing
cache=/run/opensm
blue='Blue=0x0001, ipoib, defmember=full : ALL=full;'
listened=ff12:401b:ffff:0:0:0:f4d:303
sent=ff12:401b:ffff:0:0:0:f4d:404
# Seconds after the fabric's recovery
SOON=3

mountpoint -q /sys/kernel/config ||
	mount -t configfs configfs /sys/kernel/config || exit
mountpoint -q $tracing || mount -t tracefs tracefs $tracing || exit

# No packet is lost, once the peers' groups are known to a subnet manager that is new.
talks() {
	local to

	for to in 10.77.0.2 fd77::2 10.77.0.3; do
		until_true 20 ping -q -c 1 -W 1 $to
	done
	steady 10.77.0.2 fd77::2 10.77.0.3
}

# --- the fabric --------------------------------------------------------------

port() {
	cat "$rdma/softib$1/ports/1/$2"
}

is() {
	same "$(port "$1" "$2")" "$3"
}

# --- what is soon --------------------------------------------------------------

# What the driver tells says when it was: programs that look may be late.

# recovered: from now on the fabric is well.
recovered() {
	! ours || echo recovered > $tracing/trace_marker
}

# soon PATTERN COMMAND...: succeeds, and what the driver has told of it was so soon.
# The kernel's driver tells nothing, and its pauses go on until they are over.
soon() {
	until_true 40 "${@:2}" && "${@:2}" || return
	# shellcheck disable=SC2154 # tap_slow is tap.sh's
	! ours || awk -v most=$((SOON * tap_slow)) -v pattern="$1" '
		{ for (i = 1; i < 7; i++) if ($i ~ /^[0-9]+[.][0-9]+:$/) now = $i + 0 }
		/: recovered$/ { since = now }
		$0 ~ pattern { seen = now }
		END { print pattern, "from", since, "to", seen
			exit !since || !seen || seen > since + most }' $tracing/trace
}

# --- packets all the time --------------------------------------------------------

targets=(10.77.0.2 fd77::2 10.77.0.3 10.77.0.1)

# Another program for each packet would take its own time. The last is node 2's.
start_flows() {
	local to

	for to in "${targets[@]}"; do
		on "$([ "$to" = 10.77.0.1 ] && echo node2 || echo node1)" \
			ping -D -i 0.1 "$to" > "/tmp/flow.$to" 2>&1 &
	done
}

stop_flows() {
	pkill -INT -x ping
	until_true 10 not pgrep -x ping
}

# resumed WHEN: prints for each how long after that the first reply came.
resumed() {
	local to

	for to in "${targets[@]}"; do
		tr -d '[' < "/tmp/flow.$to" | awk -v when="$1" -v to="$to" '
			/ bytes from/ && $1 > when {
				printf "%s %.2f\n", to, $1 - when
				found = 1
				exit
			}
			END { exit !found }' || return
	done
}

# flows_soon WHEN: all have gone on, and soon after that.
flows_soon() {
	local most=$SOON

	# The kernel's driver leaves it to the neighbours' own time to find out.
	ours || most=60
	until_true $((most + 10)) resumed "$1"
	resumed "$1" > /tmp/resumed || { tail -n 3 /tmp/flow.*; return 1; }
	cat /tmp/resumed
	awk -v most=$((most * tap_slow)) '$2 > most { late = 1 } END { exit late }' \
		/tmp/resumed
}

# event LEVEL COMMAND...: after which the fabric is well again. That much was done.
event() {
	local status=1 when

	trace 1 && start_flows
	if "${@:2}"; then
		when=$(date +%s.%N)
		flows_soon "$when"
		status=$?
	fi
	stop_flows
	trace 0
	[ $status -eq 0 ] && steady 10.77.0.2 fd77::2 10.77.0.3 && most "$1"
}

# --- how much is done ------------------------------------------------------------

# trace 0|1: what node 1's interface does
trace() {
	ours || return 0
	if [ "$1" = 1 ]; then
		: > $tracing/trace
		echo "netns == $(netns_number node1)" > $tracing/events/ipoib/filter
	fi
	echo "$1" > $tracing/events/ipoib/enable || return
	[ "$1" = 1 ] || grep -o 'ipoib_.*' $tracing/trace > /tmp/traced
}

# removed: for another reason than that nobody used it any more
removed() {
	sed -n 's/ipoib_dest_\(idle\|remove\): dev ib0 .* gid /\1 /p' /tmp/traced |
		awk '$1 == "idle" { idle[$2] = 1 }
			$1 == "remove" && !($2 in idle) { print; n++ } END { exit !n }'
}

# spared LEVEL: what that level is not about goes on. One that goes down and up again
# removes all destinations and their queues; else they wait for new ways in theirs.
spared() {
	case $1 in
	heavy)	return ;;
	light)	not grep 'ipoib_carrier: dev ib0 ' /tmp/traced || return ;;
	esac
	not removed
}

# most LEVEL: that is the most of what was done.
most() {
	local levels

	ours || return 0
	spared "$1" || return
	levels=$(sed -n 's/.*ipoib_flush: .* level //p' /tmp/traced | sort -u | xargs)
	case $levels in
	*heavy*)	same heavy "$1" ;;
	*normal*)	same normal "$1" ;;
	*light*)	same light "$1" ;;
	*)		echo "no flush"; return 1 ;;
	esac
}

# unnoticed: no packet was lost. The kernel's driver drops some of those that wait for
# the ways to be asked for anew.
unnoticed() {
	local to

	ours || return 0
	for to in "${targets[@]}"; do
		awk -v to="$to" '
			/ bytes from/ && match($0, / icmp_seq=[0-9]+/) {
				n = substr($0, RSTART + 10, RLENGTH - 10) + 0
				seen[n]
				last = n > last ? n : last
			}
			END {
				for (n = 1; n <= last; n++)
					if (!(n in seen)) {
						print to, "lost", n
						lost = 1
					}
				exit lost
			}' "/tmp/flow.$to" || return
	done
}

# --- a cable ---------------------------------------------------------------------

# So long that a pause of eight seconds has begun
unplugged() {
	echo 0 > $links/softib0/up && until_true 10 not carrier && sleep 9 &&
	not carrier && echo 1 > $links/softib0/up &&
	until_true 30 is 0 state "4: ACTIVE"
}

# --- the subnet manager ------------------------------------------------------------

restart() {
	stop_sm && start_sm
}

# What worked goes on meanwhile.
restarted() {
	event light restart && unnoticed
}

# with_lid HCA LID: the subnet manager has this one in mind for it.
with_lid() {
	local guid

	guid=$(ibstat "softib$1" -p) && stop_sm && mkdir -p $cache &&
	printf '%s\t%s\t%s\n' "$guid" "$2" "$2" > $cache/guid2lid &&
	echo "honor_guid2lid_file TRUE" > /run/opensm.conf &&
	OSM_CACHE_DIR=$cache start_sm && is "$1" lid "$2"
}

# prefix HEX: of the subnet, that is of all GIDs
prefix() {
	stop_sm && printf 'subnet_prefix 0x%s\n' "$1" > /run/opensm.conf &&
	start_sm && until_true 10 has_prefix "$1"
}

# The core's table of GIDs follows the port.
has_prefix() {
	[[ $(port 0 gids/0 | tr -d :) == "$1"* ]]
}

# The link-layer address follows.
another_prefix() {
	event normal prefix "$1" &&
	same "$(cut -c 13-35 $net/ib0/address | tr -d :)" "$1" &&
	same "$(ip neigh show 10.77.0.2 dev ib0 | sed 's/.*lladdr \([^ ]*\).*/\1/')" \
		"$(lladdr node2)"
}

flushed() {
	grep -q 'ipoib_flush: .* level light$' $tracing/trace
}

# moved LID BACK: the subnet manager says that it is there. A prefix alone would be
# nothing to the driver: the core keeps IB_EVENT_GID_CHANGE to itself.
moved() {
	local status

	trace 1
	"${0%/*}/portinfo.py" softib0 sm_lid "$1" && until_true 20 flushed
	status=$?
	"${0%/*}/portinfo.py" softib0 sm_lid "$2"
	trace 0
	[ $status -eq 0 ] && until_true 20 talks
}

# --- a P_Key ---------------------------------------------------------------------

has_key() {
	grep -qix 0x8001 "$rdma"/softib0/ports/1/pkeys/*
}

child_carrier() {
	[ "$(< $net/blue/carrier)" = "$1" ]
}

child() {
	partitions "$blue" && until_true 20 has_key &&
	ip link add link ib0 name blue type ipoib pkey 0x8001 &&
	ip -n node2 link add link ib0 name blue type ipoib pkey 0x8001 &&
	ip address add 10.81.0.1/24 dev blue &&
	ip -n node2 address add 10.81.0.2/24 dev blue &&
	ip link set blue up && ip -n node2 link set blue up &&
	until_true 20 ping -q -c 1 -W 1 10.81.0.2
}

# The child's interface alone is the one to begin anew.
key() {
	partitions "" && until_true 20 not has_key && until_true 10 child_carrier 0 &&
	sleep 5 && no_loss -q -c 5 -i 0.05 10.77.0.2 &&
	partitions "$blue" && until_true 20 has_key
}

partition() {
	trace 1 && key && recovered && soon "dev blue .* on$" child_carrier 1 &&
	until_true 20 ping -q -c 1 -W 1 10.81.0.2 && trace 0 && most heavy &&
	{ ! ours || not grep 'dev ib0 .* level heavy' /tmp/traced; }
}

# --- a subnet manager that was away for long ----------------------------------------

# Programs that wait for groups: one listens, one sends
groups() {
	socat -u UDP4-RECV:7001,reuseaddr,ip-add-membership=239.77.3.3:ib0 - &
	ping -q -i 0.1 -I ib0 239.77.4.4 &
} > /dev/null 2>&1

no_groups() {
	local jobs

	jobs=$(jobs -p)
	# shellcheck disable=SC2086 # one argument a word
	kill $jobs
	wait
} 2> /dev/null

# The core gives up to leave a group after 13 seconds. Of the pauses that begin then,
# the one of eight seconds is under way.
away() {
	groups
	stop_sm && ip link set ib0 down && address_up node1 1 && sleep 32 && not carrier
}

carrier_soon() {
	trace 1 && start_sm && recovered && soon "ipoib_carrier: .* on$" carrier
}

both_joined() {
	soon "mcast_answer: .*0f4d:0303 status 0" joined $listened &&
	soon "mcast_answer: .*0f4d:0404 status 0" joined $sent
}

if ours; then plan 14; else plan 13; fi
no_loss -q -c 1 10.77.0.2 > /dev/null
check "traffic" talks
check "a cable" event normal unplugged
check "the subnet manager starts anew" restarted
check "the peer has another LID" event light with_lid 1 0x40
check "another LID" event normal with_lid 0 0x41
check "another subnet prefix" another_prefix fec0000000000077
check "and the usual one" another_prefix fe80000000000000
! ours || check "the subnet manager's LID, and nothing else" moved "$(lid 2)" "$(lid 1)"
check "a partition" child
check "its P_Key goes and comes" partition
ip link del blue
ip -n node2 link del blue
partitions ""
away
result $? "no subnet manager for long"
check "carrier soon after its return" carrier_soon
check "traffic" talks
check "and the groups" both_joined
no_groups
trace 0
finish
