#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's rules of Read Zcopy in all states; and that these find each rule that is not kept.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
programs=${BUILD:-$folder/../../build}/selftests/zcopy
names=$(awk '!/^#/ && NF { print $1 }' "$folder/breaks")

# What the test says of a rule that is broken
found() {
	local said status

	said=$("$programs/broken-$1")
	status=$?
	diag "$(head -n 1 <<< "$said")"
	[ $status -eq 1 ]
}

plan $(($(wc -w <<< "$names") + 1))
check "all states" "$programs/rules"
for name in $names; do
	found "$name"
	result $? "noticed: ${name//-/ }"
done
finish
