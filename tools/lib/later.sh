# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernels of later releases of Debian than this one. Their headers come with programs for a newer
# C library, and want a newer compiler: $CACHE/root/<suite> is a system that has both, unpacked, for
# tools/lib/inside.

# later_suites KERNEL: where a kernel is from, and the release whose programs build for it
later_suites() {
	case $1 in
	newest)	echo trixie trixie-backports ;;
	trixie)	echo trixie ;;
	*)	die 2 "no such kernel of a later release: $1" ;;
	esac
}

# The packages that compile modules
later_tools() {
	echo base-files bash coreutils diffutils findutils gcc-14 grep gzip kmod libelf1t64 make \
		mawk perl sed util-linux xz-utils
}

# later_root SUITE: unpacks the system; the lists are those of that suite
later_root() {
	local link=$CACHE/root/$1 tmp tree closure

	[ ! -e "$link" ] || return 0
	# Nothing is installed there.
	# shellcheck disable=SC2046 # one argument a word
	closure=$(guest_closure -o Dir::State::status=/dev/null $(later_tools)) || return
	tree=$link.$(sha256sum <<< "$closure" | cut -c 1-16)
	tmp=$(cache_tmp) || return
	say "unpacking what builds modules in Debian's $1 into $tree"
	# base-files makes the links to /usr that others' files go through.
	# shellcheck disable=SC2086 # one argument a word
	fetch_packages "$tmp" "$(grep '^base-files=' <<< "$closure")" &&
	fetch_packages "$tmp" $closure &&
	ln -s mawk "$tmp/usr/bin/awk" &&
	ln -sf bash "$tmp/usr/bin/sh" &&
	mkdir -p "$CACHE/root" &&
	rm -rf "$tree" &&
	mv "$tmp" "$tree" &&
	cache_point "$link" "$tree"
}

# later_packages RELEASE: those of a kernel's image, which are several, and its headers
later_packages() {
	local release=$1 p

	for p in "linux-headers-$release" $(depends "linux-headers-$release") \
		 $(depends "linux-image-$release"); do
		case $p in
		linux-headers-*|linux-kbuild-*|linux-binary-*|linux-modules-*|linux-base-[0-9]*)
			echo "$p" ;;
		esac
	done | sort -u
}

# later_unpack FOLDER RELEASE
later_unpack() {
	local tmp=$1 release=$2

	# shellcheck disable=SC2046 # one argument a word
	fetch_packages "$tmp" $(later_packages "$release") &&
	kernel_relocate "$tmp" "$release" &&
	{ [ -e "$tmp/lib" ] || ln -s usr/lib "$tmp/lib"; } &&
	ln -s "usr/src/linux-headers-$release" "$tmp/build" &&
	ln -s "usr/lib/modules/$release/vmlinuz" "$tmp/vmlinuz" &&
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$tmp" "$release" &&
	printf '%s\n' "$release" > "$tmp/release"
}

# later_setup KERNEL
later_setup() {
	local link=$CACHE/kernel/$1 suites lists release tmp tree

	[ ! -e "$link/release" ] || return 0
	suites=$(later_suites "$1") || exit
	cache_lock
	[ ! -e "$link/release" ] || return 0
	lists=$(mktemp -d) || exit
	# shellcheck disable=SC2086 # one argument a word
	with_lists apt_lists "$lists" amd64 $suites || die "no package lists of Debian's $suites"
	(
		export APT_CONFIG=$lists/apt.conf
		later_root "${suites%% *}" || die "could not unpack Debian's ${suites%% *}"
		release=$(apt-cache -t "${suites##* }" depends linux-image-amd64 |
			sed -n 's/^ *Depends: linux-image-//p' | head -n 1)
		[ -n "$release" ] || die "no package gives the kernel of Debian's ${suites##* }"
		tree=$CACHE/kernel/${release}_$(newest_version "linux-headers-$release")
		tmp=$(cache_tmp) || exit
		say "fetching Debian's kernel $release into $tree"
		later_unpack "$tmp" "$release" &&
		ln -s "../../root/${suites%% *}" "$tmp/root" &&
		mkdir -p "$CACHE/kernel" &&
		rm -rf "$tree" &&
		mv "$tmp" "$tree" &&
		cache_point "$link" "$tree" || die "could not put kernel $release together"
	) || exit
	rm -rf "$lists"
}
