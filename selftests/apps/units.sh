# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Units of Redis's own test suite, as its authors published it, against a server at $REDIS: over
# TCP first, which leaves $WORK/tcp, then by another way, which leaves $WORK/sdp. $UNITS names
# them.

SUITE=/usr/src/redis

# copy_suite: it writes where it is
copy_suite() {
	[ -d "$SUITE/tests" ] || bail "the source of redis is not there"
	mkdir "$WORK/suite"
	cp -r "$SUITE/tests" "$WORK/suite/"
}

# suite FILE [RUNNER]: the units, against that server; what they said is in FILE
suite() {
	local out=$1 unit singles=()

	shift
	for unit in "${UNITS[@]}"; do
		singles+=(--single "unit/$unit")
	done
	(cd "$WORK/suite" && "$@" tclsh tests/test_helper.tcl --host "$REDIS" --port 6379 \
		"${singles[@]}" --tags '-slow -large-memory -needs:repl' --no-latency \
		--skiptest '/[Ff]uzzing|[Ss]tress') > "$out" 2>&1
}

# told WHAT UNIT FILE: the names of that unit's tests, by what became of them
told() {
	awk -v what="$1" -v unit="unit/$2" '
		{ gsub(/\033\[[0-9;]*m/, "") }
		$1 == "Testing" { at = $2 }
		at == unit && $1 == "[" what "]:" {
			sub(/^[^ ]* /, ""); sub(/ \([0-9]+ ms\)$/, ""); print
		}' "$3" | sort
}

# finished UNIT FILE: that unit came to its end
finished() {
	sed 's/\x1b\[[0-9;]*m//g' "$2" | grep -q "done\]: unit/$1 "
}

# seconds UNIT FILE: how long it took
seconds() {
	sed 's/\x1b\[[0-9;]*m//g' "$2" | sed -n "s|.*done\]: unit/$1 (\([0-9]*\) seconds)|\1|p"
}

# one UNIT: it passed by the other way as it did over TCP, and had something to pass
one() {
	local tests

	finished "$1" "$WORK/tcp" || { echo "# over TCP it has no end"; return 1; }
	finished "$1" "$WORK/sdp" || { echo "# by the other way it has no end"; return 1; }
	told err "$1" "$WORK/sdp" | sed 's/^/# failed: /'
	told ok "$1" "$WORK/tcp" > "$WORK/want"
	told ok "$1" "$WORK/sdp" > "$WORK/got"
	tests=$(wc -l < "$WORK/want")
	echo "# $1: $tests tests pass over TCP in $(seconds "$1" "$WORK/tcp") s," \
		"$(wc -l < "$WORK/got") by the other way in $(seconds "$1" "$WORK/sdp") s"
	[ "$tests" -gt 0 ] && [ -z "$(told err "$1" "$WORK/sdp")" ] &&
		diff "$WORK/want" "$WORK/got" > "$WORK/diff" && return
	diag "$WORK/diff"
	return 1
}
