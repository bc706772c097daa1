#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's own tests. Debian ships them as documentation of the package rdma-core.

. "$(dirname "$0")/ip.sh"

tests=/tmp/pyverbs/tests
here=$(dirname "$0")

# Some tests are only for one vendor's adapters, or for graphics processors.
unpack() {
	mkdir -p "$tests" && cp /usr/share/doc/rdma-core/tests/* "$tests" &&
	{ ! ls "$tests"/*.gz || gunzip "$tests"/*.gz; } &&
	rm "$tests"/test_{mlx5,efa,cuda}*
}

{ up 2 && interfaces && unpack; } > /tmp/pyverbs.log 2>&1 ||
	{ cat /tmp/pyverbs.log; exit 1; }
timeout $((400 * tap_slow)) \
	python3 "$here/pyverbs-run.py" "$tests" "$here/pyverbs.list" softib0
status=$?
no_interfaces
down
exit $status
