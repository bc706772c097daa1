#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What programs do with a connection, and all ways to close it, while it is joined: they see what
# they see on TCP.

. "$(dirname "$0")/lib.sh"

between=(-S node2 -C node1)

case $VARIANT in
*v6)	between+=(-6 -l fd77::2 -c fd77::2) ;;
*)	between+=(-l 10.77.0.2 -c 10.77.0.2) ;;
esac
no_autoload
plan 80
check "only InfiniBand" only_ib
within moves "$sock/moves" -w "${between[@]}"
within ends "$sock/ends" -w "${between[@]}"
autoload
finish
