# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of the fabric, which load it themselves. The programs that they run
# print the results.

module=$BUILD/$KERNEL/tools/softib/softib.ko
programs=$BUILD/selftests/softib
hcas=/sys/class/infiniband

modprobe -a ib_umad ib_uverbs rdmavt || exit

# until_true SECONDS COMMAND...: runs COMMAND until it succeeds.
until_true() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return
		sleep 0.05
	done
}

both_active() {
	[ "$(cat $hcas/softib*/ports/1/state 2> /dev/null |
		grep -c '^4: ACTIVE$')" -eq 2 ]
}

no_opensm() {
	! pgrep -x opensm > /dev/null
}

# on_fabric LOSS PROGRAM [ARGUMENT...]: runs a program while two HCAs are there
# that lose so many packets in a million.
on_fabric() {
	local status

	insmod "$module" hcas=2 loss="$1" &&
		opensm -B -f /tmp/opensm.log > /dev/null &&
		until_true 60 both_active || return
	"$programs/$2" "${@:3}"
	status=$?
	pkill -x opensm
	until_true 20 no_opensm && rmmod softib && return $status
}
