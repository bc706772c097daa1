#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# InfiniBand, RoCE and iWARP between two machines at once: softib, and the kernel's rdma_rxe and
# siw. The same programs take each, and connections go from one to another with their route.

# rdma_rxe of 6.1 is in the machine's own network namespace: so are all three.
own=(nsenter -t 1 -n -m)
[ /proc/self/ns/net -ef /proc/1/ns/net ] || exec "${own[@]}" "$(readlink -f "$0")"
cd "$(dirname "$0")/../.." || exit

. "$(dirname "$0")/two.sh"

FILES=300
far=(machine 2 run "${own[@]}")
run=$build/libsdpdev/sdprun stat=$build/tools/sdpstat/sdpstat

# For both machines; its arguments are the numbers of the own one and of the other one. iWARP gets
# a device of its own, as rdma_rxe has all addresses of devices upon eth0.
# shellcheck disable=SC2016 # for the shells there
all_three='
ip -n node$1 link set ib0 netns 1 &&
ip address add 10.77.0.$1/24 dev ib0 && ip link set ib0 up &&
ip link add wide0 type gretap local 10.78.0.$1 remote 10.78.0.$2 &&
ip address add 10.79.0.$1/24 dev wide0 && ip link set wide0 up &&
ip link add link eth0 name eth0.8 type vlan id 8 &&
ip address add 10.80.0.$1/24 dev eth0.8 && ip link set eth0.8 up &&
modprobe -a rdma_rxe siw sdp_rdma &&
rdma link add rxe0 type rxe netdev eth0 && rdma link add siw0 type siw netdev wide0'

set_up() {
	"${far[@]}" sh -c "$all_three" sh 2 1 && sh -c "$all_three" sh 1 2 &&
	until_true 60 ping -q -c 1 -W 5 10.77.0.2
}

serve() {
	mkdir /tmp/www && head -c 60000 /dev/urandom > /tmp/www/file || return
	for ((i = 0; i < FILES; i++)); do
		cat /tmp/www/file
	done > /tmp/files
	"${far[@]}" sh -c 'mkdir /tmp/www && cat > /tmp/www/file' < /tmp/www/file || return
	"${far[@]}" "$run" python3 -m http.server -d /tmp/www --protocol HTTP/1.1 8000 \
		< /dev/null &> /tmp/served &
	server=$!
	until_true 200 "${far[@]}" sh -c "ss -Hltn 'sport = :8000' | grep -q ."
}

# takes CARRIER DEVICE: so do the server's bytes, after the next ones that are read.
takes() {
	head -c 100000 <&"$in" >> /tmp/got &&
	"${far[@]}" "$stat" port=8000 state=established | tee /tmp/seen |
		awk -v carrier="$1" 'NR > 1 && index($2, carrier) == 1 { n++ } END { exit !n }' &&
	rdma resource show qp | grep -q "$2/1 .*type RC .*\[sdp_"
}

# fetched ADDRESS CARRIER DEVICE: a file again and again, by one connection. curl waits for its
# reader while the connection is looked at.
fetched() {
	local pid in status

	mkfifo /tmp/pipe || return
	"$run" curl -s "http://$1:8000/file?[1-$FILES]" > /tmp/pipe &
	pid=$!
	exec {in}< /tmp/pipe
	rm -f /tmp/pipe /tmp/got
	until_true 60 takes "$2" "$3"
	status=$?
	diag "$(< /tmp/seen)"
	cat <&"$in" >> /tmp/got
	wait "$pid" && cmp /tmp/got /tmp/files && return "$status"
}

# route DEVICE: of the connections from now on, at both ends
route() {
	"${far[@]}" ip route replace 10.80.0.1/32 dev "$1" src 10.80.0.2 &&
	ip route replace 10.80.0.2/32 dev "$1" src 10.80.0.1
}

# The connections' addresses are those of both devices. iWARP would not do: the kernel looks there
# for the first interface that has a request's address.
other_way() {
	"${far[@]}" ip address add 10.80.0.2/32 dev ib0 && ip address add 10.80.0.1/32 dev ib0
}

# goes DEVICE CARRIER: the connections take another way.
goes() {
	route "$1" && ask more && ask by "$2" && ask more
}

gone() {
	rdma link delete siw0 && rdma link delete rxe0 && rmmod sdp_rdma siw
}

# What the log says of devices.
device_lines() {
	dmesg | grep -oE '[a-z]+[0-9]+: (sdp_[a-z]+ (uses|cannot use) it|SDP (needs|cannot)).*'
}

# The transport that uses a device says so once, and the other one says nothing.
each_once() {
	local lines device

	lines=$(device_lines)
	echo "$lines"
	for device in 'softib0: sdp_ib' 'rxe0: sdp_rdma' 'siw0: sdp_rdma'; do
		grep -qx "$device uses it for SDP" <<< "$lines" || return
	done
	! grep -v 'uses it for SDP' <<< "$lines" && [ -z "$(sort <<< "$lines" | uniq -d)" ]
}

# No transport is there for a device, and then one is.
named() {
	rdma link add rxe1 type rxe netdev eth0 && modprobe sdp_rdma &&
	device_lines | grep '^rxe1:' > /tmp/lines
	cat /tmp/lines
	rdma link delete rxe1 && rmmod sdp_rdma && cmp /tmp/lines <<- END
		rxe1: SDP needs the module sdp_rdma to use it
		rxe1: sdp_rdma uses it for SDP
	END
}

# both COMMAND: at both machines
both() {
	"${far[@]}" sh -c "$1" && sh -c "$1"
}

# Queue pairs of the InfiniBand adapter are that module's.
whose() {
	rdma resource show qp | grep "softib0/1 .*type RC " > /tmp/qps
	cat /tmp/qps
	grep -q "\[$1\]" /tmp/qps && ! grep -v "\[$1\]" /tmp/qps
}

refused() {
	ask by tcp && ask more && until_true 20 grep -q '^carrier_refused_no_service [1-9]' \
		/proc/net/sdp/snmp
}

# The peer gets the other transport of InfiniBand, and does not listen where this end asks.
differs() {
	"${far[@]}" sh -c "rmmod sdp_rdma && modprobe sdp_ib" && refused
}

# This end has both.
agrees() {
	modprobe sdp_ib && ask by ib
}

plan 24
check "InfiniBand, RoCE and iWARP" set_up
serve
result $? "a server by sdprun"
check "curl by sdprun over InfiniBand" fetched 10.77.0.2 ib softib0
check "over RoCE" fetched 10.78.0.2 rdma rxe0
check "over iWARP" fetched 10.79.0.2 rdma siw0
check "addresses" other_way
to=10.80.0.2 connections
result $? "connections"
check "take RoCE" ask by rdma
check "their route changes: they take InfiniBand" goes ib0 ib
check "and RoCE again" goes eth0.8 rdma
check "and InfiniBand again" goes ib0 ib
check "all bytes are right" ended
kill "${pid[@]}" "$server"
check "the log tells each device's transport once" each_once
check "all goes" gone
check "the log names the module that a device needs" named
check "InfiniBand by rdma_cm" both "rmmod sdp_ib && modprobe -r sdp_rdma &&
	modprobe sdp_rdma infiniband=1"
connections
result $? "connections"
check "take it" ask by rdma
check "with queue pairs of its transport" whose sdp_rdma
check "they go on" ask more
check "the peer has another transport: TCP has them" differs
check "they take what both ends have" agrees
check "with queue pairs of that one" whose sdp_ib
check "all bytes are right" ended
kill "${pid[@]}"
rmmod sdp_rdma
finish
