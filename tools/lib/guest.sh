# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Packages for programs in the VM. $CACHE/guest/<hash of the list> is a folder
# that the VM lays over the host's root; it holds the listed packages that the
# host has not installed, and what they depend on.

# Folders that Debian has merged into /usr, where some packages do not yet
# look: laid over the host's root they would hide its symbolic links.
guest_merge_usr() {
	local d

	for d in bin sbin lib lib64; do
		[ ! -L "$1/$d" ] && [ -d "$1/$d" ] || continue
		mkdir -p "$1/usr/$d" &&
		cp -a "$1/$d/." "$1/usr/$d/" &&
		rm -r "${1:?}/$d" || return
	done
}

# What apt-get would install for the arguments, as name=version.
guest_closure() {
	local plan

	plan=$(apt-get -s install -qq --no-install-recommends "$@") || return
	printf '%s\n' "$plan" |
		sed -n 's/^Inst \([^ ]*\) \(\[[^]]*\] \)*(\([^ ]*\) .*/\1=\3/p'
}

# Where the folder for the current list is.
guest_folder() {
	printf '%s/guest/%s\n' "$CACHE" \
		"$({ listed guest; listed source; } | sort | sha256sum | cut -c 1-16)"
}

# guest_sources FOLDER: the listed sources, each into usr/src/NAME there.
guest_sources() {
	local name into

	for name in $(listed source); do
		into=$1/usr/src/$name
		mkdir -p "$into" "$1/source" &&
		say "unpacking the source of $name for the VM" &&
		fetch_source "$1/source" "$name" &&
		tar -x --strip-components=1 -C "$into" -f "$1/source/$name"_*.orig.tar.* ||
			return
		rm -r "$1/source"
	done
}

guest_setup() {
	local link tmp tree need closure state

	link=$(guest_folder)
	# What is needed changes with what the host has installed.
	state=$(stat -c %Y.%s /var/lib/dpkg/status)
	[ "$(cat "$link.state" 2> /dev/null)" = "$state" ] && return
	cache_lock

	# shellcheck disable=SC2046 # one argument a word
	need=$(missing $(listed guest))
	# shellcheck disable=SC2086 # one argument a word
	closure=${need:+$(with_lists guest_closure $need)} ||
		die "apt-get finds no way to provide: ${need//$'\n'/ }"
	tree=$link.$(printf '%s\n' "$closure" "$(listed source)" | sha256sum | cut -c 1-16)
	if [ ! -d "$tree" ]; then
		tmp=$(cache_tmp) || exit
		if [ -n "$closure" ]; then
			# shellcheck disable=SC2086 # one argument a word
			say "unpacking for the VM into $tree:" $closure
			# shellcheck disable=SC2086 # one argument a word
			with_lists fetch_packages "$tmp" $closure ||
				die "could not fetch the packages for the VM"
		fi
		guest_sources "$tmp" || die "could not fetch the sources for the VM"
		guest_merge_usr "$tmp" &&
		mkdir -p "$CACHE/guest" &&
		mv "$tmp" "$tree" || die "could not fill $tree"
	fi
	cache_point "$link" "$tree" &&
	printf '%s\n' "$state" > "$link.state" || die "could not fill $link"
}
