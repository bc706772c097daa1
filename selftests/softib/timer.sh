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
echo 1200000 > "$link/a/delay"

answered() {
	# The counts begin anew.
	echo 1 > "$link/a/seed"
	"$programs/timer" > /tmp/timer || { cat /tmp/timer; return 1; }
}

# Again would be all of the message; a few may be the ports' own, which get no
# answer now.
once() {
	sent=$(sed -n 's/^packets //p' "$link/a/counts")
	diag "$sent packets"
	[ "$sent" -ge $((480 + 64)) ] && [ "$sent" -lt $((480 + 64 + 64)) ]
}

check "a message that is answered long after its first packet" answered
# A machine that was not scheduled for a second is as late with the answer as one
# whose timer is wrong, but not each time.
once || { answered > /dev/null && once; } || { answered > /dev/null && once; }
result $? "and sent once"
down

finish
