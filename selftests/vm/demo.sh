#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The README shows what the demo prints: line for line, with other numbers.

. "$(dirname "$0")/../tap.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Digits of any base are one letter, and blanks one blank: tables are as wide as their numbers.
# Behind a lost carrier the next look for one may have been answered already: "peer". And where all
# that was sent has arrived, its sender learns only that nothing is read: "stall".
shape() {
	sed -E 's/ (lost|peer|stall)( +nginx)/ lost\2/
		s/\b[0-9a-f]{16}\b/N/g; s/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g; s/ $//'
}

plan 2
tools/vm/run --guest demo --nodes 2 --kernel "$KERNEL" -- tools/demo > "$tmp/out" < /dev/null
result $? "the demo ends well"
shape < "$tmp/out" > "$tmp/printed"
awk '/^Within one host: / { shown = 1 } shown && /^```$/ { exit } shown' README.md | shape |
	diff - <(sed '1{/^$/d}' "$tmp/printed") > "$tmp/diff"
result $? "the README has its lines"
[ ! -s "$tmp/diff" ] || sed 's/^/# /' "$tmp/diff"
finish
