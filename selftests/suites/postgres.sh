#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# PostgreSQL: pgbench over the loopback device and between two network namespaces, and large
# results and inputs with their checksums.

. "$(dirname "$0")/common.sh"

PATH=$PATH:/usr/lib/postgresql/15/bin
clients=4 transactions=25 rows=20000

# as_user COMMAND...: the server does not run as root.
as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$WORK" "$@"
}

in_red() {
	ip netns exec red "$@"
}

# query HOST SQL
query() {
	$net psql -X -q -A -t -h "$1" -U pg -c "$2" postgres
}

make_database() {
	mkdir "$WORK/db" && chown 65534:65534 "$WORK/db" &&
	as_user initdb -D "$WORK/db" -U pg -A trust -E UTF8 --locale=C --no-sync &&
	echo 'host all all samenet trust' >> "$WORK/db/pg_hba.conf"
}

# serve NETWORK: starts the server there
serve() {
	mkdir -p "$WORK/run" && chown 65534:65534 "$WORK/run"
	net=$1
	# shellcheck disable=SC2086 # one argument a word
	$net setpriv --reuid 65534 --regid 65534 --clear-groups postgres -D "$WORK/db" \
		-k "$WORK/run" -c listen_addresses='*' -c fsync=off > "$WORK/log" 2>&1 &
	server=$!
	servers=("$server")
	until_true 60 query "$WORK/run" 'select 1'
}

stop() {
	kill -INT "$server"
	wait "$server"
	servers=()
}

# What TPC-B says of the four tables, after that many transactions
consistent() {
	local want=$((clients * transactions)) got

	got=$(query "$WORK/run" 'select count(*),
		sum(delta) = (select sum(abalance) from pgbench_accounts),
		sum(delta) = (select sum(tbalance) from pgbench_tellers),
		sum(delta) = (select sum(bbalance) from pgbench_branches) from pgbench_history')
	echo "$got; wanted $want|t|t|t"
	[ "$got" = "$want|t|t|t" ]
}

# pgbench has its clients do all transactions, and none of them fails.
bench() {
	local mode

	for mode in "$@"; do
		pgbench -h "$host" -U pg -i -q -I dtg -s 1 postgres &&
		pgbench -h "$host" -U pg -n -M "$mode" -c "$clients" -j 2 -t "$transactions" \
			postgres > "$WORK/bench" || return
		cat "$WORK/bench"
		grep -q "processed: $((clients * transactions))/$((clients * transactions))" \
			"$WORK/bench" && consistent || return
	done
}

# Large results and inputs are the bytes that they are by the AF_UNIX socket.
large() {
	local there="copy (select i, repeat(md5(i::text), i % 40)
		from generate_series(1, $rows) i) to stdout"

	query "$WORK/run" "$there" > "$WORK/want" &&
	net='' query "$host" "$there" > "$WORK/got" && cmp "$WORK/want" "$WORK/got" &&
	net='' query "$host" 'drop table if exists copied; create table copied (i int, t text)' &&
	net='' query "$host" 'copy copied from stdin' < "$WORK/want" &&
	query "$WORK/run" 'copy (select * from copied order by i) to stdout' > "$WORK/back" &&
	cmp "$WORK/want" "$WORK/back" && wc -c "$WORK/want"
}

# place NAME NETWORK HOST: the rows for a place, over TCP and with endpoints
place() {
	local name=$1 before

	host=$3
	attach 0
	serve "$2" || bail "no server: $(< "$WORK/log")"
	check "$name, TCP: pgbench" bench simple
	stop
	attach 1
	serve "$2" || bail "no server: $(< "$WORK/log")"
	before=$(moved)
	check "$name: pgbench" bench simple extended prepared
	check "$name: its connections moved" more_moved "$before" $((3 * clients))
	before=$(moved)
	check "$name: large results and inputs" large
	check "$name: their connections moved" more_moved "$before" 2
	stop
}

plan 11
start || bail 'sdpdev does not load'
two_hosts || bail 'no veth'
ip link add to_red type veth peer name to_host netns red &&
	ip addr add 10.8.0.1/24 dev to_red && ip link set to_red up &&
	ip -n red addr add 10.8.0.2/24 dev to_host && ip -n red link set to_host up ||
	bail 'no veth'
make_database > "$WORK/initdb" 2>&1
check "initdb" test $? -eq 0
place loopback '' 127.0.0.1
place veth 'ip netns exec red' 10.8.0.2
finish
