#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's packages in a bare Debian 12 or, in the variant trixie, a bare Debian 13: they are built,
# installed, upgraded and removed, DKMS builds the modules for the kernels of the tests, and with
# the installed files only, sdprun runs in the VM on each of these kernels.

. "$(dirname "$0")/bare.sh"

packages='libsdpdev2 libsdpdev-dev libsdpmcast1 libsdpmcast-dev
	sdpdev-utils sdpdev-dkms softib-dkms'
suite=bookworm planned=17
[ "$VARIANT" != trixie ] || suite=trixie planned=13

# builds VERSION: the packages of this tree with that version, into a folder of its name
builds() {
	tree "$1" &&
	sed -i "1s/(.*)/($1)/" "$work/$1/sdpdev-$1/debian/changelog" &&
	(cd "$work/$1/sdpdev-$1" && dpkg-buildpackage -us -uc -b)
}

# needs VERSION: what the packages need, without themselves
needs() {
	local deb

	for deb in "$work/$1"/*.deb; do
		dpkg-deb -f "$deb" Depends
	done | tr ',' '\n' | grep -v sdp | sort -u | paste -s -d ,
}

# install VERSION
install() {
	rm -rf "$bare/debs" && mkdir "$bare/debs" && cp "$work/$1"/*.deb "$bare/debs" || return
	rm "$bare"/debs/*-dbgsym_*
	inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb'
}

purge() {
	# shellcheck disable=SC2086 # one argument a word
	inside apt-get purge -y -qq $packages
}

# What is left that has a name of the project's
leftovers() {
	! find "$bare" -xdev -path "$bare/debs" -prune -o \( -name '*sdp*' -o -name '*softib*' -o \
		-path '*/updates/*' \) -print | grep -v -e /usr/src/linux- -e /usr/include/linux/ \
		-e '/lib/modules/.*/kernel/' -e /var/log/ | grep .
}

plan $planned
check "they are built" logged builds "$version"
# The headers of 6.1 and 6.12 are Debian 12's in both. The newer packages win, so the rest is not.
check "a bare system" logged bare_system $suite bookworm
# shellcheck disable=SC2046 # one argument a word
check "with the headers of two kernels" logged inside apt-get install -y -qq \
	--no-install-recommends $(headers 6.1 6.12)
logged inside apt-get satisfy -y -qq --no-install-recommends "$(needs "$version")" &&
	before
result $? "and with what the packages need"
check "the packages are installed" logged install "$version"
check "DKMS has built all modules for each kernel" logged has_modules "$version" 6.1 6.12
check "the tools run" logged inside sh -c 'sdprun --version && sdpstat -V && sdpctl -V'
check "sdprun, in the VM" logged runs_on 6.1 6.12
if [ $suite = bookworm ]; then
	test "$version" = "$(dpkg-parsechangelog -l "$ROOT/debian/changelog" -S Version)"
	result $? "the packages have the version of the rest"
	check "lintian finds nothing" logged lintian --fail-on error,warning \
		"$work/$version/sdpdev_${version}_amd64.changes"
	# One kernel is enough for what follows.
	check "a later version" logged builds "$version.1"
	logged aside build build-aside 6.12 && logged install "$version.1" &&
		logged has_modules "$version.1" 6.1 && logged aside build-aside build 6.12
	result $? "replaces them, and its modules the others"
fi
logged purge && logged no_trace
result $? "nothing is left when they are removed"

# A kernel that comes later: on Debian 12, with the compiler and the libc of Debian 13
logged aside build build-aside 6.1 6.12 && logged install "$version"
result $? "they are installed again, without a kernel"
# shellcheck disable=SC2046 # one argument a word
logged lists bookworm trixie && logged inside apt-get install -y -qq \
	--no-install-recommends $(headers newest) && logged has_modules "$version" newest
result $? "DKMS builds the modules when the headers of the newest kernel come"
check "sdprun, in the VM, on this kernel" logged runs newest
logged purge && logged leftovers
result $? "nothing is left when they are removed again"
finish
