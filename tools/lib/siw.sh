# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's iWARP in software, siw, which Debian's kernels leave out: $CACHE/siw/KERNEL has it as
# a module for $CACHE/kernel/KERNEL, 6.1 or debug, from the source of 6.1.

# siw takes a lock with softirqs on that they take, too. The checked kernel would report it, and
# stop checking.
SIW_MEND='s/\<(read_(un)?lock)(\(&sk->sk_callback_lock\))/\1_bh\3/'

# siw_make SOURCE KERNEL FOLDER
siw_make() {
	cp "$1"/drivers/infiniband/sw/siw/* "$3" && sed -Ei "$SIW_MEND" "$3"/*.c &&
	make -s -C "$2/build" M="$3" AR=gcc-ar-12 NM=gcc-nm-12 CONFIG_RDMA_SIW=m \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules > "$3.log" 2>&1 && rm "$3.log" && return
	tail -n 30 "$3.log" >&2
	return 1
}

# siw_setup KERNEL, which is there
siw_setup() {
	local source kernel tree tmp

	kernel_source
	source=$(readlink -f "$CACHE/source/6.1")
	kernel=$(readlink -f "$CACHE/kernel/$1")
	tree=$CACHE/siw/${kernel##*/}.${source##*/}.$(cksum <<< "$SIW_MEND" | cut -d' ' -f1)
	[ ! -e "$tree/siw.ko" ] || [ ! "$CACHE/siw/$1" -ef "$tree" ] || return 0
	cache_lock

	say "building the kernel's siw into $tree"
	tmp=$(cache_tmp) && mkdir -p "$tmp/build" "$tmp/siw" "$CACHE/siw" &&
	siw_make "$source" "$kernel" "$tmp/build" &&
	mv "$tmp"/build/siw.{ko,mod.c} "$tmp/siw" &&
	rm -rf "$tree" &&
	mv "$tmp/siw" "$tree" &&
	cache_point "$CACHE/siw/$1" "$tree" || die "could not build the kernel's siw"
	rm -rf "$tmp"
}
