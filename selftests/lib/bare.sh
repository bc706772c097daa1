# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests that install the project in a bare Debian system. They need root, and tools/setup
# package. A test that sources this file has a bare system below $bare at the end of bare_system,
# and everything is removed when it ends.

. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
BUILD=${BUILD:-$ROOT/build}
. "$ROOT/tools/lib/cache.sh"

work=$(mktemp -d -p "$BUILD")
bare=$work/bare
modules='ib_ipoib sdp_ib sdp_rdma sdp_verbs sdpdev softib'
version=$(cat "$ROOT/VERSION")

finish_all() {
	umount "$bare/proc" 2> /dev/null
	rm -rf "$work"
}
trap finish_all EXIT

# logged COMMAND...: its output is shown if it fails
logged() {
	"$@" > "$work/log" 2>&1 < /dev/null && return
	tail -n 40 "$work/log" | sed 's/^/# /'
	return 1
}

# tree VERSION: the files of this tree, with that version
tree() {
	local tree=$work/$1/sdpdev-$1

	mkdir -p "$tree" &&
	git -C "$ROOT" ls-files -z | tar -c -C "$ROOT" --null -T - | tar -x -C "$tree" &&
	echo "$1" > "$tree/VERSION"
}

# Where this machine's packages are from, in apt-get's own words
# where FORMAT
where() {
	apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u
}

# lists SUITE...: the lists of packages of these releases. Debian 12's are this machine's.
# shellcheck disable=SC2016 # for apt-get to expand
lists() {
	local mirror s

	mirror=$(where '$(REPO_URI)' | grep -v security) || return
	for s; do
		if [ "$s" = bookworm ]; then
			where 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)'
		else
			echo "deb $mirror $s main"
			echo "deb $mirror $s-backports main"
		fi
	done > "$bare/etc/apt/sources.list"
	inside apt-get update -qq
}

# bare_system SUITE [OTHER...]: a bare system of Debian SUITE. It also finds packages of OTHER.
# shellcheck disable=SC2016 # for apt-get to expand
bare_system() {
	debootstrap --variant=minbase "$1" "$bare" \
		"$(where '$(REPO_URI)' | grep -v security)" &&
	# Else dpkg has each of the headers' thousands of files written to the disk at once.
	echo force-unsafe-io > "$bare/etc/dpkg/dpkg.cfg.d/bare" &&
	mount -t proc none "$bare/proc" &&
	lists "$@"
}

# Headers of a backport bring their kernel, whose installation would make an initramfs.
inside() {
	chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		INITRD=No DEBIAN_FRONTEND=noninteractive "$@"
}

# release_of SERIES...: what these kernels of the tests call themselves
release_of() {
	local series

	for series; do
		cat "$CACHE/kernel/$series/release"
	done
}

# headers SERIES...: the packages of their headers
headers() {
	release_of "$@" | sed 's/^/linux-headers-/'
}

# aside FROM TO SERIES...: the folder by which DKMS finds a kernel's headers gets another name,
# so that DKMS leaves this kernel out, or its own name again
aside() {
	local from=$1 to=$2 release

	shift 2
	for release in $(release_of "$@"); do
		release=$bare/lib/modules/$release
		mv "$release/$from" "$release/$to" || return
	done
}

# has_modules VERSION SERIES...: DKMS has put them in place for these kernels, and they say so.
# There is no image of the kernels, so depmod has not listed any module.
has_modules() {
	local version=$1 m release file info

	shift
	for release in $(release_of "$@"); do
		for m in $modules; do
			file=/lib/modules/$release/updates/dkms/$m.ko
			info=$(inside sh -c "modinfo -F version $file*; modinfo -F vermagic $file*")
			[[ $info = "$version"$'\n'"$release "* ]] || return
		done
	done
}

# runs SERIES: in the VM, with nothing of the project but what is installed there: a connection
# between two Perl programs moves to memory.
runs() {
	local release

	release=$(release_of "$1")
	"$ROOT/tools/vm/run" --bare --kernel "$1" -- sh -c "
		for d in dev proc sys; do mount --bind /\$d '$bare'/\$d || exit; done
		ip link set lo up && modprobe -a ib_core ib_cm &&
		chroot '$bare' sh -c 'insmod /lib/modules/$release/updates/dkms/sdpdev.ko*' &&
		chroot '$bare' sdprun --now perl -MIO::Socket::INET -e '
			my \$l = IO::Socket::INET->new(Listen => 1,
				LocalAddr => \"127.0.0.1\") or die;
			if (!fork) {
				my \$s = \$l->accept;
				while (<\$s>) { print \$s \$_; \$s->flush; }
				exit;
			}
			my \$c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\",
				PeerPort => \$l->sockport);
			for (1 .. 200) { print \$c \"\$_\n\"; \$c->flush; <\$c> == \$_ or die; }' &&
		chroot '$bare' sdpstat -s | grep -E 'moved +[1-9]'" < /dev/null
}

# runs_on SERIES...
runs_on() {
	local series

	for series; do
		runs "$series" || return
	done
}

# files: each file of the bare system, with its mode and a checksum of its contents. Left out
# are logs, caches, what the package managers note about all packages, and the key that DKMS
# makes for the machine when it signs a module for the first time, and depmod's lists.
files() {
	local name left=() find=(find "$bare" -xdev)

	for name in debs proc tmp var/log var/cache var/lib/apt var/lib/rpm var/lib/dpkg/lock\* \
		    var/lib/dpkg/status\* var/lib/dpkg/available\* var/lib/dpkg/triggers \
		    var/lib/dkms/mok.\* usr/lib/modules/\*/modules.\*; do
		left+=(-path "$bare/$name" -prune -o)
	done
	{
		"${find[@]}" "${left[@]}" -printf '%M %U %G %p %l\n'
		"${find[@]}" "${left[@]}" -type f -print0 | xargs -0 sha256sum
	} | LC_ALL=C sort
}

# before: notes the files of the bare system
before() {
	files > "$work/before"
}

# no_trace: the same files are there, and their contents are the same
no_trace() {
	files > "$work/after" && diff "$work/before" "$work/after"
}
