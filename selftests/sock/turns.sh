#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Readers of one processor give each other their turns: how rarely they sleep in a machine that
# counts, whose time is what the programs do; and in any that their threads may end.

. "$(dirname "$0")/sock.sh"

rows=()
[[ $VARIANT != counted* ]] || rows=(counted)
plan $((3 + 2 * ${#rows[@]}))
check "a machine" start
within "turns" "$programs/turns" "${rows[@]}"
check "nothing holds the module" until_true 5 unused
finish
