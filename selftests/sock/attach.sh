#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sockets that get the ULP without asking for it: rules of processes, of control groups and
# of network namespaces, for programs that no library reaches.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
build=${BUILD:-$root/build}
attach=$build/selftests/sock/attach
sdprun=$build/libsdpdev/sdprun
module=$build/$KERNEL/sdpdev/sdpdev.ko
all='sdp sdp sdp'
none='- - -'
work=$(mktemp -d)
chmod 755 "$work"

# gives OUTPUT COMMAND...: prints it, and nothing on standard error
gives() {
	local want=$1 got

	shift
	got=$("$@" 2> "$work/err") || echo "exit status $?"
	echo "$got; wanted $want"
	cat "$work/err"
	[ "$got" = "$want" ] && [ ! -s "$work/err" ]
}

# fails STATUS TEXT COMMAND...: and says so on standard error
fails() {
	local status=0

	"${@:3}" 2> "$work/err" || status=$?
	echo "exit status $status"
	cat "$work/err"
	[ "$status" -eq "$1" ] && grep -qF -e "$2" "$work/err"
}

# busy COMMAND...: while the processors have much else to do
busy() {
	local pids=() status

	for _ in 1 2 3; do
		while :; do :; done &
		pids+=($!)
	done
	"$@"
	status=$?
	kill "${pids[@]}"
	wait "${pids[@]}" 2> /dev/null
	return "$status"
}

# The checked kernel has no 32-bit programs, MPTCP, user namespaces or control groups. Python starts
# slowly there, so it has one row of each kind only.
checked() {
	[ "$KERNEL" = debug ]
}

move() {
	"$sdprun" --must-move "$@"
}

as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# in_group GROUP COMMAND...
in_group() {
	# shellcheck disable=SC2016 # for the new shell to expand
	sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$@"
}

without_device() {
	unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh "$@"
}

load() {
	modprobe -q udp_tunnel
	modprobe -q ip6_udp_tunnel
	modprobe -q ib_core
	modprobe -q rdma_cm
	insmod "$module"
}

# --- whom a process's rule reaches

processes() {
	check "without a rule a socket is TCP's" gives "$none" "$attach"
	check "with the rule of its process it is not" gives "$all" move "$attach"
	check "nor is one of a static program" gives "$all" move "$attach-static"
	check "with musl" gives "$all" move "$attach-musl"
	checked || check "of a 32-bit program" gives "$all" move "$attach-32"
	check "of one with AddressSanitizer" gives "$all" move "$attach-asan"
	checked || check "of Python" gives sdp move python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
print(c.getsockopt(6, 31, 16).decode().rstrip("\0")[:3])'
	check "without environment" gives "$all" move env -i "$attach"
	check "of a login shell" gives "$all" move su - -c "$attach"
	check "of a program that executes itself anew" gives "$all" move "$attach" -e
	check "by io_uring" gives "$all" move "$attach" -u
	check "by a worker of io_uring" gives "$all" move "$attach" -a
	check "by its thread that polls" gives "$all" move "$attach" -q
	check "of a static program by io_uring" gives "$all" move "$attach-static" -u
	rm -f "$work/daemon"
	move "$attach" -d "$work/daemon"
	check "of a daemon" until_true 10 grep -qx "$all" "$work/daemon"
	check "that connects with its first bytes" gives sdp move python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.socket()
c.sendto(b"x", socket.MSG_FASTOPEN, s.getsockname())
print(c.getsockopt(6, 31, 16).decode().rstrip("\0")[:3])'
	checked || check "MPTCP has its own" gives no move python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind(("127.0.0.1", 0))
s.listen()
c = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
c.connect(s.getsockname())
a, b = s.accept()
a.send(b"x")
print("no" if c.recv(1) == b"x" else "bytes")'
	check "outside all is as before" gives "$none" "$attach"
	check "and inside never is never" gives "$none" move sh -c "$sdprun --never $attach"
}

calls_and_ports() {
	check "only what connects" gives "- sdp -" move --connect "$attach"
	check "only what listens" gives "sdp - sdp" move --listen "$attach"
	check "a port" gives "$all" move --ports=7001 "$attach" -p 7001
	check "another port" gives "$none" move --ports=7001 "$attach" -p 7002
	check "a range of ports" gives "$all" move --ports=1-9,7000-7002 "$attach" -p 7002
	check "all but a port" gives "$none" move --never --ports=7003 sh -c "$attach -p 7003"
	check "an option that there is not" fails 125 "unrecognized option" move --maybe true
	check "ports that are none" fails 125 "not a list of ports" move --ports=70000 true
	check "a range that ends before it begins" fails 125 "not a list of ports" \
		move --ports=9-1 true
	check "more ports than there is room for" fails 125 "not a list of ports" \
		move --ports=1,2,3,4,5,6,7,8,9 true
}

# --- what a rule says

# Of a listener, a connection to it and the accepted socket; and packets with bytes.
modes='
import errno, os, socket, sys
def modes(s):
	c = socket.create_connection(s.getsockname())
	a, _ = s.accept()
	try:
		for f, t in (c, a), (a, c), (c, a):
			f.sendall(b"x" * 20000)
			assert t.recv(20000, socket.MSG_WAITALL) == b"x" * 20000
		segs = c.getsockopt(6, 11, 200)[152:160]
		print(*(f.getsockopt(257, 2) for f in (c, a)), "bytes" if any(segs) else "none")
	except OSError as e:
		print(errno.errorcode[e.errno])
'
own="$modes
modes(socket.create_server(('127.0.0.1', 0)))"
# Bytes with the SYN, to a listener that takes them
syn="$modes
s = socket.create_server(('127.0.0.1', 0))
s.setsockopt(6, 23, 5)
c = socket.socket()
try:
	c.sendto(b'x', socket.MSG_FASTOPEN, s.getsockname())
except OSError as e:
	print(errno.errorcode[e.errno], end=' ')
a, _ = s.accept()
del c
try:
	print(len(a.recv(1)))
except OSError as e:
	print(0)"
# A client that may carry no byte, whose peer sends first: what it reads of that
first="
import array, fcntl, socket, sys, time
kind = int(sys.argv[1])
s, c = (socket.socket(socket.AF_INET, socket.SOCK_STREAM, kind) for i in range(2))
s.bind(('127.0.0.1', 0))
s.listen()
if kind:
	c.connect(s.getsockname())
else:
	s.setsockopt(6, 23, 5)
	try:
		c.sendto(b'x', socket.MSG_FASTOPEN, s.getsockname())
	except OSError:
		pass
a, _ = s.accept()
a.send(b'y' * 10)
unsent = array.array('i', [1])
end = time.monotonic() + 0.5
while unsent[0] and time.monotonic() < end:
	fcntl.ioctl(a, 0x5411, unsent)
c.settimeout(0.5)
try:
	print(len(c.recv(10)))
except OSError:
	print(0)"
# Neither end waits
mptcp="
import errno, socket
s, c = (socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) for i in range(2))
s.bind(('127.0.0.1', 0))
s.listen()
def said(call, *args):
	try:
		return call(*args)
	except OSError as e:
		return errno.errorcode[e.errno]
c.connect(s.getsockname())
a, _ = s.accept()
print(said(c.send, b'x'), said(c.recv, 1), said(c.send, b'x'), said(a.recv, 1), said(a.send, b'x'))"

# inherited RULE [STATEMENT]: a listener s that is there before the rule
inherited() {
	python3 -c "
import os, socket
s = socket.create_server(('127.0.0.1', 0))
$2
os.dup2(s.fileno(), 9)
os.execv('$sdprun', ['sdprun', '$1', 'python3', '-c', '''$modes
modes(socket.socket(fileno=9))'''])"
}

verdicts() {
	checked || check "a rule that says now" gives "1 1 none" move --now python3 -c "$own"
	check "one that says only" gives "2 2 none" move --only python3 -c "$own"
	checked || check "sdprun --only" gives "2 2 none" "$sdprun" --only python3 -c "$own"
	checked || check "for a listener that is there already" gives "2 2 none" inherited --only
	checked || check "and for one that has the ULP already" gives "1 1 none" \
		inherited --now "s.setsockopt(socket.IPPROTO_TCP, 31, b'sdp')"
	sysctl -qw net.sdp.attach=1
	checked || check "one end is enough" gives "0 2 none" move --only --listen python3 -c "$own"
	sysctl -qw net.sdp.attach=0
	sysctl -qw net.sdp.only_wait=1
	checked || check "without an endpoint there it fails" gives ECONNABORTED \
		move --only --connect python3 -c "$own"
	sysctl -qw net.sdp.only_wait=5
	sysctl -qw net.ipv4.tcp_fastopen=0x607
	checked || check "bytes go with a SYN" gives 1 python3 -c "$syn"
	check "but not so" gives "EPIPE 0" move --only --connect python3 -c "$syn"
	checked || check "nor do bytes of the peer come" \
		gives 0 move --only --connect python3 -c "$first" 0
	checked || check "MPTCP fails at once, at either end" \
		gives "ECONNABORTED b'' EPIPE b'' EPIPE" move --only python3 -c "$mptcp"
	checked || check "which is counted" counted only_ops 2
	checked || check "either way" gives 0 move --only --connect python3 -c "$first" 262
	checked || check "never of the program holds against move" gives "never" move python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.socket()
c.setsockopt(6, 31, b"sdp")
c.setsockopt(257, 2, 3)
c.connect(s.getsockname())
a, b = s.accept()
for i in range(20):
	a.send(b"x"), c.recv(1), c.send(b"x"), a.recv(1)
print(c.getsockopt(257, 1, 56)[32:48].rstrip(b"\0").decode())'
	check "never of a rule holds against the program's own ULP and mode" \
		gives "never EPERM never" "$sdprun" --never python3 -c "$obstinate"
	checked || check "and with its only the connection fails" \
		gives ECONNABORTED "$sdprun" --never python3 -c '
import errno, socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.socket()
c.setsockopt(6, 31, b"sdp")
c.setsockopt(257, 2, 2)
try:
	c.connect(s.getsockname())
	print(c.send(b"x"))
except OSError as e:
	print(errno.errorcode[e.errno])'
	checked || check "also if it ends before connect(2) has seen it begin" busy \
		gives ECONNABORTED "$sdprun" --never python3 -c '
import errno, socket
s = socket.create_server(("127.0.0.1", 0), backlog=1000)
said = set()
for i in range(400):
	c = socket.socket()
	c.setsockopt(6, 31, b"sdp")
	c.setsockopt(257, 2, 2)
	try:
		c.connect(s.getsockname())
		c.send(b"x")
	except OSError as e:
		said.add(errno.errorcode[e.errno])
print(*said)'
	check "a rule for one port does not hold for the next attempt, with another" \
		gives "EADDRNOTAVAIL 0" move --only --connect --ports=7001 python3 -c '
import errno, socket
def client(to):
	c = socket.socket()
	c.setsockopt(6, 31, b"sdp")
	c.setsockopt(1, 2, 1)
	c.bind(("127.0.0.1", 7003))
	try:
		c.connect(("127.0.0.1", to))
	except OSError as e:
		print(errno.errorcode[e.errno], end=" ")
	return c
l = [socket.create_server(("127.0.0.1", p)) for p in (7001, 7002)]
c = client(7001), client(7001)
c[1].connect(("127.0.0.1", 7002))
print(c[1].getsockopt(257, 2))'
	checked || check "nor does one that says only for an attempt of MPTCP" \
		gives "ECONNREFUSED 1" move --only --connect --ports=7001 python3 -c '
import errno, socket
l, c = (socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) for i in range(2))
l.bind(("127.0.0.1", 7002))
l.listen()
try:
	c.connect(("127.0.0.1", 7001))
except OSError as e:
	print(errno.errorcode[e.errno], end=" ")
c.connect(("127.0.0.1", 7002))
a, _ = l.accept()
a.send(b"x")
c.settimeout(5)
try:
	print(len(c.recv(1)))
except OSError:
	print(0)'
	check "only of a rule holds for a listener, too" \
		gives "EPERM 2" "$sdprun" --only python3 -c '
import errno, socket
l = socket.create_server(("127.0.0.1", 0))
try:
	l.setsockopt(257, 2, 0)
	print("none")
except OSError as e:
	print(errno.errorcode[e.errno], l.getsockopt(257, 2))'
	check "two words at once" fails 125 "do not go together" "$sdprun" --only --never true
}

# A program that a rule holds back: the reason of its connection; what it hears when it asks for
# another mode; the reason of the accepted one.
obstinate='
import errno, socket
def why(s):
	return s.getsockopt(257, 1, 56)[32:48].rstrip(b"\0").decode()
l = socket.socket()
l.setsockopt(6, 31, b"sdp")
l.bind(("127.0.0.1", 0))
l.listen()
c = socket.socket()
c.setsockopt(6, 31, b"sdp")
c.setsockopt(257, 2, 1)
c.connect(l.getsockname())
a, b = l.accept()
for i in range(20):
	a.send(b"x"), c.recv(1), c.send(b"x"), a.recv(1)
try:
	c.setsockopt(257, 2, 1)
	word = "done"
except OSError as e:
	word = errno.errorcode[e.errno]
print(why(c), word, why(a))'

# --- rings for programs as they are

# A connection's ends, and how many of them have rings.
ringed='
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
a, _ = s.accept()
for i in range(200):
	a.send(b"x"), c.recv(1), c.send(b"x"), a.recv(1)
print(sum("[sdp-ring]" in line for line in open("/proc/self/maps")))'

rings() {
	"$sdprun" --must-move --rings "$@"
}

rings_of_programs() {
	checked || check "a program has no rings" gives 0 move python3 -c "$ringed"
	check "with --rings it has" gives 2 rings python3 -c "$ringed"
	# shellcheck disable=SC2016 # for the new shell to expand
	checked || check "and so has what it runs" gives 2 rings sh -c 'python3 -c "$0"' "$ringed"
	check "nothing else changes" gives "$all" rings "$attach"
	check "with AddressSanitizer" gives "$all" rings "$attach-asan"
	checked || check "a 32-bit program has none" fails 0 "no rings" rings "$attach-32"
	check "a static program has none" fails 0 "no rings" rings "$attach-static"
	check "nor has one that may not use TCP" fails 0 "no rings" \
		"$sdprun" --only --rings true
}

# --- and whom not

users() {
	cp "$attach" "$work/setuid"
	chmod 4755 "$work/setuid"
	cp "$attach" "$work/capable"
	python3 -c '
import os, struct, sys
os.setxattr(sys.argv[1], "security.capability",
	    struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))' "$work/capable"
	cp "$(command -v setpriv)" "$work/become"
	chmod 4755 "$work/become"
	cp "$sdprun" "$work/sdprun"

	check "a user's own rule" gives "$all" as_user "$work/sdprun" --must-move "$attach"
	check "does not reach a setuid program" gives "$none" \
		as_user "$work/sdprun" --must-move "$work/setuid"
	check "nor one with capabilities of its own" gives "$none" \
		as_user "$work/sdprun" --must-move "$work/capable"
	check "nor what becomes another user" gives "$none" as_user "$work/sdprun" --must-move \
		"$work/become" --reuid 1234 --clear-groups "$attach"
	check "root's reaches another user" gives "$all" \
		move setpriv --reuid 65534 --clear-groups "$attach"
	check "and a setuid program of that user" gives "$all" \
		move setpriv --reuid 65534 --clear-groups "$work/setuid"
	checked || check "one of a user namespace's root inside it" gives "$all" \
		as_user unshare -Ur "$work/sdprun" --must-move "$attach"
}

# Rules that an administrator sets for a user
user_rules() {
	check "a user's rule, by an administrator" "$sdprun" --user=nobody
	check "is for that user's programs" gives "$all" as_user "$attach-static"
	check "for a setuid program it is its own user's" gives "$none" as_user "$work/setuid"
	check "and for no other's" gives "$none" "$attach"
	check "by number" "$sdprun" --user=65534 --never
	check "never holds against the user's own rule" gives "$none" \
		as_user "$work/sdprun" "$attach"
	check "it is removed" "$sdprun" --user=nobody --none
	check "and is gone" gives "$none" as_user "$attach"
	check "a user may not" fails 125 "needs CAP_NET_ADMIN" \
		as_user "$work/sdprun" --user=nobody
	check "a user that is none" fails 125 "no such user" "$sdprun" --user=no-such-user
	ip netns add brief
	ip netns exec brief "$sdprun" --user=nobody
	check "a rule from another namespace" gives "$all" as_user "$attach"
	ip netns del brief
	check "goes with it" until_true 10 gives "$none" as_user "$attach"
	if ! checked; then
		# shellcheck disable=SC2016 # for the new shell to expand
		setpriv --reuid 65534 --clear-groups unshare -Urn sh -c '
			"$0" --user=0 && ip link set lo up && "$1" &&
				! "$0" --user=1 2> /dev/null &&
				exec sleep 1000' "$work/sdprun" "$attach" > "$work/inner" &
		pid=$!
		until_true 10 called $pid sleep
		check "a container's rule is for its own" grep -qx "$all" "$work/inner"
		check "and does not reach out" gives "$none" as_user "$attach"
		kill $pid
		wait $pid 2> /dev/null
	fi
}

# --- what is there already

activation() {
	timeout $((20 * tap_slow)) "$@" > "$work/activated" 2> "$work/err" &
	until_true 10 port_open 7005
	python3 -c '
import socket
first = socket.create_connection(("127.0.0.1", 7005))
first.recv(1)
socket.create_connection(("127.0.0.1", 7005))'
	wait $!
	cat "$work/activated" "$work/err"
	[ "$(< "$work/activated")" = "sdp ? sdp" ]
}

# without_ulp COMMAND...: starts it with a listener, and the kernel refuses TCP_ULP to it
without_ulp() {
	python3 -c '
import ctypes, os, socket, struct, sys
s = socket.create_server(("127.0.0.1", 7009))
s.set_inheritable(True)
code = ((0x20, 0, 0, 0), (0x15, 0, 3, 54),		# setsockopt?
	(0x20, 0, 0, 32), (0x15, 0, 1, 31),		# TCP_ULP?
	(0x06, 0, 0, 0x5000d), (0x06, 0, 0, 0x7fff0000))	# EACCES, or go on
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
filter = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, filter):
	sys.exit("no seccomp")
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# called PID NAME: the process executes the program by now
called() {
	[ "$(< "/proc/$1/comm")" = "$2" ]
}

port_open() {
	[ -n "$(ss -Hltn "sport = :$1" 2> /dev/null)" ]
}

listeners() {
	local activate=(systemd-socket-activate -l 127.0.0.1:7005)

	check "a listener that the service is started with" \
		activation "${activate[@]}" "$sdprun" --must-move "$attach" -i
	checked || check "or that starts it" \
		activation "$sdprun" --must-move "${activate[@]}" "$attach" -i
	checked || check "or the program does not run" fails 125 "with TCP: Permission denied" \
		without_ulp "$sdprun" --must-move true
	mkfifo "$work/hold"
	move "$attach" -p 7006 -w < "$work/hold" > "$work/held" &
	exec {hold}> "$work/hold"
	until_true 10 test -s "$work/held"
	ss -Htnlie 'sport = :7006' > "$work/ss" 2> /dev/null
	check "ss shows it" grep -q tcp-ulp-sdp "$work/ss"
	exec {hold}>&-
	wait $!
	result $? "and the program ends well"
}

# --- namespaces and control groups

namespaces() {
	ip netns add other
	ip -n other link set lo up
	check "a namespace that attaches all" ip netns exec other sysctl -qw net.sdp.attach=1
	check "does so" gives "$all" ip netns exec other "$attach"
	check "but not for a program with the rule never" gives "$none" ip netns exec other \
		"$sdprun" --never "$attach"
	check "nor outside" gives "$none" "$attach"
	check "a process's rule goes along into a namespace" gives "$all" \
		move ip netns exec other sh -c "sysctl -qw net.sdp.attach=0; $attach"
	ip netns exec other sysctl -qw net.sdp.attach=1
	check "a namespace that goes" ip netns del other
	# shellcheck disable=SC2016 # for the new shell to expand
	as_user unshare -Urn sh -c '
		echo 1 > /proc/sys/net/sdp/attach
		ip link set lo up
		exec "$0"' "$attach" > "$work/user" 2>&1
	checked || check "a user namespace's root switches it on there" grep -qx "$all" "$work/user"
	check "and a user does not here" fails 2 denied as_user \
		sh -c 'echo 1 > /proc/sys/net/sdp/attach'
}

groups() {
	local groups=$work/cgroup

	if checked; then
		check "without control groups no rule" fails 125 "lacks a feature that rules need" \
			"$sdprun" --cgroup="$work"
		return
	fi
	mkdir "$groups"
	mount -t cgroup2 none "$groups"
	mkdir -p "$groups/a/b"
	check "a control group's rule" "$sdprun" --cgroup="$groups/a"
	check "is for its programs" gives "$all" in_group "$groups/a" "$attach"
	check "for those of a group inside" gives "$all" in_group "$groups/a/b" "$attach-static"
	check "and for no other" gives "$none" in_group "$groups" "$attach"
	"$sdprun" --cgroup="$groups/a/b" --never --ports=7007
	check "the inner group goes first" gives "$none" \
		in_group "$groups/a/b" "$attach" -p 7007
	check "where it says something" gives "$all" \
		in_group "$groups/a/b" "$attach" -p 7008
	"$sdprun" --cgroup="$groups/a/b" --never
	check "its never holds against a process's rule" gives "$none" \
		in_group "$groups/a/b" "$sdprun" "$attach"
	check "and with one that says only nothing goes" gives ECONNABORTED \
		in_group "$groups/a/b" "$sdprun" --only python3 -c "$own"
	check "a process sets the rule of its own group" \
		in_group "$groups/a/b" sh -c "mount --bind $groups /sys/fs/cgroup &&
			$sdprun --cgroup=self; got=\$?; umount /sys/fs/cgroup; exit \$got"
	check "which holds" gives "$all" in_group "$groups/a/b" "$attach"
	check "also where version 1 has the usual place" in_group "$groups/a/b" sh -c "
		mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/unified &&
			mount --bind $groups /sys/fs/cgroup/unified &&
			$sdprun --cgroup=self; got=\$?
		umount /sys/fs/cgroup/unified /sys/fs/cgroup; exit \$got"

	in_group "$groups/a" "$attach" -w < "$work/hold" > "$work/held" &
	exec {hold}> "$work/hold"
	until_true 10 grep -qx "$all" "$work/held"
	check "a rule is removed" "$sdprun" --cgroup="$groups/a" --none
	check "and is gone" gives "$none" in_group "$groups/a" "$attach"
	exec {hold}>&-
	wait $!
	result $? "what it has attached goes on"

	check "a user may not" fails 125 "needs CAP_NET_ADMIN" \
		as_user "$work/sdprun" --cgroup="$groups/a"
	check "a folder that is no group" fails 125 "not the directory of a control group" \
		"$sdprun" --cgroup="$work"
	# shellcheck disable=SC2016 # for the new shell to expand
	setpriv --reuid 65534 --clear-groups unshare -Urn \
		sh -c '"$0" --cgroup="$1" && exec sleep 1000' "$work/sdprun" "$groups/a" &
	pid=$!
	until_true 10 called $pid sleep
	check "a container's rule does not reach out" gives "$none" in_group "$groups/a" "$attach"
	kill $pid
	wait $pid 2> /dev/null

	"$sdprun" --cgroup="$groups/a/b" --none
	ip netns add brief
	ip netns exec brief "$sdprun" --cgroup="$groups/a/b"
	check "a rule that was set from another namespace" gives "$all" \
		in_group "$groups/a/b" "$attach"
	ip netns del brief
	check "goes with the namespace" until_true 10 gives "$none" \
		in_group "$groups/a/b" "$attach"

	"$sdprun" --cgroup="$groups/a/b"
	rmdir "$groups/a/b"
	mkdir "$groups/a/b"
	check "a group of the same name is another one" gives "$none" \
		in_group "$groups/a/b" "$attach"
	check "as many as allowed" gives "1024 ENOSPC" python3 "$root/selftests/sock/groups.py" \
		"$groups"
	[ "$VARIANT" != long ] || check "as many of users' namespaces" \
		gives "$(printf '1024 ENOSPC, %.0s' {1..8})0 ENOSPC" \
		python3 "$root/selftests/sock/users.py"
	"$sdprun" --cgroup="$groups/a"
	check "removed groups make room" gives "$all" in_group "$groups/a" "$attach"
	rmdir "$groups"/a/b "$groups"/a
	umount "$groups"
}

# --- ends

# counted NAME NUMBER
counted() {
	[ "$(awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp/snmp)" = "$2" ]
}

storm() {
	local n

	check "of the processes so far none is left" until_true 10 counted rule_processes 0
	"$sdprun" --must-move sleep 1000 & pid=$!
	check "one more is" until_true 10 counted rule_processes 1
	kill $pid
	wait $pid 2> /dev/null

	n=$(fewer 300)
	check "$n children and theirs" gives "$n" move "$attach" -s "$n"
	check "which are forgotten" until_true 10 counted rule_processes 0
}

# The checked kernel fails allocations, the others have what they need to be clients.
kernel() {
	local lost killed

	if checked; then
		echo 0 > /sys/kernel/debug/failslab/verbose
		# Its memory can fail in more than one place.
		read -r lost killed <<< "$(move "$attach" -n)"
		check "without memory a child has no rule" test "$lost" -ge 1
		check "and runs" test "$killed" -eq 0
		check "which is counted" counted rule_lost "$lost"
		read -r lost killed <<< "$("$sdprun" --only "$attach" -n)"
		check "with a rule that says only" test "$killed" -ge 1
		check "no child runs without it" test "$lost" -eq 0
		return
	fi
	sysctl -qw net.sdp.attach=1
	modprobe rds_tcp
	check "a client in the kernel listens" until_true 10 port_open 16385
	ss -Htnlie 'sport = :16385' > "$work/ss" 2> /dev/null
	! grep tcp-ulp "$work/ss"
	result $? "and its socket is its own"
	modprobe -r rds_tcp
	sysctl -qw net.sdp.attach=0
}

unload() {
	sysctl -qw net.sdp.attach=1
	"$sdprun" --must-move sleep 1000 & pid=$!
	until_true 10 called $pid sleep
	"$attach" -w < "$work/hold" > "$work/held" &
	exec {hold}> "$work/hold"
	until_true 10 grep -qx "$all" "$work/held"
	check "the module stays while sockets are there" eval '! rmmod sdpdev 2> /dev/null'
	exec {hold}>&-
	wait $!
	result $? "they end well"
	check "then it goes, with its rules" until_true 20 rmmod sdpdev
	check "sockets are TCP's" gives "$none" "$attach"
	kill $pid
	wait $pid 2> /dev/null
	check "without it a program runs on TCP" fails 0 "device; true runs over TCP" \
		"$sdprun" true
	check "or not at all" fails 125 "/dev/sdp is not there" move true
	check "never needs no module" "$sdprun" --never true
	check "it comes again" load
	check "without rules" gives "$none" "$attach"
	check "and takes new ones" gives "$all" move "$attach"
}

without_proc() {
	unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}

refusals() {
	check "a process takes its rule away" gives "$none" move "$sdprun" --none "$attach"
	check "a rule for a group runs nothing" fails 125 "go without PROGRAM" \
		"$sdprun" --cgroup=self true
	check "self, where nobody can tell" fails 125 "in no control group" \
		without_proc "$sdprun" --cgroup=self
	check "a listener that nobody can look for" fails 125 "stays with TCP" \
		without_proc "$sdprun" --must-move true
	check "the program's exit status" eval 'move sh -c "exit 7"; [ $? -eq 7 ]'
	check "a program that is not there" fails 127 "program not found" move no-such-program
	check "a rule that says only, without the kernel" fails 125 "/dev/sdp" \
		without_device "$sdprun" --only true
	check "a rule that says never, which cannot be set" fails 125 "/dev/sdp" \
		without_device "$sdprun" --never true
	check "without /dev/sdp" fails 0 "runs over TCP" without_device "$sdprun" true
}

# Also what an interrupted run has left
if [ -e /sys/module/sdpdev ]; then
	rmmod sdp_rdma sdp_ib sdp_verbs 2> /dev/null
	rmmod sdpdev
fi
ip link set lo up
load

plan $((139 - $(checked && echo 45 || echo 0) + $([ "$VARIANT" = long ]; echo $((1 - $?)))))
processes
calls_and_ports
verdicts
rings_of_programs
users
user_rules
listeners
namespaces
groups
storm
kernel
refusals
unload
until_true 20 rmmod sdpdev
rm -rf "$work"
finish
