# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Packages for programs in the VM. $CACHE/guest/<hash of the list> is a folder
# that the VM lays over the host's root. It holds the listed packages that the
# host has not installed, and what they depend on. There are three lists: "demo",
# "guest", which has more, and "long", which has most.

# guest_packages demo|guest|long
guest_packages() {
	case $1 in
	demo)	listed demo ;;
	guest)	listed demo guest ;;
	long)	listed demo guest long ;;
	esac
}

# guest_sources demo|guest|long
guest_sources() {
	[ "$1" = demo ] || listed source
}

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

# guest_link demo|guest|long: the symbolic link to the folder for the list
guest_link() {
	printf '%s/guest/%s\n' "$CACHE" \
		"$({ guest_packages "$1"; guest_sources "$1"; } | sort | sha256sum | cut -c 1-16)"
}

# guest_best demo|guest|long: the one to take. The tests' packages do for the demo as well.
guest_best() {
	if [ "$1" = demo ] && [ -e "$(guest_link guest)" ]; then
		echo guest
	else
		echo "$1"
	fi
}

# guest_unpack_sources FOLDER NAME...: these sources, each into usr/src/NAME there.
guest_unpack_sources() {
	local folder=$1 name into

	shift
	for name; do
		into=$folder/usr/src/$name
		mkdir -p "$into" "$folder/source" &&
		say "unpacking the source of $name for the VM" &&
		fetch_source "$folder/source" "$name" &&
		tar -x --strip-components=1 -C "$into" -f "$folder/source/$name"_*.orig.tar.* ||
			return
		rm -r "$folder/source"
	done
}

# guest_setup demo|guest|long
guest_setup() {
	local link tmp tree need closure state sources

	link=$(guest_link "$1")
	sources=$(guest_sources "$1")
	# What is needed changes with what the host has installed.
	state=$(stat -c %Y.%s /var/lib/dpkg/status)
	[ "$(cat "$link.state" 2> /dev/null)" = "$state" ] && return
	cache_lock

	# shellcheck disable=SC2046 # one argument a word
	need=$(missing $(guest_packages "$1"))
	# shellcheck disable=SC2086 # one argument a word
	closure=${need:+$(with_lists guest_closure $need)} ||
		die "apt-get finds no way to provide: ${need//$'\n'/ }"
	tree=$link.$(printf '%s\n' "$closure" "$sources" | sha256sum | cut -c 1-16)
	if [ ! -d "$tree" ]; then
		tmp=$(cache_tmp) || exit
		if [ -n "$closure" ]; then
			# shellcheck disable=SC2086 # one argument a word
			say "unpacking for the VM:" $need "and what they need, into $tree"
			# shellcheck disable=SC2086 # one argument a word
			with_lists fetch_packages "$tmp" $closure ||
				die "could not fetch the packages for the VM"
		fi
		# shellcheck disable=SC2086 # one argument a word
		guest_unpack_sources "$tmp" $sources || die "could not fetch the sources for the VM"
		guest_merge_usr "$tmp" &&
		mkdir -p "$CACHE/guest" &&
		mv "$tmp" "$tree" || die "could not fill $tree"
	fi
	cache_point "$link" "$tree" &&
	printf '%s\n' "$state" > "$link.state" || die "could not fill $link"
}
