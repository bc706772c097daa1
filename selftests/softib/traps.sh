#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Traps for a subnet manager that is not known yet when something changes.

. "$(dirname "$0")/lib.sh"

plan 7

prepare() {
	insmod "$module" hcas=0 &&
	add_switch one 2 && add_hca softib0 && add_hca softib1 &&
	add_link 0 softib0/1 one/1 && add_link 1 softib1/1 one/2 &&
	echo 0 > "$conf/links/1/up"
}
check "two links, of which one is down" prepare
while read -r status name; do
	[ "$status" -eq 0 ] || diag "$(< /tmp/traps)"
	result "$status" "$name"
done < <("$(dirname "$0")/traps.py" sh -c "echo 1 > $conf/links/1/up" 2> /tmp/traps)
diag "$(< /tmp/traps)"
all_goes() {
	remove_all && rmmod softib
}
check "all goes" all_goes

finish
