#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The retry timer of a reliable connection: what takes long to be sent, because much
# else is under way, is not sent twice.

. "$(dirname "$0")/lib.sh"

link=$conf/links/softib0

plan 2

up 2 || exit
unmanage
# The counts begin anew.
echo 1 > "$link/a/seed"
echo 1200000 > "$link/a/delay"
check "a message that is answered long after its first packet" \
	sh -c "'$programs/timer' > /tmp/timer || { cat /tmp/timer; exit 1; }"
sent=$(sed -n 's/^packets //p' "$link/a/counts")
diag "$sent packets"
# Again would be all of the message; a few may be the ports' own, which nobody
# answers now.
[ "$sent" -ge $((480 + 64)) ] && [ "$sent" -lt $((480 + 64 + 64)) ]
result $? "and sent once"
down

finish
