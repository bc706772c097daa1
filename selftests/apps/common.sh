# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # used where it is sourced
#
# What the tests with unmodified programs share: servers on node2, and what
# proves that the bytes went over SDP.

. "$(dirname "$0")/../lib/tap.sh"

SERVER4=10.77.0.2
SERVER6=fd77::2

# make_file NAME MEGABYTES: random bytes, so that nothing can be left out
make_file() {
	mkdir -p "$WORK/www"
	head -c "$(($2 << 20))" /dev/urandom > "$WORK/www/$1"
}

sum() {
	sha256sum < "$1" | cut -d ' ' -f 1
}

same() {
	[ "$(sum "$1")" = "$(sum "$2")" ]
}

# start_nginx NODE [RUNNER]: on port 8080 of all its addresses, sending files
# with sendfile(2) and waiting with epoll(7)
start_nginx() {
	local node=$1

	shift
	mkdir -p "$WORK/www" "$WORK/nginx"
	cat > "$WORK/nginx.conf" <<-EOF
	daemon off;
	worker_processes 2;
	user root;
	pid $WORK/nginx/pid;
	error_log $WORK/nginx/error.log;
	events { use epoll; worker_connections 512; }
	http {
		access_log off;
		sendfile on;
		keepalive_timeout 60;
		client_body_temp_path $WORK/nginx/body;
		proxy_temp_path $WORK/nginx/proxy;
		fastcgi_temp_path $WORK/nginx/fastcgi;
		scgi_temp_path $WORK/nginx/scgi;
		uwsgi_temp_path $WORK/nginx/uwsgi;
		server {
			listen 8080;
			listen [::]:8080;
			root $WORK/www;
			location /slow/ { alias $WORK/www/; limit_rate 16k; }
		}
	}
	EOF
	start "$node" "$@" nginx -c "$WORK/nginx.conf" 2> "$WORK/nginx.err"
	NGINX=$PID
	wait_port "$node" 8080 || { diag "$WORK/nginx.err"; bail "nginx did not start"; }
}

stop_nginx() {
	kill -QUIT "$NGINX"
	wait "$NGINX" 2>/dev/null
}

# ib_bytes NODE: sent and received by its IPoIB interface so far
ib_bytes() {
	on "$1" cat /sys/class/net/ib0/statistics/tx_bytes \
		/sys/class/net/ib0/statistics/rx_bytes | awk '{ n += $1 } END { print n }'
}

# few_bytes BEFORE LIMIT NAME: that interface has moved less than LIMIT since
few_bytes() {
	local moved=$(($(ib_bytes 1) - $1)) few=0

	[ "$moved" -lt "$2" ] || few=1
	result $few "$3"
	[ $few -eq 0 ] || echo "# $moved bytes"
}

# over CARRIER FILE: whether the program's diagnostics name no other carrier
over() {
	local other=TCP

	[ "$1" = SDP ] || other=SDP
	if grep -q "over $1" "$2" && ! grep -q "over $other" "$2"; then
		return 0
	fi
	diag "$2"
	return 1
}

# counted NAME: a counter of SDP, of both nodes together
counted() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp/snmp
}

# before_it: what the next all_sdp compares with
before_it() {
	connected=$(counted connected)
	fallbacks=$(counted fallbacks)
	bytes=$(ib_bytes 1)
}

# all_sdp NAME CONNECTIONS: as many at least went over SDP since, and none over TCP
all_sdp() {
	local made=$(($(counted connected) - connected)) good=1

	[ "$made" -lt "$2" ] || [ "$(counted fallbacks)" -ne "$fallbacks" ] ||
		[ $(($(ib_bytes 1) - bytes)) -gt 300000 ] || good=0
	result $good "$1: $2 connections or more over SDP, none over TCP"
	[ $good -eq 0 ] || echo "# connected $made, fallbacks $(counted fallbacks) - $fallbacks"
}

# start_sshd [RUNNER]: on port 2222 of node2, for who has the options in SSH
start_sshd() {
	mkdir -p "$WORK/ssh" /run/sshd
	grep -q ^sshd: /etc/passwd ||
		echo 'sshd:x:65500:65534::/run/sshd:/usr/sbin/nologin' >> /etc/passwd
	ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/id"
	cp "$WORK/ssh/id.pub" "$WORK/ssh/authorized"
	cat > "$WORK/ssh/config" <<-EOT
	Port 2222
	HostKey $WORK/ssh/host
	AuthorizedKeysFile $WORK/ssh/authorized
	StrictModes no
	UsePAM no
	PidFile none
	Subsystem sftp internal-sftp
	EOT
	chmod 755 "$WORK"
	start 2 "$@" /usr/sbin/sshd -D -e -f "$WORK/ssh/config" 2> "$WORK/sshd.log"
	wait_port 2 2222 || { diag "$WORK/sshd.log"; bail "sshd did not start"; }
	SSH=(-q -F none -i "$WORK/ssh/id" -o StrictHostKeyChecking=no
	     -o UserKnownHostsFile=/dev/null -o BatchMode=yes
	     -o KexAlgorithms=curve25519-sha256)
}
