#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Endpoints of libsdpmcast, step by step.

. "$(dirname "$0")/../ipoib/lib.sh"

exec "$VM_BUILD/selftests/mcast/endpoints"
