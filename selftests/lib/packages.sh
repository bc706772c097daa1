#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's packages in a bare Debian 12 or, in the variant trixie, a bare Debian 13: they are built,
# installed, upgraded and removed, and DKMS builds the modules for the kernels of the tests. Of
# Debian 12's, sdprun then runs in the VM. Needs root, and tools/setup package.

. "$(dirname "$0")/../tap.sh"

ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
BUILD=${BUILD:-$ROOT/build}
. "$ROOT/tools/lib/cache.sh"

work=$(mktemp -d -p "$BUILD")
bare=$work/bare
packages='libsdpdev2 libsdpdev-dev libsdpmcast1 libsdpmcast-dev
	sdpdev-utils sdpdev-dkms softib-dkms'
modules='ib_ipoib sdp_ib sdp_rdma sdp_verbs sdpdev softib'
version=$(cat "$ROOT/VERSION")
suite=bookworm kernels='6.1 6.12' planned=13
[ "$VARIANT" != trixie ] || suite=trixie kernels='newest' planned=7

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

# builds VERSION: the packages of this tree with that version, into a folder of its name
builds() {
	local tree=$work/$1/sdpdev-$1

	mkdir -p "$tree" &&
	git -C "$ROOT" ls-files -z | tar -c -C "$ROOT" --null -T - | tar -x -C "$tree" &&
	echo "$1" > "$tree/VERSION" &&
	sed -i "1s/(.*)/($1)/" "$tree/debian/changelog" &&
	(cd "$tree" && dpkg-buildpackage -us -uc -b)
}

# rpms VERSION: the same packages by rpmbuild, which finds a file that is in none of them. What
# they need is Debian's here, so rpmbuild is not to look for it.
rpms() {
	local top=$work/rpm

	mkdir -p "$top/SOURCES" &&
	tar -cz -C "$work/$1" --exclude=build -f "$top/SOURCES/sdpdev-$1.tar.gz" "sdpdev-$1" &&
	rpmbuild -bb --nodeps --define "_topdir $top" --define "version $1" \
		"$work/$1/sdpdev-$1/rpm/sdpdev.spec" &&
	[ "$(find "$top/RPMS" -name '*.rpm' | wc -l)" -eq 7 ]
}

# Where this machine's packages are from, in apt-get's own words
# where FORMAT
where() {
	apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u
}

# sources: the lists of packages for the bare system. Debian 12's are this machine's.
# shellcheck disable=SC2016 # for apt-get to expand
sources() {
	local mirror=$1 s

	[ "$suite" != bookworm ] || { where 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)'; return; }
	for s in "$suite" "$suite-backports"; do
		echo "deb $mirror $s main"
	done
}

# shellcheck disable=SC2016 # for apt-get to expand
bare_system() {
	local mirror

	mirror=$(where '$(REPO_URI)' | grep -v security) &&
	debootstrap --variant=minbase "$suite" "$bare" "$mirror" &&
	sources "$mirror" > "$bare/etc/apt/sources.list" &&
	# Else dpkg has each of the headers' thousands of files written to the disk at once.
	echo force-unsafe-io > "$bare/etc/dpkg/dpkg.cfg.d/bare" &&
	mount -t proc none "$bare/proc" &&
	inside apt-get update -qq
}

# Headers of a backport bring their kernel, whose installation would make an initramfs.
inside() {
	chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		INITRD=No DEBIAN_FRONTEND=noninteractive "$@"
}

# install VERSION
install() {
	rm -rf "$bare/debs" && mkdir "$bare/debs" && cp "$work/$1"/*.deb "$bare/debs" || return
	rm "$bare"/debs/*-dbgsym_*
	inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb'
}

# has_modules VERSION RELEASE...: DKMS has put them in place for these kernels, and they say
# so. There is no image of the kernels, so depmod has not listed any module.
has_modules() {
	local version=$1 m release folder

	shift
	for release; do
		folder=/lib/modules/$release/updates/dkms
		for m in $modules; do
			[ "$(inside sh -c "modinfo -F version $folder/$m.ko*")" = "$version" ] ||
				return
		done
	done
}

# In the VM, with nothing of the project but what is installed there: a connection between two
# Perl programs moves to memory.
runs() {
	"$ROOT/tools/vm/run" --bare --kernel "${kernels%% *}" -- sh -c "
		mount --bind /dev '$bare/dev' && mount --bind /sys '$bare/sys' &&
		ip link set lo up && modprobe -a ib_core ib_cm &&
		insmod '$bare'/lib/modules/${releases[0]}/updates/dkms/sdpdev.ko &&
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

# What is left that has a name of the project's
leftovers() {
	! find "$bare" -xdev -path "$bare/debs" -prune -o \( -name '*sdp*' -o -name '*softib*' \) \
		-path '*/*' -print | grep -v -e /usr/src/linux- -e /usr/include/linux/ \
		-e '/lib/modules/.*/kernel/' -e /var/log/ -e /usr/share/ | grep .
}

plan $planned
for kernel in $kernels; do
	releases+=("$(cat "$CACHE/kernel/$kernel/release")")
done
check "they are built" logged builds "$version"
check "a bare system" logged bare_system
check "with the headers of the kernels" logged inside apt-get install -y -qq \
	--no-install-recommends "${releases[@]/#/linux-headers-}"
check "the packages are installed" logged install "$version"
check "DKMS has built all modules for each kernel" logged has_modules "$version" "${releases[@]}"
check "the tools run" logged inside sh -c 'sdprun --version && sdpstat -V && sdpctl -V'
if [ $suite = bookworm ]; then
	check "sdprun, in the VM" logged runs
	test "$version" = "$(dpkg-parsechangelog -l "$ROOT/debian/changelog" -S Version)"
	result $? "the packages have the version of the rest"
	check "lintian finds nothing" logged lintian --fail-on error,warning \
		"$work/$version/sdpdev_${version}_amd64.changes"
	check "rpmbuild builds its packages" logged rpms "$version"
	# One kernel is enough for what follows.
	logged inside apt-get purge -y -qq "linux-headers-${releases[1]}"
	check "a later version" logged builds "$version.1"
	logged install "$version.1" && logged has_modules "$version.1" "${releases[0]}"
	result $? "replaces them, and its modules the others"
fi
# shellcheck disable=SC2086 # one argument a word
logged inside apt-get purge -y -qq $packages && logged leftovers
result $? "nothing is left when they are removed"
finish
