# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# RDMA connections by the addresses of interfaces, for the tests of this folder.

. "$(dirname "$0")/lib.sh"

count=10

listens() {
	rdma resource show cm_id | grep -q 'state LISTEN'
}

silent() {
	not listens
}

# serve NODE PROGRAM-ARGUMENT...
serve() {
	timeout 60 ip netns exec "$@" > /tmp/server 2>&1 &
	server=$!
	until_true 20 listens || { cat /tmp/server; return 1; }
}

# client NODE PROGRAM-ARGUMENT...: one that fails leaves no server behind, for which
# the next ones would take theirs.
client() {
	timeout 30 ip netns exec "$@" && return
	kill "$server"
	wait "$server"
	return 1
}

# A client that was served ends the server, too.
served() {
	wait "$server" && until_true 10 silent || { cat /tmp/server; return 1; }
}

# connects FROM TO ADDRESS [PORT]: data goes both ways over a connection, and is
# right.
connects() {
	local options=(-a "$3" -p "${4-7000}" -C "$count" -V)

	serve "$2" rping -s "${options[@]}" &&
	client "$1" rping -c "${options[@]}" && served
}
