#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checksums and segmentation by the adapter: what is sent and received is right
# with them and without, on the wire, too, and what is wrong is found. The other
# node may be in another machine, with another driver.

. "$(dirname "$0")/lib.sh"

file=/tmp/file
capture=/dev/shm/offload.pcap
trace=/sys/kernel/tracing
mtu=$((VM_IB_MTU - 4))

mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
mountpoint -q $trace || mount -t tracefs tracefs $trace
head -c "$(fewer 400000)" /dev/urandom > $file
sum=$(sha256sum < $file)

# feature NAME: on or off, and whether that is fixed.
feature() {
	ethtool -k ib0 | sed -n "s/^[[:space:]]*$1: //p"
}

# features RX TX TSO: they are that way.
features() {
	local name got=()

	for name in rx-checksumming tx-checksum-ipv4 tx-tcp-segmentation; do
		got+=("$(feature $name)")
	done
	same "${got[*]}" "$*"
}

# In the first namespace, where new interfaces are.
outside() {
	nsenter -t 1 -m -n "$@"
}

# lesser UD_CSUM UD_LSO FEATURE...: an adapter that can do less has an interface
# with these features.
lesser() {
	local hca=/sys/kernel/config/softib/hcas/lesser name got

	outside sh -c "mountpoint -q /sys/kernel/config ||
			mount -t configfs configfs /sys/kernel/config
		cd /sys/module/softib/parameters
		echo $1 > ud_csum; echo $2 > ud_lso
		mkdir $hca && echo 1 > $hca/enable; echo Y > ud_csum; echo Y > ud_lso"
	until_true 10 outside sh -c 'ls /sys/class/infiniband/lesser/device/net/*'
	name=$(outside ls /sys/class/infiniband/lesser/device/net)
	got=$(outside ethtool -k "$name" | awk '
		/^rx-checksumming:|tx-checksum-ipv4:|tx-tcp-segmentation:/ {
			printf "%s%s", n++ ? " " : "", $2 ($3 ? "!" : "") }')
	outside rmdir $hca
	same "$got" "${*:3}"
}

# set_features FEATURE ON-OR-OFF...: in both nodes
set_features() {
	on node1 ethtool -K ib0 "$@" && on node2 ethtool -K ib0 "$@"
}

# transfer FROM TO ADDRESS: the file over TCP, checked where it arrives.
transfer() {
	local got receiver

	on "$2" timeout 60 socat -u "TCP6-LISTEN:7000,reuseaddr,ipv6-v6only=0" - > /tmp/got &
	receiver=$!
	until_true 10 on "$2" sh -c 'ss -ltn | grep -q :7000' || return
	on "$1" timeout 60 socat -u - "TCP:$3:7000" < $file &&
		wait $receiver || return
	got=$(sha256sum < /tmp/got)
	same "$got" "$sum"
}

both_ways() {
	transfer node1 node2 "${1}2$2" && transfer node2 node1 "${1}1$2"
}

# with FEATURE ON-OR-OFF...: data is whole, both ways.
with() {
	set_features "$@" && both_ways 10.77.0.
}

# traced EVENT FILTER COMMAND...: runs COMMAND; the events are in /tmp/events.
traced() {
	local event=$trace/events/net/$1

	echo "$2" > "$event/filter" && echo > $trace/trace &&
		echo 1 > "$event/enable" || return
	"${@:3}"
	echo 0 > "$event/enable"
	grep "$1:" $trace/trace > /tmp/events
	true
}

# large_sends: how often the stack gave the driver more than fits a packet.
large_sends() {
	traced net_dev_start_xmit "name == \"ib0\" && len > $((mtu + 24))" \
		transfer node1 node2 10.77.0.2 || return
	wc -l < /tmp/events
}

segments_on() {
	set_features tso on && [ "$(large_sends)" -gt 5 ]
}

segments_off() {
	set_features tso off && same "$(large_sends)" 0
}

# datagrams ADDRESS LENGTH...: from the other node.
datagrams() {
	on node2 python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in map(int, sys.argv[2:]):
    s.sendto((b"offload" * n)[:n], (sys.argv[1], 7001))
' "$@"
}

# A receiver of datagrams, which it tells the lengths of if they are right.
receive() {
	timeout 300 python3 -uc '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7001))
print("ready")
while True:
    data = s.recv(65536)
    if data == b"end":
        break
    n = len(data)
    print(n if data == (b"offload" * n)[:n] else "wrong")
' > /tmp/received &
	receiver=$!
	until_true 20 grep -q ready /tmp/received
}

lengths="1 2 3 100 101 999 1000 1471 $((mtu - 28)) 5000 9001"

udp() {
	receive || return
	# shellcheck disable=SC2086 # one argument a word
	datagrams 10.77.0.1 $lengths && on node2 sh -c \
		'printf end | socat - UDP:10.77.0.1:7001' && wait $receiver
	same "$(tail -n +2 /tmp/received | xargs)" "$lengths"
}

# A datagram that has arrived, too
one_arrives() {
	datagrams 10.77.0.1 1001 && until_true 5 grep -q napi_gro_receive_entry: $trace/trace
}

# verified_by WHOM: 1 if the adapter found that the checksum is right, or 0.
verified_by() {
	traced napi_gro_receive_entry "len == 1029" one_arrives || return
	sed -n 's/.* ip_summed=\([0-9]*\).*/\1/p' /tmp/events | grep -qx "$1" ||
		{ cat /tmp/events; return 1; }
}

# Datagrams with a right checksum, a wrong one, none, and a wrong one in the
# header, by a packet socket: nobody fills anything in.
forge() {
	on node2 python3 - "$(lladdr node1)" <<-'EOP'
	import socket, struct, sys, time
	def fold(data):
	    data += b"\0" * (len(data) % 2)
	    n = sum(struct.unpack(">%dH" % (len(data) // 2), data))
	    while n >> 16:
	        n = (n & 0xffff) + (n >> 16)
	    return n ^ 0xffff
	addresses = socket.inet_aton("10.77.0.2") + socket.inet_aton("10.77.0.1")
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
	s.bind(("ib0", 0x0800))
	lladdr = bytes.fromhex(sys.argv[1].replace(":", ""))
	def send(text, wrong_udp=0, wrong_ip=0, none=False):
	    udp = struct.pack(">HHHH", 7001, 7001, 8 + len(text), 0) + text
	    n = fold(addresses + struct.pack(">HH", 17, len(udp)) + udp) or 0xffff
	    n = 0 if none else n ^ wrong_udp
	    udp = udp[:6] + struct.pack(">H", n) + udp[8:]
	    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0)
	    ip += addresses
	    n = fold(ip) ^ wrong_ip
	    ip = ip[:10] + struct.pack(">H", n) + ip[12:]
	    s.send(lladdr + b"\x08\0\0\0" + ip + udp)
	send(b"offload"[:1])
	for n in range(10):
	    send(b"offload"[:2], wrong_udp=1 << n)
	    send(b"offload"[:3], wrong_ip=1 << n)
	send(b"offload"[:4], none=True)
	send(b"offload" * 200)
	send(b"end")
	EOP
}

# stack COUNTER: one of the network stack's.
stack() {
	nstat -asz "$1" | awk -v name="$1" '$1 == name { print $2 }'
}

# found ON-OR-OFF: what is wrong is, whoever verifies what is right.
found() {
	local udp ip

	set_features rx "$1" && receive || return
	udp=$(stack UdpInCsumErrors)
	ip=$(stack IpExtInCsumErrors)
	forge && wait "$receiver" || return
	same "$(tail -n +2 /tmp/received | xargs)" "1 4 1400" &&
		same "$(($(stack UdpInCsumErrors) - udp)) UDP" "10 UDP" &&
		same "$(($(stack IpExtInCsumErrors) - ip)) IP" "10 IP"
}

# More packets arrive than the stack sees.
aggregated() {
	local packets segments

	packets=$(< /sys/class/net/ib0/statistics/rx_packets)
	segments=$(stack TcpInSegs)
	transfer node2 node1 10.77.0.1 || return
	packets=$(($(< /sys/class/net/ib0/statistics/rx_packets) - packets))
	segments=$(($(stack TcpInSegs) - segments))
	echo "$packets packets, $segments segments"
	[ "$packets" -gt $(($(stat -c %s $file) / mtu)) ] &&
		[ "$segments" -lt $((packets * 2 / 3)) ]
}

# queue FILE: of the stack's limit for bytes in the send ring
queue() {
	cat "/sys/class/net/ib0/queues/tx-0/byte_queue_limits/$1"
}

limited() {
	[ "$(queue limit)" -gt 0 ] && until_true 10 idle
}

idle() {
	same "$(queue inflight)" 0
}

# Down and up while there is something to send.
interrupted() {
	local pid

	socat -u /dev/zero UDP:10.77.0.2:7002 2> /dev/null &
	pid=$!
	for _ in 1 2 3; do
		sleep 0.5
		ip link set ib0 down && idle || return
		address_up node1 1
		until_true 20 carrier || return
	done
	kill $pid 2> /dev/null
	wait $pid
	until_true 10 idle && ping -q -c 3 -W 10 10.77.0.2
}

take() {
	local pid

	cat /sys/kernel/debug/softib/capture > $capture &
	pid=$!
	until_true 10 test -s $capture
	set_features tx on rx on && set_features tso on && both_ways 10.77.0. && udp
	status=$?
	sleep 0.5
	kill $pid
	wait $pid 2> /dev/null
	return $status
}

# Source, length, whether checksums are right (1) or wrong (0), what else.
decode() {
	tshark -r $capture -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE \
		-o udp.check_checksum:TRUE -Y "ip && (tcp || udp)" -T fields \
		-E separator=, -e ip.src -e ip.len -e ip.checksum.status \
		-e tcp.checksum.status -e udp.checksum.status -e tcp.flags.fin \
		-e tcp.flags.push -e ip.id -e _ws.malformed \
		> /tmp/decoded 2> /tmp/tshark.log || { cat /tmp/tshark.log; return 1; }
	[ "$(wc -l < /tmp/decoded)" -gt $(($(stat -c %s $file) * 2 / mtu)) ]
}

# none CONDITION: there is no such packet.
none() {
	awk -F, "$1 { print; n++ } END { exit n > 0 }" /tmp/decoded
}

# count CONDITION
count() {
	awk -F, "$1 { n++ } END { print n + 0 }" /tmp/decoded
}

full() {
	local n

	n=$(count "\$1 == \"10.77.0.$1\" && \$4 != \"\" && \$2 == $mtu")
	echo "$n full packets"
	[ "$n" -gt $(($(stat -c %s $file) / mtu / 2)) ]
}

# The end of the connection is its end, and not the end of each packet.
once() {
	local fin push

	fin=$(count "\$6 ~ /1|True/")
	push=$(count "\$7 ~ /1|True/")
	echo "$fin FIN, $push PSH"
	[ "$fin" -ge 4 ] && [ "$fin" -le 8 ] &&
		[ "$push" -lt $(($(wc -l < /tmp/decoded) / 3)) ]
}

# Packets of a large one are numbered; full ones of a connection have no number
# twice.
numbered() {
	local twice

	twice=$(awk -F, '$1 == "10.77.0.1" && $2 == '$mtu' { print $8 }' /tmp/decoded |
		sort | uniq -d | wc -l)
	echo "$twice numbers twice"
	[ "$twice" -le 2 ]
}

planned=29
ours && planned=31	# the kernel's own driver does not tell the stack
plan $planned
check "features as the adapter has them" features on on on
check "no checksums of IPv6" same "$(feature tx-checksum-ipv6)" "off [fixed]"
check "all on" with rx on tx on tso on
check "the stack gives large packets to the driver" segments_on
check "IPv6, which the adapter does nothing for" both_ways "[fd77::" "]"
check "without TSO" with tso off
check "then it does not" segments_off
check "without checksums of what is sent" with tso on tx off
check "that is without TSO, too" features on off "off [requested on]"
check "without checksums of what is received" with rx off
check "all on again" set_features rx on tx on tso on
check "which they are" features on on on
check "an adapter without segmentation" lesser Y N on on off!
check "one with nothing" lesser N N off! off! off!
check "one with segmentation only, which is no use" lesser N Y off! off! off!
check "datagrams" udp
check "the adapter verifies" verified_by 1
check "it is let" sh -c "ethtool -K ib0 rx off"
check "the stack verifies" verified_by 0
check "what is wrong is found, if the adapter verifies" found on
check "and if the stack does" found off
set_features rx on
check "received packets are aggregated" aggregated
if ours; then
	check "the stack knows what waits in the ring" limited
	check "that, too, is nothing once the interface is down" interrupted
fi
check "a capture" take
check "tshark reads it" decode
check "no packet larger than the MTU" none "\$2 > $mtu"
check "many as large as that" full 1
check "checksums are right" none "\$3 != 1 || (\$4 \$5) !~ /1/"
check "one FIN each, little PSH" once
check "packets are numbered" numbered
finish
