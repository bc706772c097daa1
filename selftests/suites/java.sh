#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Java's channels. Debian has no package with the tests of OpenJDK, so the program is ours.

. "$(dirname "$0")/common.sh"

nio() {
	java -cp "$WORK" Nio > "$1" 2>&1
}

plan 4
start || bail 'sdpdev does not load'
attach 0
check "the program compiles" javac -d "$WORK" "$root/selftests/suites/Nio.java"
check "over TCP" nio "$WORK/tcp"
attach 1
before=$(moved)
nio "$WORK/sdp"
diag "$(< "$WORK/tcp")"
check "with endpoints, as over TCP" same_results "$WORK/tcp" "$WORK/sdp"
check "connections moved" more_moved "$before" 4
finish
