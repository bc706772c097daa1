#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library as its user finds it, and what sdprun says on a machine without the module.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
library=${BUILD:-$root/build}/libsdpdev
sdprun=$library/sdprun
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# gives STATUS TEXT COMMAND...: and says so
gives() {
	local status=0

	"${@:3}" > "$tmp/out" 2>&1 < /dev/null || status=$?
	grep -qF -e "$2" "$tmp/out" && [ "$status" -eq "$1" ] && return
	sed "s/^/# $status: /" "$tmp/out"
	return 1
}

# Each option and variable of the help has a place in the manual page.
in_manual() {
	local word words

	words=$("$sdprun" --help | grep -o -e '--[a-z-]*' -e 'SDPDEV_[A-Z]*' | sort -u)
	for word in $words; do
		sed 's/[\]//g' "$root/Documentation/man/sdprun.1" | grep -qF -e "$word" ||
			{ echo "# $word"; return 1; }
	done
}

# Exactly the symbols that the header declares, and each has a page.
symbols() {
	local name want got

	want=$(sed -n '/^.\*/d; s/.*\(sdp_[a-z_]*\)(.*/\1/p' "$root/libsdpdev/sdpdev.h" | sort)
	got=$(nm -D --defined-only "$library/libsdpdev.so.2" |
		sed -n 's/.* T \(.*\)@@.*/\1/p' | sort)
	[ "$want" = "$got" ] || { echo "# $got"; return 1; }
	for name in $got; do
		[ -e "$root/Documentation/man/$name.3" ] || { echo "# $name"; return 1; }
	done
}

installs() {
	make -s -C "$root/libsdpdev" O="$tmp/build" PREFIX="$tmp/usr" install > "$tmp/out" 2>&1
}

package() {
	PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig pkg-config "$@" libsdpdev
}

# compiles FILE OPTION...: with what was installed and nothing else
compiles() {
	local flags

	read -ra flags <<< "$(package --cflags --libs)"
	gcc -Wall -Wextra -Werror -pedantic -o "$tmp/program" "$1" "${@:2}" "${flags[@]}" \
		-Wl,-rpath,"$tmp/usr/lib"
}

cat > "$tmp/version.c" <<'EOT'
#include <sdpdev.h>
#include <stdio.h>
int main(void)
{
	printf("%u %u\n", sdp_version() >> 16, sdp_version() & 0xffff);
	return sdp_version() != SDPDEV_VERSION;
}
EOT
cp "$tmp/version.c" "$tmp/version.cc"

plan 27
check "sdprun --help" gives 0 "Usage: sdprun [OPTION...] PROGRAM" "$sdprun" --help
check "what it names is in the manual page" in_manual
check "sdprun --version" gives 0 "sdprun " "$sdprun" --version
check "without a program" gives 125 "no program given" "$sdprun"
check "an unknown option" gives 125 "--frob" "$sdprun" --frob
check "a rule twice is one" gives 7 ran "$sdprun" --never --never sh -c 'echo ran; exit 7'
check "a sign does not make a user" gives 125 "no such user" "$sdprun" --user=+5
check "nor does a space" gives 125 "no such user" "$sdprun" --user=" -5"
check "a program that is not there" gives 127 "no-such: program not found" "$sdprun" no-such
check "what cannot be executed" gives 126 "Permission denied" "$sdprun" "$tmp"
check "passes the exit status on" gives 7 "" "$sdprun" sh -c 'exit 7'
# shellcheck disable=SC2016 # for the new shell to expand
check "and arguments" gives 0 "a b" "$sdprun" -- sh -c 'echo "$1"' sh 'a b'
check "without the module it says so" gives 0 "device; true runs over TCP" "$sdprun" true
check "but not for a rule that asks for nothing" test -z "$("$sdprun" --never true 2>&1)"
check "--only fails closed" gives 125 "/dev/sdp" "$sdprun" --only true
check "as --must-move does" gives 125 "/dev/sdp" "$sdprun" --must-move true
"$sdprun" --only touch "$tmp/ran" 2> /dev/null
check "and it does not run the program" test ! -e "$tmp/ran"
check "the symbols are those of the header, with their pages" symbols
check "make install" installs
check "pkg-config knows it" gives 0 "-lsdpdev" package --libs
check "and its version" gives 0 "2.0.0" package --modversion
check "the library of rings has its folder" test -e "$tmp/usr/lib/sdpdev/libsdprings.so"
for standard in c99 c11; do
	check "a program in $standard" compiles "$tmp/version.c" -std=$standard
done
check "a program in C++" compiles "$tmp/version.cc" -std=c++17
check "finds the library of its version" gives 0 "2 0" "$tmp/program"
check "the example" compiles "$root/Documentation/examples/ring.c" -std=gnu11
finish
