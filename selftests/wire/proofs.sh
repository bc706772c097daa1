#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Very many requests to join a connection by a peer that has not the proof.  The vm looks for
# memory that is left over.

. "$(dirname "$0")/../tap.sh"

case $VARIANT in
large*)	requests=1000000 ;;
*)	requests=${REQUESTS:-5000} ;;
esac

exec "$BUILD/selftests/wire/join_peer" softib1 softib0 10.77.0.1 flood "$requests"
