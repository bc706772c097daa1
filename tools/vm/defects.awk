# SPDX-License-Identifier: GPL-2.0
#
# Prints the reports of defects in a kernel log, each with what belongs to it.
# A test that not even SIGKILL ends is one, too: selftests/run has the blocked tasks printed.
# A report starts at its first telling line, or at the "cut here" before it,
# and ends at its "end trace" or "end of ..." line, or 60 lines on. One of KASAN's or
# UBSAN's ends at the line of "=" below it: KASAN's has three stacks, the last of which
# says where the memory was freed.

function flush() {
	if (bad && !allowed) {
		if (stage)
			print stage
		stage = ""
		printf "%s", block
	}
	block = ""
	lines = bad = allowed = framed = 0
}

# The kernel's own rdmavt library copies a work request over several fields,
# knowingly, and is warned for it once.
/memcpy: detected field-spanning write .* at drivers\/infiniband\/sw\/rdmavt\/qp\.c:/ {
	if (cut && lines == 1)
		allowed = 1
}

# The kernel's tracing says so when there is no memory for a module's events (fail/clients).
/WARNING: .* event_define_fields\+/ {
	allowed = 1
}

# The kernel's own ib_ipoib now and then leaves a completion queue behind when it is
# unloaded, and so the adapter misses it when that goes.
/WARNING: .* ipoib_transport_dev_cleanup\+/ {
	allowed = left = 1
}

/WARNING: .* rdma_restrack_clean\+/ && left {
	allowed = 1
}

# What the VM was doing.
/\] vm: / && !/does not end/ {
	stage = $0
}

/-+\[ cut here \]-+/ {
	flush()
	cut = 1
	block = $0 "\n"
	lines = 1
	next
}

/BUG: KASAN: |\] UBSAN: / {
	if (!cut) {
		flush()
		framed = 1
	}
}

/WARNING: |BUG:? |INFO: |Oops|Kernel panic|general protection fault|invalid opcode|divide error|K[AC]SAN|KFENCE|UBSAN|LOCKUP|DEBUG_LOCKS_WARN|unreferenced object|refcount_t: |list_(add|del) corruption|detected field-spanning write|page allocation failure|waiting for .* to become free|\] leak: |\] vm: the test does not end/ {
	bad = 1
}

# Newer kernels tell of a module's use of what older ones had instead.
/work func .*\[(ib_ipoib|sdp[a-z_]*|softib)\].* deprecated workqueue/ {
	bad = 1
}

lines || bad {
	block = block $0 "\n"
	lines++
}

lines && (/---\[ end / || (framed && /\] =+$/) || lines >= (framed ? 200 : 60)) {
	flush()
	cut = 0
}

END {
	flush()
}
