# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The cache: kernels and packages for the VM, unpacked, shared by all clones.
# Nothing in it is ever changed in place. A new version is made ready in
# tmp.<pid>, renamed to a folder named after the version, and only then does
# the symbolic link that users follow point to it.

CACHE=${SDPDEV_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/sdpdev}

# One line for the user.
say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die [STATUS] MESSAGE
die() {
	local status=1

	[ $# -eq 1 ] || { status=$1; shift; }
	say "$1"
	exit "$status"
}

# One writer at a time; held until the process ends.
cache_lock() {
	[ -z "${CACHE_LOCK:-}" ] || return 0
	mkdir -p "$CACHE" || die "cannot create $CACHE"
	exec {CACHE_LOCK}> "$CACHE/lock"
	if ! flock -n "$CACHE_LOCK"; then
		say "waiting for another set-up to finish"
		flock "$CACHE_LOCK"
	fi
	rm -rf "$CACHE"/tmp.*
}

# Makes an empty folder to fill, and prints its name.
cache_tmp() {
	local tmp="$CACHE/tmp.$$"

	rm -rf "$tmp"
	mkdir -p "$tmp" && printf '%s\n' "$tmp"
}

# cache_point LINK FOLDER: LINK, in the same place as FOLDER, points to it.
cache_point() {
	ln -sfn "${2##*/}" "$1.$$" && mv -T "$1.$$" "$1"
}
