#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Go's own tests of its packages net and net/http, which call the kernel without a C library:
# by the rule of a process each has the result that it has over TCP. The programs are built on
# the host, whose processors are real, and run in a machine.

# outside: builds the tests, and begins the machine
outside() {
	local packages name folder

	. "$ROOT/tools/lib/cache.sh"
	. "$ROOT/tools/lib/apt.sh"
	. "$ROOT/tools/lib/guest.sh"
	packages=$(readlink -f "$(guest_link long)")
	[ -d "$packages" ] || die "the packages are missing: run tools/setup long"
	folder=$BUILD/selftests/suites
	mkdir -p "$folder"
	export GOROOT=$packages/usr/lib/go-1.19 GOCACHE=$folder/go GOPROXY=off CGO_ENABLED=0
	[ -d "$GOROOT" ] || export GOROOT=/usr/lib/go-1.19
	for name in net net/http; do
		"$GOROOT/bin/go" test -c -o "$folder/go-${name//\//-}" "$name" ||
			die "$name does not build"
	done
	exec "$ROOT/tools/vm/run" --kernel "$KERNEL" --bare --guest long --timeout 1500 -- \
		env BUILD="$BUILD" KERNEL="$KERNEL" VARIANT="$VARIANT" "$SELF"
}

# run OUTPUT PACKAGE [COMMAND...]: its tests, and their results in lines
run() {
	local out=$1 name=$2 begin=$SECONDS

	shift 2
	(cd "/usr/share/go-1.19/src/$name" &&
		"$@" "$build/selftests/suites/go-${name//\//-}" -test.v -test.short) \
		> "$out.log" 2>&1
	echo "# exit status $?, $((SECONDS - begin)) s"
	sed -n 's/^ *--- \([A-Z]*: [^ ]*\) (.*/\1/p' "$out.log" | sort > "$out"
}

# package NAME LEAST: as over TCP, and so many directions move
package() {
	local before

	run "$WORK/tcp" "$1"
	before=$(moved)
	run "$WORK/sdp" "$1" "$build/libsdpdev/sdprun" --must-move
	echo "# $1: $(grep -c PASS "$WORK/tcp") tests pass over TCP"
	check "$1 as over TCP" same_results "$WORK/tcp" "$WORK/sdp"
	cmp -s "$WORK/tcp" "$WORK/sdp" || diag "$(tail -n 300 "$WORK/sdp.log")"
	check "$1: connections moved" more_moved "$before" "$2"
}

SELF=$(readlink -f "$0")
if [ ! -e /run/vm ]; then
	ROOT=$(cd "$(dirname "$SELF")/../.." && pwd -P)
	BUILD=${BUILD:-$ROOT/build} KERNEL=${KERNEL:-6.1}
	outside
fi

. "$(dirname "$0")/common.sh"

plan 4
start || bail 'sdpdev does not load'
echo 0 > /proc/sys/net/sdp/move_messages
package net 10
package net/http 100
finish
