#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that are built with sanitizers run over SDP. Their runtime still sees their
# calls, and the programs that they run do not get it.

. "$(dirname "$0")/tap.sh"

programs=$BUILD/selftests/lib/sanitized
where=(10.77.0.2 node2 node1)

# over_sdp COMMAND...: succeeds, by a connection over SDP
over_sdp() {
	SDPDEV_DEBUG=1 "$SDPRUN" --endpoint "$@" > "$WORK/out" 2>&1 && grep -q "over SDP" "$WORK/out" &&
		return
	diag "$WORK/out"
	return 1
}

# caught PROGRAM: its runtime sees what recv() writes
caught() {
	"$SDPRUN" --endpoint "$programs/$1" "${where[@]}" overflow > "$WORK/out" 2>&1
	grep -q "heap-buffer-overflow" "$WORK/out" && return
	diag "$WORK/out"
	return 1
}

plan 11
for name in address thread undefined leak static; do
	check "a program built with $name" over_sdp "$programs/$name" "${where[@]}"
done
check "recv() into too small a buffer is found" caught address
check "also by a runtime that is part of the program" caught static
# shellcheck disable=SC2016 # for the shell in it to expand
check "a shell runs such a program" over_sdp sh -c '"$@"' sh "$programs/address" "${where[@]}"
# shellcheck disable=SC2016
check "one of them runs a shell" over_sdp "$programs/address" "${where[@]}" \
	'case $LD_PRELOAD in *asan*) exit 1; esac; test -z "$SDPDEV_RUNTIME"'
# shellcheck disable=SC2016
check "a runtime that is preloaded already stays first" env LD_PRELOAD=libasan.so.8 \
	"$SDPRUN" --endpoint sh -c 'case $LD_PRELOAD in libasan.so.8:*sdpdev*) ;; *) exit 1; esac'
# shellcheck disable=SC2016
check "options that there are stay" env ASAN_OPTIONS=exitcode=9 \
	"$SDPRUN" --endpoint sh -c 'case $ASAN_OPTIONS in *:exitcode=9) ;; *) exit 1; esac'
finish
