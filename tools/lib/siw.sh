# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's iWARP in software, siw, which Debian's kernels leave out: $CACHE/siw/6.1 has it as a
# module for $CACHE/kernel/6.1, from the source of that kernel.

# siw_make SOURCE KERNEL FOLDER
siw_make() {
	cp "$1"/drivers/infiniband/sw/siw/* "$3" &&
	make -s -C "$2/build" M="$3" AR=gcc-ar-12 NM=gcc-nm-12 CONFIG_RDMA_SIW=m \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules > "$3.log" 2>&1 && rm "$3.log" && return
	tail -n 30 "$3.log" >&2
	return 1
}

siw_setup() {
	local source kernel tree tmp

	kernel_source
	kernel_setup 6.1
	source=$(readlink -f "$CACHE/source/6.1")
	kernel=$(readlink -f "$CACHE/kernel/6.1")
	tree=$CACHE/siw/${kernel##*/}.${source##*/}
	[ ! -e "$tree/siw.ko" ] || [ ! "$CACHE/siw/6.1" -ef "$tree" ] || return 0
	cache_lock

	say "building the kernel's siw into $tree"
	tmp=$(cache_tmp) && mkdir -p "$tmp/build" "$tmp/siw" "$CACHE/siw" &&
	siw_make "$source" "$kernel" "$tmp/build" &&
	mv "$tmp"/build/siw.{ko,mod.c} "$tmp/siw" &&
	rm -rf "$tree" &&
	mv "$tmp/siw" "$tree" &&
	cache_point "$CACHE/siw/6.1" "$tree" || die "could not build the kernel's siw"
	rm -rf "$tmp"
}
