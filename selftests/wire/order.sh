#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections of one peer are accepted in the order in which it asked for them, also
# if what says that they are established comes in another one; but who never says so
# holds up nobody, and whose messages come says so by them.

. "$(dirname "$0")/lib.sh"

# accepted PORT...: from these ports, in this order
accepted() {
	[ "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')" = "$* " ]
}

plan 6
serve echo
check "one is asked for, another one made, and then the first" peer order
check "the first is accepted first" until_true 20 accepted 40000 40001
diag "$(sed -n 's/^from //p' /tmp/server | tr '\n' ' ')"
stop_serving
serve echo
check "a connection is good while an earlier one does not come to be" peer order alone
check "and the only one" accepted 40001
stop_serving
serve echo
check "messages come before what says that there is a connection" peer early
check "it was accepted" accepted 40000
stop_serving
finish
