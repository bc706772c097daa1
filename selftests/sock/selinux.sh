#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What SELinux says of a connection holds where its bytes have left TCP. The machine has begun with
# security=selinux, and without a policy.

. "$(dirname "$0")/sock.sh"

selinux=/sys/fs/selinux

# The kernel takes a policy in one piece.
enforced() {
	secilc -o /tmp/selinux.policy -f /dev/null "$root/selftests/sock/policy.cil" &&
	mount -t selinuxfs none "$selinux" &&
	dd if=/tmp/selinux.policy of="$selinux/load" bs=1M status=none &&
	echo 1 > "$selinux/enforce"
}

free() {
	echo 0 > "$selinux/enforce"
	umount "$selinux"
	leave
}

trap free EXIT
plan 9
check "a machine" start
check "a policy is enforced" enforced
check "this is its first domain" test "$(tr -d '\0' < /proc/self/attr/current)" = u:r:first
within "selinux" "$programs/selinux"
check "nothing holds the module" until_true 5 unused
finish
