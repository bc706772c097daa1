# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Debian kernels in the cache. $CACHE/kernel/<series> holds
#
#   release      what the kernel calls itself
#   vmlinuz      the image
#   lib/modules  its modules, with depmod run
#   build        the folder for KDIR
#
# Image and headers are unpacked, not installed: an installed image would show
# up in the boot menu, and the headers of some kernels depend on one.
#
# $CACHE/source/6.1 is the source of that kernel with Debian's patches, whole.

# The metapackage that names a series' newest kernel.
kernel_meta() {
	case $1 in
	6.1)	echo linux-image-amd64 ;;
	6.12)	echo linux-image-6.12-amd64 ;;
	*)	die 2 "no such kernel: $1 (6.1 and 6.12 are known)" ;;
	esac
}

# The release of the newest kernel of a series that the lists know.
kernel_newest() {
	local image

	image=$(depends "$1" | grep -m 1 '^linux-image-') || return
	printf '%s\n' "${image#linux-image-}"
}

# kernel_packages RELEASE: those of its image and its headers
kernel_packages() {
	echo "linux-image-$1"
	echo "linux-headers-$1"
	depends "linux-headers-$1" | grep -m 1 -- '-common$'
	depends "linux-headers-$1" | grep -m 1 '^linux-kbuild-'
}

# Makes the absolute names in unpacked headers relative.
kernel_relocate() {
	local tree=$1 release=$2 link target

	# shellcheck disable=SC2016 # for make to expand
	sed -i -e 's|/usr/src/|$(dir $(lastword $(MAKEFILE_LIST)))../|' \
		-e 's|^KBUILD_OUTPUT=|KBUILD_OUTPUT:=|' \
		"$tree/usr/src/linux-headers-$release/Makefile" || return
	for link in build source; do
		target=$(readlink "$tree/lib/modules/$release/$link") || continue
		[[ $target == /* ]] || continue
		ln -sfn "../../..$target" "$tree/lib/modules/$release/$link"
	done
}

# Puts the compressed source of a kernel, one version of one package, into a
# folder; an installed package saves fetching it.
kernel_tarball() {
	local package=$1 version=$2 into=$3 installed=/usr/src/$1.tar.xz

	if [ -e "$installed" ] &&
	   [ "$(dpkg-query -W -f '${Version}' "$package" 2>&1)" = "$version" ]; then
		mkdir -p "$into/usr/src" && ln -s "$installed" "$into/usr/src/"
	else
		with_lists fetch_packages "$into" "$package=$version"
	fi
}

# The source comes for one series: the checks of the kernel's developers and
# a debug kernel need one.
kernel_source() {
	local package=linux-source-6.1 link=$CACHE/source/6.1 version tmp tree

	[ -e "$link/Makefile" ] && return
	cache_lock
	[ -e "$link/Makefile" ] && return

	version=$(with_lists newest_version "$package") ||
		die "no package gives the kernel's source ($package)"
	tree=$CACHE/source/$version
	say "unpacking the kernel's source $version into $tree"
	tmp=$(cache_tmp) &&
	kernel_tarball "$package" "$version" "$tmp" &&
	mkdir "$tmp/tree" &&
	tar -x --strip-components=1 -C "$tmp/tree" \
		-f "$tmp/usr/src/$package.tar.xz" &&
	mkdir -p "$CACHE/source" &&
	rm -rf "$tree" &&
	mv "$tmp/tree" "$tree" &&
	cache_point "$link" "$tree" ||
		die "could not unpack the kernel's source"
	rm -rf "$tmp"
}

# kernel_setup SERIES
kernel_setup() {
	local series=$1 meta release version tmp tree

	[ -e "$CACHE/kernel/$series/release" ] && return
	meta=$(kernel_meta "$series") || exit
	cache_lock
	[ -e "$CACHE/kernel/$series/release" ] && return

	release=$(with_lists kernel_newest "$meta") ||
		die "no package gives kernel $series ($meta)"
	case $release in
	"$series".*) ;;
	*) die "$meta is kernel $release here, not $series" ;;
	esac
	version=$(newest_version "linux-image-$release")
	tree=$CACHE/kernel/${release}_$version

	say "fetching Debian's kernel $release ($version) into $tree"
	tmp=$(cache_tmp) || exit
	# shellcheck disable=SC2046 # one argument a word
	with_lists fetch_packages "$tmp" $(kernel_packages "$release") ||
		die "could not fetch the packages of kernel $release"

	kernel_relocate "$tmp" "$release" &&
	ln -s "usr/src/linux-headers-$release" "$tmp/build" &&
	ln -s "boot/vmlinuz-$release" "$tmp/vmlinuz" &&
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$tmp" "$release" &&
	printf '%s\n' "$release" > "$tmp/release" &&
	mkdir -p "$CACHE/kernel" &&
	rm -rf "$tree" &&
	mv "$tmp" "$tree" &&
	cache_point "$CACHE/kernel/$series" "$tree" ||
		die "could not put kernel $release together"
}
