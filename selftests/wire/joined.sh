#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A peer in node2 that joins a TCP connection as sdpdev does, and then breaks the rules.

. "$(dirname "$0")/../tap.sh"

exec "$BUILD/selftests/wire/join_peer" softib1 softib0 10.77.0.1
