#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The RPM packages: rpmbuild builds them, and rpm installs, upgrades and erases them in a bare
# Debian 12, with their scripts. What they need is Debian's there, so rpm is not to look for it.

. "$(dirname "$0")/bare.sh"

# rpms VERSION: rpmbuild finds a file that is in none of the packages.
rpms() {
	local top=$work/rpm-$1

	tree "$1" &&
	mkdir -p "$top/SOURCES" &&
	tar -cz -C "$work/$1" -f "$top/SOURCES/sdpdev-$1.tar.gz" "sdpdev-$1" &&
	rpmbuild -bb --nodeps --define "_topdir $top" --define "version $1" \
		"$work/$1/sdpdev-$1/rpm/sdpdev.spec" &&
	[ "$(find "$top/RPMS" -name '*.rpm' | wc -l)" -eq 7 ]
}

# in_bare OPTION...: rpm, with the bare system's own list of packages
in_bare() {
	rpm --root "$bare" --dbpath /var/lib/rpm --force-debian "$@"
}

# put OPTION VERSION: installs or upgrades them
put() {
	local files

	mapfile -t files < <(find "$work/rpm-$2/RPMS" -name '*.rpm')
	in_bare --nodeps "$1" "${files[@]}" && [ "$(in_bare -qa | grep -c -F -e "-$2-")" -eq 7 ]
}

# The scripts call dkms for the running kernel. This is the one of the test, then.
running() {
	cat > "$bare/usr/sbin/uname" <<-END &&
		#!/bin/sh
		[ "\$*" = -r ] || exec /usr/bin/uname "\$@"
		echo $1
	END
	chmod +x "$bare/usr/sbin/uname"
}

# in_dkms VERSION: DKMS has this version of both, and no other one
in_dkms() {
	inside dkms status > "$work/status"
	cat "$work/status"
	[ "$(wc -l < "$work/status")" -eq 2 ] &&
	[ "$(grep -c "/$1, .*: installed" "$work/status")" -eq 2 ]
}

# Folders that belong to other packages where packages are RPM
folders() {
	mkdir -p "$bare"/usr/lib/modules-load.d "$bare"/usr/lib64/pkgconfig \
		"$bare"/usr/share/licenses "$bare"/usr/share/man/man4
}

erase() {
	# shellcheck disable=SC2046 # one argument a word
	in_bare --nodeps -e $(in_bare -qa) && [ -z "$(in_bare -qa)" ]
}

plan 9
check "rpmbuild builds them" logged rpms "$version"
check "a bare system" logged bare_system bookworm
# shellcheck disable=SC2046 # one argument a word
logged inside apt-get install -y -qq --no-install-recommends dkms libmnl0 libibverbs1 \
	librdmacm1 $(headers 6.1) && running "$(release_of 6.1)" && folders &&
	before
result $? "with the headers of a kernel, and with what the packages need"
check "rpm installs them" logged put -i "$version"
check "with all files as they were built" logged in_bare --nodeps -Va
logged in_dkms "$version" && logged has_modules "$version" 6.1
result $? "their scripts have DKMS build the modules"
check "the tools run" logged inside sh -c 'sdprun --version && sdpstat -V && sdpctl -V'
logged rpms "$version.1" && logged put -U "$version.1" && logged in_dkms "$version.1" &&
	logged has_modules "$version.1" 6.1
result $? "a later version replaces them, and its modules the others"
logged erase && logged no_trace
result $? "nothing is left when they are erased"
finish
