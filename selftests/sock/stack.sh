#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The network stack decides on connections whose sockets have the ULP, as on TCP's.

. "$(dirname "$0")/sock.sh"

plan 12
check "a machine" start
check "two namespaces" two_hosts
within "stack" "$programs/stack"
no_hosts
check "nothing holds the module" until_true 5 unused
finish
