#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What becomes of a run of which a machine other than the first goes wrong.

. "$(dirname "$0")/../tap.sh"

# The defect is wanted.
unset VM_DEFECTS
provoke=$BUILD/$KERNEL/selftests/vm/provoke/provoke.ko
tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT

# vm STATUS N COMMAND...: the run of COMMAND in the first of N machines has STATUS.
vm() {
	local want=$1 n=$2 status

	shift 2
	tools/vm/run --bare --machines "$n" --kernel "$KERNEL" --log "$tmp/log" \
		--append "to=all 1/to=first 2/to=second" \
		-- "$@" < /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
	[ $status -eq "$want" ] ||
		{ diag "status $status"; diag "$(cat "$tmp/out" "$tmp/err")"; return 1; }
}

same() {
	[ "$1" = "$2" ] || { diag "got '$1', wanted '$2'"; return 1; }
}

said() {
	check "$1" grep -q -- "$2" "$tmp/$3"
}

plan 12
# shellcheck disable=SC2016 # for the VM's shell
vm 123 2 sh -c 'grep -o "to=.*" /proc/cmdline
	machine 2 run grep -o "to=.*" /proc/cmdline
	machine 2 run insmod "$0" how=oops; echo "command: $?"' "$provoke"
result $? "an oops in machine 2: status 123"
said "the report tells which machine" "machine 2: the kernel reported a defect" err
said "and the defect" "NULL pointer dereference\|general protection fault" err
said "and that the machine stopped" \
	"machine 2: the machine stopped before the command ended" err
said "and where the log is" "kernel log: $tmp/log.2" err
said "the first machine is not blamed" "command: 125" out
check "nor its log" sh -c "! grep -q 'machine 1: ' '$tmp/err'"
check "each had its own parameters" \
	same "$(grep ^to= "$tmp/out" | xargs)" "to=all to=first to=all to=second"

vm 125 3 sh -c 'machine 3 freeze && machine 2 run sh -c "echo b > /proc/sysrq-trigger"'
result $? "machine 2 starts again: status 125"
said "the report tells which machine" \
	"machine 2: the machine stopped before the command ended" err
said "the command in it ended with a message" "machine 2: run: Host is down" err
check "a frozen machine was switched off properly" \
	grep -q "reboot: Restarting" "$tmp/log.3"
finish
