#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# CPython's own tests of what uses sockets: each test has the result that it has over TCP.

. "$(dirname "$0")/common.sh"

# A group's name; the least number of directions that move; its modules or classes
groups=(
	"test_socket: 1 $(printf 'test.test_socket.%s ' BasicTCPTest BasicTCPTest2 \
		SendmsgTCPTest RecvmsgTCPTest RecvmsgIntoTCPTest RecvmsgIntoSCMRightsStreamTest \
		NonBlockingTCPTests BufferIOTest)"
	"test_asyncio: 10 $(printf 'test.test_asyncio.%s ' test_sock_lowlevel \
		test_server)"
	"test_ssl: 10 $(printf 'test.test_ssl.%s ' NetworkedBIOTests TestPostHandshakeAuth)"
)

if [ "$VARIANT" = large ]; then
	groups=(
		"test_socket: 20 test.test_socket"
		"test_selectors: 0 test.test_selectors test.test_epoll test.test_poll test.test_select"
		"test_asyncio: 100 $(printf 'test.test_asyncio.%s ' test_base_events \
			test_buffered_proto test_events test_selector_events test_sendfile \
			test_server test_sock_lowlevel test_sslproto test_streams)"
		"test_ssl: 100 test.test_ssl"
		"servers: 100 $(printf 'test.%s ' test_socketserver test_asyncore test_asynchat \
			test_ftplib test_smtplib test_poplib test_imaplib test_nntplib \
			test_httplib test_httpservers test_urllib2_localnet test_xmlrpc)"
	)
fi

# units OUTPUT NAME...
units() {
	local out=$1 start=$SECONDS

	shift
	(cd "$WORK" && python3 -W ignore "$root/selftests/suites/units.py" "$out.raw" "$@") \
		> "$out.log" 2>&1
	echo "# exit status $?, $((SECONDS - start)) s"
	sort "$out.raw" > "$out"
}

root=$(readlink -f "$root")
plan $((2 * ${#groups[@]}))
start || bail 'sdpdev does not load'
for group in "${groups[@]}"; do
	read -r name least tests <<< "$group"
	attach 0
	# shellcheck disable=SC2086 # one argument a word
	units "$WORK/tcp" $tests
	attach 1
	before=$(moved)
	# shellcheck disable=SC2086
	units "$WORK/sdp" $tests
	echo "# $name $(grep -c passed "$WORK/tcp") tests pass over TCP"
	check "$name as over TCP" same_results "$WORK/tcp" "$WORK/sdp"
	[ -z "$(diff "$WORK/tcp" "$WORK/sdp")" ] || diag "$(tail -n 200 "$WORK/sdp.log")"
	check "$name connections moved" more_moved "$before" "$least"
done
finish
