#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Libraries on top of verbs, as MPI and others use them, and qperf. Each brings the
# program that it is tested with.

. "$(dirname "$0")/ip.sh"

# A library that libfabric is linked with; Debian makes the link when the package is
# configured, which it is not.
psm_link=/usr/lib/x86_64-linux-gnu/libpsm_infinipath.so.1
[ -e $psm_link ] || ln -s /usr/lib/libpsm1/libpsm_infinipath.so.1.* $psm_link

fi_listens() {
	port_open 47592
}

# fabric PROVIDER ENDPOINT [OPTION...]: each message is verified.
fabric() {
	local program=(fi_pingpong -p "$1" -e "$2" -c "${@:3}")

	on_ip fi_listens "${program[@]}" -- "${program[@]}" 10.1.0.1
}

ucx_listens() {
	port_open 13337
}

# ucx TRANSPORTS TEST [OPTION...]
ucx() {
	on_ip ucx_listens env UCX_TLS="$1" UCX_NET_DEVICES=softib0:1 \
		ucx_perftest -p 13337 -- \
	env UCX_TLS="$1" UCX_NET_DEVICES=softib1:1 \
		ucx_perftest 10.1.0.1 -p 13337 -t "$2" -w 5 "${@:3}"
}

qperf_listens() {
	port_open 19765
}

# perf TEST...: a second of each, which is the least
perf() {
	on_ip qperf_listens qperf -- qperf 10.1.0.1 -t 1 "$@" quit
}

few=$(fewer 20)

# These programs take longest to start, so each starts only for what no other line runs:
# small messages announce a large one, and so need no line of their own.
plan 10
check "a fabric" up 2
check "IPoIB" interfaces

check "libfabric: messages" fabric verbs msg -I 3 -S 300000
check "datagrams" fabric verbs dgram -I "$few" -S 1024
check "reliable datagrams over messages" fabric "verbs;ofi_rxm" rdm -I 3 -S 300000
check "reliable datagrams over datagrams" fabric "verbs;ofi_rxd" rdm -I "$few" -S 1024

check "UCX, reliable connections: tags, by RDMA" ucx rc_v,self tag_bw -n 3 -s 300000
check "streams" ucx rc_v,self stream_bw -n "$few" -s 10000
check "unreliable datagrams: tags" ucx ud_v,self tag_lat -n "$few" -s 1000

check "qperf" perf rc_bi_bw ud_lat uc_rdma_write_poll_lat ver_rc_fetch_add
no_interfaces
down

finish
