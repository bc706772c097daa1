#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A large file by scp, to the server and back. SCP_MIB is its size, 1024 for the
# whole gibibyte, for which the machine needs memory for two of them:
#
#	tools/vm/run --memory 4096 --timeout 0 -- env SCP_MIB=1024 selftests/apps/scp.sh

. "$(dirname "$0")/common.sh"

MIB=${SCP_MIB:-$(fewer 256)}

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
all_sdp "scp" 2
kill "$PID"
finish
