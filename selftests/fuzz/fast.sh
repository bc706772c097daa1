#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A machine with fewer checks fuzzes, and comes to its end with a corpus.

. "$(dirname "$0")/../tap.sh"

KEEP=$(mktemp -d) || exit
export KEEP
trap 'rm -rf "$KEEP"' EXIT

plan 2
check "new inputs" timeout 400 "$(dirname "$0")/../../tools/fuzz/run" --fast --time 5
check "the corpus that it ended with" test -s "$KEEP/corpus"
finish
