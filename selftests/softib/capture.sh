#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Captures: everything that crosses a link, once, in a form that tshark reads.

. "$(dirname "$0")/lib.sh"

# In memory: the tests' other files are in a slower place.
file=/dev/shm/softib.pcap

begin() {
	cat $debug/capture > $file &
	capture=$!
	# The file's header says that the capture has begun.
	until_true 10 test -s $file
}

# The reader sleeps: it has read and written all that there is.
all_read() {
	local state

	read -r _ _ state _ < "/proc/$capture/stat" && [ "$state" = S ]
}

end() {
	until_true 20 all_read
	kill $capture
	wait $capture 2> /dev/null
	tshark -r $file -T fields -e frame.protocols \
		-e infiniband.mad.mgmtclass -e infiniband.mad.attributeid \
		-e _ws.malformed -e infiniband.bth.opcode \
		> /tmp/decoded 2> /tmp/tshark
}

# shows PATTERN [COUNT]: decoded packets
shows() {
	local n

	n=$(grep -cE "$1" /tmp/decoded)
	diag "$n times $1"
	[ "$n" -ge "${2:-1}" ]
}

plan 25

insmod "$module"
begin
result $? "a capture begins"
rmmod softib
check "down to an empty file it is one" sh -c \
	"[ $(wc -c < $file) -eq 24 ] && ! rmmod softib 2> /dev/null"
check "the module stays while there is one" test -d /sys/module/softib
check "opensm manages the fabric" opensm -B -f /tmp/opensm.log
check "ports become active" until_true 60 all_active 2
pair ibv_ud_pingpong -n 10 > /dev/null
pair ibv_rc_pingpong -n 10 -s 10000 > /dev/null
pair ib_write_bw -F -n 5 > /dev/null
pair ib_read_bw -F -n 5 > /dev/null
pair ib_atomic_bw -F -n 5 > /dev/null
end
result $? "tshark reads it"
check "and does not complain" not grep -iE "error|cut short|unsupported" /tmp/tshark
check "datagrams" shows '[[:space:]]100$' 20
check "sends" shows '[[:space:]]0$' 20
check "acknowledgments" shows '[[:space:]]17$' 5
check "RDMA writes" shows '[[:space:]]6$' 5
check "RDMA read requests" shows '[[:space:]]12$' 5
check "and responses" shows '[[:space:]]15$' 5
check "atomic operations" shows '[[:space:]](19|20)$' 5
check "and their responses" shows '[[:space:]]18$' 5
# Class and attribute: SubnSM by directed route, SwitchInfo
check "the SM's directed routes" shows $'\t0x81\t' 20
# A request by the SM's HCA, and the answer by the switch
check "the switch's answers" shows $'\t0x0*12\t' 2
check "no malformed packet" not shows '_ws.malformed'
check "no packet was dropped" test "$(< $debug/capture_dropped)" -eq 0

# Every packet once: what the link counters say is what there is.
sent() {
	cat $hcas/softib*/ports/1/counters/port_xmit_packets |
		awk '{ n += $1 } END { print n }'
}

pkill -x opensm
until_true 20 not pgrep -x opensm > /dev/null
begin
before=$(sent)
pair ibv_rc_pingpong -n 100 > /dev/null
after=$(sent)
end
n=$(grep -c infiniband /tmp/decoded)
diag "$((after - before)) packets sent, $n captured"
[ "$n" -eq $((after - before)) ] && [ "$n" -gt 200 ]
result $? "each packet is captured once"

check "read, poll and O_NONBLOCK" python3 - <<'EOP'
import os, select, sys
fd = os.open('/sys/kernel/debug/softib/capture', os.O_RDONLY | os.O_NONBLOCK)
poll = select.poll()
poll.register(fd, select.POLLIN)
assert poll.poll(0), 'the header can be read'
assert len(os.read(fd, 10)) == 10 and len(os.read(fd, 100)) == 14
assert not poll.poll(0), 'nothing else can'
try:
    os.read(fd, 1)
    sys.exit('read something')
except BlockingIOError:
    pass
# With so much time for an answer it asks once only.
os.system('smpquery -t 20000 nodeinfo -D 0,1 > /dev/null')
assert poll.poll(5000)
# A request and its response: headers of 32 bytes, packets of 290
for i in range(2):
    assert poll.poll(5000)
    assert len(os.read(fd, 400)) == 322, 'a read returns whole records'
assert not poll.poll(0), 'no third'
os.close(fd)
EOP

# Several at once, each with all packets; an unread one loses some.
check "two captures at a time" python3 - <<'EOP'
import os
name = '/sys/kernel/debug/softib/capture'
fds = [os.open(name, os.O_RDONLY | os.O_NONBLOCK) for i in range(2)]
for fd in fds:
    os.read(fd, 24)
os.system('smpquery nodeinfo -D 0,1 > /dev/null')
first, second = [os.read(fd, 322) + os.read(fd, 322) for fd in fds]
assert len(first) == 644 and len(second) == 644
EOP
exec 9< $debug/capture
pair ib_send_bw -F -n 1000 > /dev/null
check "a capture that nobody reads is bounded" test \
	"$(< $debug/capture_dropped)" -gt 0
exec 9<&-
check "and forgotten when it is closed" rmmod softib
check "with its files" not test -e $debug

finish
