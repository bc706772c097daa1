#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A large file by scp, to the server and back: a gibibyte in the variant "large", whose
# machine has memory for two of them, or SCP_MIB.

. "$(dirname "$0")/common.sh"

MIB=$(fewer 256)
[ "$VARIANT" != large ] || MIB=1024
MIB=${SCP_MIB:-$MIB}

# copy NAME FROM TO: how long it took is told
copy() {
	local before=$SECONDS status=0

	"$SDPRUN" scp "${SSH[@]}" -P 2222 "$2" "$3" 2> "$WORK/scp.err" || status=$?
	echo "# $1: $MIB MiB in $((SECONDS - before)) s"
	[ "$status" -eq 0 ] && return
	diag "$WORK/scp.err"
	diag "$WORK/sshd.log"
	return 1
}

# arrived FILE: with the sum that the first had
arrived() {
	[ "$(sum "$1")" = "$want" ]
}

plan 5
make_file file "$MIB"
want=$(sum "$WORK/www/file")
start_sshd "$SDPRUN"
before_it
check "scp to the server" copy up "$WORK/www/file" "root@$SERVER4:$WORK/up"
check "with the same SHA-256" arrived "$WORK/up"
rm -f "$WORK/www/file"
check "scp from the server" copy down "root@$SERVER4:$WORK/up" "$WORK/down"
check "with the same SHA-256" arrived "$WORK/down"
joined "scp" 2 $((2 * 1024 * MIB * 3 / 4))
kill "$PID"
finish
