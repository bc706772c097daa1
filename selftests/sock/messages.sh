# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests with the carrier of messages that selftests/sock/carrier is.

# shellcheck disable=SC2034,SC2154 # for the tests, which have sock.sh
module=$build/$KERNEL/selftests/sock/carrier/sdp_carrier_test.ko
parameters=/sys/module/sdp_carrier_test/parameters

# with NAME=VALUE...: the carrier behaves so from now on.
with() {
	local setting

	for setting; do
		echo "${setting#*=}" > "$parameters/${setting%%=*}"
	done
}

# counted NAME: what the carrier's module has counted, or the kernel for the namespace of the
# process $counts, if that is set
counted() {
	if [ -e "$parameters/$1" ]; then
		cat "$parameters/$1"
	else
		awk -v name="$1" '$1 == name { print $2 }' \
			"/proc/${counts:-self}/net/sdp/snmp"
	fi
}

more() {
	[ "$(counted "$1")" -gt "$2" ]
}
