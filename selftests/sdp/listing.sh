#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who lists the endpoints of a namespace holds up nobody, however many there are in others.

. "$(dirname "$0")/../tap.sh"

folder=$(dirname "$(readlink -f "$0")")
listing=${BUILD:-$folder/../../build}/selftests/sdp/listing

if [ "$KERNEL" = debug ]; then
	# It has no probes to make the reader slow.
	plan 1
	check "endpoints are opened while somebody lists others" "$listing" 0
else
	plan 1
	check "endpoints are opened while somebody lists others" \
		slowly sdp_ep_ready 2000 "$listing" 10
fi
finish
