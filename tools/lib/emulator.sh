# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A newer emulator than the release has: it runs the VM in three quarters of the
# time. Debian's backports of it are unpacked into $CACHE/emulator/<version>, to
# which $CACHE/emulator/newest points; the libraries that it needs came with the
# release's own, which tools/vm/run takes where there is no other.

EMULATOR_GOOD=10

# Prints the first number of its version.
emulator_version() {
	qemu-system-x86_64 --version 2> /dev/null |
		sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p'
}

emulator_fetch() {
	local tmp=$1 version codename

	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	with_lists apt_lists "$tmp/apt" amd64 "$codename-backports" || return
	version=$(APT_CONFIG=$tmp/apt/apt.conf newest_version qemu-system-x86 |
		grep bpo) || return
	say "unpacking a newer emulator ($version)"
	APT_CONFIG=$tmp/apt/apt.conf fetch_packages "$tmp/root" \
		"qemu-system-x86=$version" "qemu-system-data=$version" seabios &&
	"$tmp/root/usr/bin/qemu-system-x86_64" --version > /dev/null &&
	mkdir -p "$CACHE/emulator" &&
	rm -rf "$CACHE/emulator/${version#*:}" &&
	mv "$tmp/root" "$CACHE/emulator/${version#*:}" &&
	cache_point "$CACHE/emulator/newest" "$CACHE/emulator/${version#*:}"
}

emulator_setup() {
	local tmp

	[ ! -e "$CACHE/emulator/newest" ] &&
	[ "$(emulator_version)" -lt $EMULATOR_GOOD ] || return 0
	cache_lock
	[ ! -e "$CACHE/emulator/newest" ] || return 0
	tmp=$(cache_tmp) || exit
	emulator_fetch "$tmp" ||
		say "no newer emulator in Debian's backports; the VM will be slow"
	rm -rf "$tmp"
}
