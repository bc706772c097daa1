# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The checked kernel: $CACHE/kernel/debug, laid out as Debian's kernels are
# (kernel.sh), and with vmlinux for source lines. It is built from
# $CACHE/source/6.1 and tools/kernel/debug.config; another source or another
# configuration makes another kernel beside it.

DEBUG_CONFIG=$ROOT/tools/kernel/debug.config
# -O1 without what only makes the kernel faster, and without warnings and assertions about
# the source, which is Debian's: it takes more time here than it saves later. Some calls
# that must not remain go only with -fipa-cp, and some without -fthread-jumps. Source lines
# are found, but no variables: our modules have those.
DEBUG_FLAGS="-O1 -fipa-cp -g1 -pipe -w -Wno-all -ftrack-macro-expansion=0 -U__OPTIMIZE__ \
$(printf -- '-fno-%s ' \
	thread-jumps tree-pta ivopts tree-loop-optimize tree-dse tree-sink tree-ter tree-slsr \
	ssa-phiopt tree-ch tree-sra tree-copy-prop tree-coalesce-vars tree-builtin-call-dce \
	tree-phiprop tree-forwprop if-conversion if-conversion2 shrink-wrap dse \
	forward-propagate split-wide-types cprop-registers combine-stack-adjustments \
	compare-elim branch-count-reg guess-branch-probability reorder-blocks \
	move-loop-invariants)"

# Not checked by KASAN is what checks itself: a stack is unwound with every allocation,
# lockdep looks at every lock, and all of memory is read, word by word, to find leaks. Nor
# is what never has memory of our modules in hand, or of what they use.
DEBUG_PLAIN=$(printf '%s ' arch/x86/{events,kernel,lib,mm,pci}/% \
	drivers/{char,clocksource,pci,rtc,tty,virtio}/% fs/{9p,devpts,netfs,overlayfs,ramfs}/% \
	kernel/{events,futex,gcov,irq,printk}/% net/9p/% kernel/{extable,stacktrace} \
	kernel/locking/{lockdep,spinlock_debug} lib/debugobjects mm/kmemleak)

# debug_name SOURCE: the folder of the kernel that belongs to it.
debug_name() {
	printf 'debug_%s_%s\n' "$(basename "$1")" \
		"$({ grep '^CONFIG\|^# CONFIG' "$DEBUG_CONFIG"; echo "$DEBUG_FLAGS$DEBUG_PLAIN"; } |
			sha256sum | cut -c 1-16)"
}

# Every line of the fragment has to be in force: an option whose condition is
# not met is dropped without a word.
debug_configure() {
	local source=$1 build=$2 line

	make -s -C "$source" O="$build" CC=gcc-12 \
		KCONFIG_ALLCONFIG="$DEBUG_CONFIG" allnoconfig > "$build.log" 2>&1 || {
		cat "$build.log" >&2
		return 1
	}
	while read -r line; do
		grep -qxF "$line" "$build/.config" || {
			say "debug.config: not possible: $line"
			return 1
		}
	done < <(grep '^CONFIG' "$DEBUG_CONFIG")
}

# As in the Makefile: the ar and nm of binutils load every plugin, for every file. Whether
# what is exported is global is not asked: it is Debian's source. KASAN_SANITIZE comes from
# the environment, where what a Makefile of the kernel's says goes before it.
debug_make() {
	local source=$1 build=$2 jobs

	shift 2
	jobs=$(($(nproc) + 1))
	KASAN_SANITIZE="\$(if \$(filter $DEBUG_PLAIN,\$(obj)/\$(basetarget)),n)" \
	make -s -j "$jobs" -C "$source" O="$build" CC=gcc-12 AR=gcc-ar-12 NM=gcc-nm-12 \
		KCFLAGS="$DEBUG_FLAGS" cmd_check_local_export=: \
		"cmd_gzip=gzip -nc1 \$(real-prereqs) > \$@" \
		"$@" > "$build.log" 2>&1 && return
	tail -n 30 "$build.log" >&2
	return 1
}

# A file that is not there, or that has other flags in its Makefile, would only cost time.
debug_plain_check() {
	local build=$1 path objects

	for path in $DEBUG_PLAIN; do
		objects=$(find "$build" -path "$build/${path/\%/*}.o")
		# shellcheck disable=SC2086 # one argument a word
		if [ -z "$objects" ] || nm -u $objects | grep -q __asan_; then
			say "DEBUG_PLAIN: $path is not built without KASAN"
			return 1
		fi
	done
}

# What modules are built with is kept of the build, and vmlinux.
debug_install() {
	local source=$1 tmp=$2 release

	release=$(cat "$tmp/build/include/config/kernel.release") &&
	debug_make "$source" "$tmp/build" INSTALL_MOD_PATH="$tmp" modules_install &&
	cp "$tmp/build/arch/x86/boot/bzImage" "$tmp/vmlinuz" &&
	mv "$tmp/build/vmlinux" "$tmp/vmlinux" &&
	rm -f "$tmp/lib/modules/$release/build" "$tmp/lib/modules/$release/source" &&
	find "$tmp/build" -path "$tmp/build/scripts" -prune -o \
		-path "$tmp/build/tools" -prune -o -type f \
		\( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '*.cmd' \
		   -o -name '*.mod*' -o -name 'vmlinux*' -o -name '*Image*' \) \
		! -name module.lds -exec rm {} + &&
	rm -f "$tmp/build.log" &&
	printf '%s\n' "$release" > "$tmp/release"
}

debug_setup() {
	local source tree tmp

	kernel_source
	source=$(readlink -f "$CACHE/source/6.1")
	tree=$CACHE/kernel/$(debug_name "$source")
	if [ ! -e "$tree/release" ]; then
		cache_lock
	fi
	if [ ! -e "$tree/release" ]; then
		say "building the checked kernel into $tree (some minutes)"
		tmp=$(cache_tmp) && mkdir -p "$tmp/build" "$CACHE/kernel" &&
		debug_configure "$source" "$tmp/build" &&
		debug_make "$source" "$tmp/build" bzImage modules &&
		debug_plain_check "$tmp/build" &&
		debug_install "$source" "$tmp" &&
		rm -rf "$tree" &&
		mv "$tmp" "$tree" || die "could not build the checked kernel"
	fi
	[ "$CACHE/kernel/debug" -ef "$tree" ] ||
		cache_point "$CACHE/kernel/debug" "$tree"
}
