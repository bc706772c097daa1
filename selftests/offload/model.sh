#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's rules of leaving TCP and coming back: all states of short streams, random
# walks of longer ones; and that these find each rule that is not kept.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
programs=${BUILD:-$folder/../../build}/selftests/offload
names=$(awk '!/^#/ && NF { print $1 }' "$folder/breaks")

# What the model says of a rule that is broken
found() {
	local said status

	said=$("$programs/broken-$1" 100000)
	status=$?
	if [ $status -eq 0 ]; then
		said=$("$programs/broken-$1" --few)
		status=$?
	fi
	diag "$(grep -v '^#' <<< "$said" | head -n 1)"
	[ $status -eq 1 ]
}

plan $(($(wc -w <<< "$names") + 2))
check "all states with six messages" "$programs/model" --all
check "random walks" "$programs/model" 300000
for name in $names; do
	found "$name"
	result $? "noticed: ${name//-/ }"
done
finish
