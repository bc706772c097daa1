#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the kernel reports fails the run, whatever the command says.

. "$(dirname "$0")/../tap.sh"

# These are wanted.
unset VM_DEFECTS
provoke=$BUILD/$KERNEL/selftests/vm/provoke/provoke.ko
tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT

# provoked HOW PATTERN: the run has status 123 and prints the report.
provoked() {
	local status

	tools/vm/run --bare --kernel "$KERNEL" --log "$tmp/log" -- \
		insmod "$provoke" how="$1" < /dev/null 2> "$tmp/err"
	status=$?
	[ $status -eq 123 ] && grep -q "$2" "$tmp/err" &&
		grep -q "kernel log: $tmp/log" "$tmp/err" ||
		{ diag "status $status"; diag "$(< "$tmp/err")"; return 1; }
}

# log: what defects.awk makes of standard input
log() {
	awk -f tools/vm/defects.awk
}

# reported PATTERN: the last run's report has such a line.
reported() {
	grep -q "$1" "$tmp/err" || { cat "$tmp/err"; return 1; }
}

# freed PATTERN: the stack that says where the memory was freed has such a line.
freed() {
	sed -n '/Freed by task/,/The buggy address/p' "$tmp/err" | grep -q "$1" ||
		{ cat "$tmp/err"; return 1; }
}

# What only the checked kernel sees, all in one run.
checked() {
	# The compiler may have several places of a line: "provoke.c:27 (discriminator 2)".
	local line='use_after_free (.*provoke/provoke.c:[0-9]*[ )]'

	# shellcheck disable=SC2016 # for the VM's shell
	tools/vm/run --bare --kernel debug --log "$tmp/log" -- \
		sh -c 'for how in use-after-free bounds leak; do
				insmod "$0" how=$how && rmmod provoke || exit
			done
			insmod "$0" how=keep' \
		"$provoke" < /dev/null 2> "$tmp/err"
	result $(($? != 123)) "the checked kernel: the run fails"
	check "memory used after it was freed" \
		reported "BUG: KASAN: .*use-after-free in use_after_free"
	check "with file and line" reported "$line"
	check "where it was freed" freed "$line"
	check "an index out of bounds" \
		reported "UBSAN: array-index-out-of-bounds in .*provoke.c"
	check "a shift" reported "UBSAN: shift-out-of-bounds in .*provoke.c"
	check "memory that nobody points to" reported "unreferenced object .*(size 4096)"
	check "a module that cannot be unloaded" \
		reported "leak: modules cannot be unloaded: provoke(1)"
	check "skbs that were not given back" \
		reported "leak: skbuff_head_cache: [0-9]* at the start, [0-9]* at the end"
}

planned=15
[ "$KERNEL" != debug ] || planned=22
plan $planned
# Where KASAN has code in the place of the access, its own look faults.
provoked oops "kernel NULL pointer dereference\|general protection fault"
result $? "oops"
# These do not depend on what the kernel checks.
if [ "$KERNEL" != debug ]; then
	provoked warn "WARNING: .*provoke_init"
	result $? "WARN"
	provoked panic "Kernel panic - not syncing: provoked"
	result $? "panic"
fi

# What is let pass, and its neighbours that are not.
pass=$(log <<'EOF'
[    1.0] ------------[ cut here ]------------
[    1.0] memcpy: detected field-spanning write (size 72) of single field "&wqe->wr" at drivers/infiniband/sw/rdmavt/qp.c:2041 (size 40)
[    1.0] WARNING: CPU: 0 PID: 9 at drivers/infiniband/sw/rdmavt/qp.c:2041 rvt_post_send+0x7e6/0x8a0 [rdmavt]
[    1.0] ---[ end trace 0000000000000000 ]---
[    1.1] a quiet line
EOF
)
check "rdmavt's field-spanning write is let pass" test -z "$pass"
# report TEXT
report() {
	printf '[    1.0] %s\n' '------------[ cut here ]------------' "$1" \
		'---[ end trace 0000000000000000 ]---'
}

left='WARNING: at include/rdma/ib_verbs.h:3945 ipoib_transport_dev_cleanup+0xcd/0xe0 [ib_ipoib]'
missed='WARNING: at drivers/infiniband/core/restrack.c:52 rdma_restrack_clean+0x4d/0x60 [ib_core]'
pass=$({ report "$left"; report "$missed"; } | log)
check "so is what the kernel's ib_ipoib leaves behind" test -z "$pass"
other=$(report "$missed" | log)
check "not what others do" grep -q restrack <(echo "$other")
other=$(log <<'EOF'
[    1.0] ------------[ cut here ]------------
[    1.0] memcpy: detected field-spanning write (size 72) of single field "x" at drivers/infiniband/core/mad.c:41 (size 40)
[    1.0] WARNING: CPU: 0 PID: 9 at drivers/infiniband/core/mad.c:41 x+0x7e6/0x8a0 [ib_core]
[    1.0] ---[ end trace 0000000000000000 ]---
EOF
)
check "the same elsewhere is not" grep -q mad.c <(echo "$other")
other=$(log <<'EOF'
[    1.0] ------------[ cut here ]------------
[    1.0] WARNING: CPU: 0 PID: 9 at drivers/infiniband/sw/rdmavt/qp.c:700 rvt_x+0x7e6/0x8a0 [rdmavt]
[    1.0] ---[ end trace 0000000000000000 ]---
EOF
)
check "another warning of rdmavt's is not" grep -q rvt_x <(echo "$other")
queue='[    1.0] workqueue: work func ipoib_work [MODULE] enqueued on deprecated workqueue.'
pass=$(log <<< "${queue/MODULE/rdmavt}")
check "a queue that others use is let pass" test -z "$pass"
other=$(log <<< "${queue/MODULE/ib_ipoib}")
check "ours is not" grep -q ipoib_work <(echo "$other")
both=$(log <<'EOF'
[    1.0] ------------[ cut here ]------------
[    1.0] memcpy: detected field-spanning write (size 72) of single field "&wqe->wr" at drivers/infiniband/sw/rdmavt/qp.c:2041 (size 40)
[    1.0] WARNING: CPU: 0 PID: 9 at drivers/infiniband/sw/rdmavt/qp.c:2041 rvt_post_send+0x7e6/0x8a0 [rdmavt]
[    1.0] ---[ end trace 0000000000000000 ]---
[    1.0] ------------[ cut here ]------------
[    1.0] refcount_t: underflow; use-after-free.
[    1.0] WARNING: CPU: 0 PID: 9 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110
[    1.0] ---[ end trace 0000000000000000 ]---
EOF
)
check "nor is what follows it" grep -q "lib/refcount.c" <(echo "$both")
check "but it is left out of the report" test -z "$(grep memcpy <<< "$both")"

# kasan LINES: a report of KASAN's, and what follows it
kasan() {
	local i

	echo '[    1.0] BUG: KASAN: use-after-free in f+0x1/0x2 [m]'
	for ((i = 2; i < $1; i++)); do
		echo "[    1.0]  g+0x$i/0x200 [m]"
	done
	echo '[    1.0] ================'
	echo '[    1.0] a quiet line'
}

whole=$(kasan 150 | log)
check "a long report of KASAN's is whole" test "$(wc -l <<< "$whole")" -eq 150
check "and ends where it does" test -z "$(grep quiet <<< "$whole")"

# Lines that start a report without a "cut here".
missed=$(while read -r line; do
	[ -n "$(echo "[   1.0] $line" | log)" ] || echo "$line"
done <<'EOF'
BUG: KASAN: use-after-free in f+0x1/0x2 [m]
BUG: sleeping function called from invalid context at mm/slab.h:1
BUG: scheduling while atomic: cat/1/0x2
BUG: unable to handle page fault for address: 1
BUG: Bad page state in process cat  pfn:1
BUG kmalloc-64 (Tainted: G): Poison overwritten
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
INFO: task cat:1 blocked for more than 120 seconds.
INFO: rcu_preempt self-detected stall on CPU
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
INFO: trying to register non-static key.
watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [cat:1]
watchdog: Watchdog detected hard LOCKUP on cpu 0
unreferenced object 0xffff888100000000 (size 64):
UBSAN: array-index-out-of-bounds in f.c:1:2
general protection fault, probably for non-canonical address 0x1: 0000 [#1]
list_del corruption. prev->next should be 1
Kernel panic - not syncing: Fatal exception
unregister_netdevice: waiting for ib0 to become free. Usage count = 2
vm: the test does not end
EOF
)
check "every kind of report is known" test -z "$missed"
[ "$KERNEL" != debug ] || checked
finish
