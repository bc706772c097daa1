#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified daemons and their clients, both by sdprun: Redis, OpenSSH, rsync,
# inetd.

. "$(dirname "$0")/common.sh"

redis() {
	start 2 "$SDPRUN" redis-server --port 6379 --bind 0.0.0.0 --protected-mode no \
		--save '' --dir "$WORK" > "$WORK/redis.log" 2>&1
	local server=$PID

	wait_port 2 6379 || { diag "$WORK/redis.log"; bail "redis-server did not start"; }
	before_it
	"$SDPRUN" redis-benchmark -h "$SERVER4" -n 400 -c 20 -P 4 -d 500 -t set,get,lpush -q \
		> "$WORK/redis.out" 2>&1
	check "redis-benchmark: three tests, 20 clients" test $? -eq 0
	[ "$(tr '\r' '\n' < "$WORK/redis.out" | grep -c 'requests per second')" -ge 3 ]
	check "and their results" test $? -eq 0
	head -c 300000 "$WORK/www/file" | "$SDPRUN" redis-cli -h "$SERVER4" -x set key > "$WORK/out"
	"$SDPRUN" redis-cli -h "$SERVER4" --raw get key | head -c 300000 > "$WORK/back"
	head -c 300000 "$WORK/www/file" > "$WORK/want"
	check "redis-cli: a value comes back" same "$WORK/want" "$WORK/back"
	joined "redis" 20 50
	kill "$server"
	wait "$server" 2>/dev/null
	check "redis-server leaves in order" grep -q 'bye bye' "$WORK/redis.log"
}

openssh() {
	start_sshd "$SDPRUN"
	before_it
	"$SDPRUN" scp "${SSH[@]}" -P 2222 "$WORK/www/file" "root@$SERVER4:$WORK/scp.up" \
		2> "$WORK/scp.err" || diag "$WORK/scp.err"
	check "scp to the server" same "$WORK/www/file" "$WORK/scp.up"
	"$SDPRUN" ssh "${SSH[@]}" -p 2222 "root@$SERVER6" "cat $WORK/www/file; exit 7" \
		> "$WORK/ssh.out" 2> "$WORK/ssh.err"
	check "ssh over IPv6 gives the exit status" test $? -eq 7
	check "and what the command said" same "$WORK/www/file" "$WORK/ssh.out"
	joined "OpenSSH" 2 500
	[ -s "$WORK/scp.up" ] || diag "$WORK/sshd.log"
	kill "$PID"
}

rsyncd() {
	cat > "$WORK/rsyncd.conf" <<-EOT
	use chroot = no
	uid = root
	gid = root
	[files]
	path = $WORK/www
	read only = no
	EOT
	mkdir -p "$WORK/www/many" "$WORK/mirror"
	for i in {1..20}; do
		head -c "$((i * 1000))" "$WORK/www/file" > "$WORK/www/many/$i"
	done
	start 2 "$SDPRUN" rsync --daemon --no-detach --port 8730 --config "$WORK/rsyncd.conf" \
		2> "$WORK/rsyncd.log"
	wait_port 2 8730 || { diag "$WORK/rsyncd.log"; bail "rsync did not start"; }
	before_it
	"$SDPRUN" rsync -a "rsync://$SERVER4:8730/files/" "$WORK/mirror/" 2> "$WORK/rsync.err" ||
		diag "$WORK/rsync.err"
	check "rsync from the daemon" diff -r "$WORK/www" "$WORK/mirror"
	echo new > "$WORK/mirror/many/1"
	"$SDPRUN" rsync -a "$WORK/mirror/" "rsync://$SERVER4:8730/files/" 2> "$WORK/rsync.err" ||
		diag "$WORK/rsync.err"
	check "and to it" grep -q new "$WORK/www/many/1"
	joined "rsync" 1 500
	kill "$PID"
}

# Programs that have the connection as standard input and output.
inetd() {
	printf '%s stream tcp nowait root %s\n' 7000 '/bin/cat cat' \
		7001 '/usr/bin/sha256sum sha256sum' > "$WORK/inetd.conf"
	start 2 "$SDPRUN" inetd -i "$WORK/inetd.conf" > "$WORK/inetd.log" 2>&1
	wait_port 2 7001 || { diag "$WORK/inetd.log"; bail "inetd did not start"; }
	before_it
	"$SDPRUN" socat -t 30 - "TCP:$SERVER4:7000" < "$WORK/www/file" > "$WORK/cat.out"
	check "inetd: cat" same "$WORK/www/file" "$WORK/cat.out"
	"$SDPRUN" socat -t 30 - "TCP:$SERVER4:7001" < "$WORK/www/file" > "$WORK/sum.out"
	check "inetd: sha256sum" grep -q "^$(sum "$WORK/www/file") " "$WORK/sum.out"
	joined "inetd" 1 500
	kill "$PID"
}

plan 15
make_file file 1
redis
openssh
rsyncd
inetd
finish
