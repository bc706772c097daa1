#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A client in the kernel: a network block device whose socket has the ULP. The file system on it
# checks every block's sum.

. "$(dirname "$0")/common.sh"

SIZE=256

# serve: a server that exports a file, over endpoints
serve() {
	truncate -s "${SIZE}M" "$WORK/disk"
	cat > "$WORK/nbd.conf" <<-EOT
	[generic]
	    listenaddr = 127.0.0.1
	    allowlist = false
	[disk]
	    exportname = $WORK/disk
	EOT
	nbd-server -d -C "$WORK/nbd.conf" > "$WORK/server.log" 2>&1 &
	servers+=($!)
	until_true 20 listening
}

listening() {
	ss -Hltn 'sport = 10809' | grep -q .
}

# By ioctl(2): its netlink family is in the machine's own network namespace only.
connect() {
	nbd-client -L -N disk 127.0.0.1 10809 /dev/nbd0 &&
	until_true 20 grep -q '[1-9]' /sys/block/nbd0/size
}

# Files of several sizes, and what their sums are
fill() {
	local n

	mkdir "$WORK/mnt/$1" || return
	for n in 1 4095 4096 65537 1000001 9000000; do
		head -c $n /dev/urandom > "$WORK/mnt/$1/$n" || return
	done
	(cd "$WORK/mnt" && find . -type f -exec sha256sum {} +) > "$WORK/sums"
}

# again: what the page cache has is forgotten
again() {
	umount "$WORK/mnt" && blockdev --flushbufs /dev/nbd0 &&
	echo 3 > /proc/sys/vm/drop_caches && mount /dev/nbd0 "$WORK/mnt"
}

sums() {
	(cd "$WORK/mnt" && sha256sum --quiet -c "$WORK/sums") && [ -s "$WORK/sums" ]
}

# Both ends are endpoints: of the server's connection, and of the kernel's.
has_ulp() {
	ss -Htie state established "( sport = 10809 or dport = 10809 )" | tee "$WORK/ss"
	[ "$(grep -c tcp-ulp-sdp "$WORK/ss")" -eq 2 ]
}

plan 12
start || bail 'sdpdev does not load'
modprobe nbd nbds_max=1 && modprobe btrfs || bail 'no nbd, or no btrfs'
attach 1
mkdir "$WORK/mnt"
serve; result $? "a server"
before=$(moved)
check "the kernel's client" connect
check "both ends have the ULP" has_ulp
check "a file system with sums" mkfs.btrfs -q -d single -m dup /dev/nbd0
check "is mounted" mount /dev/nbd0 "$WORK/mnt"
check "files are written" fill first
check "and read after they were forgotten" again
check "with their sums" sums
fill second && sync
check "every block has its sum" btrfs scrub start -B "$WORK/mnt"
check "both directions moved" more_moved "$before" 2
check "it is unmounted" umount "$WORK/mnt"
check "the client ends" nbd-client -L -d /dev/nbd0
modprobe -r nbd btrfs
finish
