#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rules for services and for sockets of units, as Documentation/rules.rst says how to set them:
# with the real systemd, which is the first process of a namespace.

. "$(dirname "$0")/sock.sh"

work=$(mktemp -d)
chmod 755 "$work"
sdprun=$(readlink -f "$build/libsdpdev/sdprun")
attach=$(readlink -f "$programs/attach")
systemd=''

# service NAME TYPE LINE COMMAND...: one that writes which protocol its sockets have
service() {
	cat > "$work/units/$1.service" <<-EOF
	[Unit]
	DefaultDependencies=no
	[Service]
	Type=$2
	StandardOutput=file:$work/$1
	$3
	ExecStart=${*:4}
	EOF
}

# socket NAME PORT LINE: the unit's listener, whose first connection starts the service
socket() {
	cat > "$work/units/$1.socket" <<-EOF
	[Unit]
	DefaultDependencies=no
	[Socket]
	ListenStream=127.0.0.1:$2
	$3
	EOF
}

units() {
	local rule="ExecStartPre=+$sdprun --cgroup=self"

	mkdir "$work/units"
	printf '[Unit]\nDefaultDependencies=no\n' > "$work/units/nothing.target"
	service alone oneshot '' "$attach"
	service ruled oneshot "$rule" "$attach"
	service late simple "$rule" "$attach" -i
	socket late 7101 ''
	service early simple '' "$attach" -i
	socket early 7102 "$rule"
	service run simple '' "$sdprun" --must-move "$attach" -i
	socket run 7103 ''
	service slice simple '' "$attach" -i
	socket slice 7104 ''
}

# It has its own name, processes, mounts and control groups, and a /run that goes with it.
begin() {
	mkdir "$work/cgroup" && mount -t cgroup2 none "$work/cgroup" &&
		mkdir "$work/cgroup/units" || return
	# shellcheck disable=SC2016 # for the new shells to expand
	sh -c 'echo $$ > "$0/cgroup/units/cgroup.procs"
		exec unshare --cgroup --pid --mount --uts --fork sh -c "
			mount -t proc none /proc && mount -t tmpfs -o mode=755 run /run &&
			mount -t cgroup2 none /sys/fs/cgroup && mkdir -p /run/systemd /run/lock &&
			mount -t tmpfs -o mode=755 lock /run/lock &&
			cp -r $0/units /run/systemd/system &&
			exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
				SYSTEMD_GENERATOR_PATH= /lib/systemd/systemd --system \
				--unit=nothing.target --show-status=no"' "$work" \
		> "$work/log" 2>&1 &
	until_true 30 begun || diag "$(< "$work/log")"
	begun
}

begun() {
	systemd=$(pgrep -o -x systemd) && [ -S "/proc/$systemd/root/run/systemd/private" ]
}

end() {
	[ -z "$systemd" ] || kill -KILL "$systemd"
	wait
	systemd=''
	until_true 10 no_groups
	umount "$work/cgroup"
	rm -rf "$work"
} 2> /dev/null

no_groups() {
	find "$work/cgroup/units" -depth -type d -exec rmdir {} +
	[ ! -e "$work/cgroup/units" ]
}

trap 'end; leave' EXIT

start_unit() {
	timeout 60 nsenter -t "$systemd" -m -p -C systemctl start "$1"
}

# gives NAME WANT: what the service has written
gives() {
	until_true 20 test -s "$work/$1"
	cat "$work/$1"
	[ "$(< "$work/$1")" = "$2" ]
}

# started NAME WANT
started() {
	start_unit "$1.service" && gives "$@"
}

# activated NAME PORT WANT: the first connection starts the service, which looks at the second
activated() {
	start_unit "$1.socket" && python3 -c "
import socket
first = socket.create_connection(('127.0.0.1', $2))
first.settimeout(20)
first.recv(1)
socket.create_connection(('127.0.0.1', $2))" && gives "$1" "$3"
}

plan 9
check "a machine" start
units
begin
result $? "systemd"
check "a service without a rule" started alone '- - -'
check "one with a rule of its own group" started ruled 'sdp sdp sdp'
check "which comes too late for its unit's socket" activated late 7101 '- ? -'
check "a rule of the socket's own group" activated early 7102 'sdp ? sdp'
check "a service that sdprun starts" activated run 7103 'sdp ? sdp'
"$sdprun" --cgroup="$work/cgroup/units/system.slice"
check "a rule of the slice" activated slice 7104 'sdp ? sdp'
end
check "nothing holds the module" until_true 5 unused
finish
