# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # used where it is sourced
#
# What the tests with unmodified programs share: servers on node2, and what
# proves that their connections left TCP for InfiniBand.

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

# all_nodes NAME VALUE: a setting in net.sdp of both nodes
all_nodes() {
	local node

	for node in 1 2; do
		on "$node" sysctl -qw "net.sdp.$1=$2" || return
	done
}

# Both nodes are one kernel, whose memory is not to carry anything. Programs connect and say
# little, so they leave TCP at once.
by_ib() {
	all_nodes carriers ib && all_nodes move_messages 0
}

as_before() {
	all_nodes carriers "$order"
	all_nodes move_messages "$messages"
	tap_cleanup
}

# port_bytes NODE: sent and received by its IPoIB interface so far
port_bytes() {
	on "$1" cat /sys/class/net/ib0/statistics/tx_bytes \
		/sys/class/net/ib0/statistics/rx_bytes | awk '{ n += $1 } END { print n }'
}

# adapter_bytes: sent and received by node1's adapter so far, which counts words
adapter_bytes() {
	perfquery -C softib0 -x | awk -F '[:.]+' '/^Port(Xmit|Rcv)Data/ { n += 4 * $2 }
		END { printf "%.0f\n", n }'
}

# counted NAME: a counter of sdpdev, of both nodes together
counted() {
	{ on 1 cat /proc/net/sdp/snmp; on 2 cat /proc/net/sdp/snmp; } |
		awk -v name="$1" '$1 == name { n += $2 } END { print n }'
}

# before_it: what the next joined compares with
before_it() {
	joined=$(counted carrier_joined)
	bytes=$(port_bytes 1)
	all_bytes=$(adapter_bytes)
	sent_bytes=$(counted bytes_sent)
	received_bytes=$(counted bytes_received)
}

# joined NAME CONNECTIONS KIB: so many connections at least were joined since, and so many KiB
# went through node1's adapter that did not go through its interface. The namespaces count as many,
# without the headers of messages.
joined() {
	local made kib port sent received

	until_true 10 went "$2" "$3"
	result $? "$1: $2 connections or more over InfiniBand, $3 KiB or more"
	echo "# $made connections, $kib KiB over InfiniBand, $((port / 1024)) KiB over IPoIB;" \
		"$sent KiB counted as sent, $received as received"
}

# went CONNECTIONS KIB: so many did. The counters of bytes are a few seconds late.
went() {
	made=$(($(counted carrier_joined) - joined))
	port=$(($(port_bytes 1) - bytes))
	kib=$((($(adapter_bytes) - all_bytes - port) / 1024))
	sent=$((($(counted bytes_sent) - sent_bytes) / 1024))
	received=$((($(counted bytes_received) - received_bytes) / 1024))
	[ "$made" -ge "$1" ] && [ "$kib" -ge "$2" ] &&
	[ $((sent * 2)) -ge "$2" ] && [ "$sent" -le "$kib" ] &&
	[ $((received * 2)) -ge "$2" ] && [ "$received" -le "$kib" ]
}

# start_sshd [RUNNER]: on port 2222 of node2, for clients with the options in SSH
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

order=$(on 1 sysctl -n net.sdp.carriers)
messages=$(on 1 sysctl -n net.sdp.move_messages)
trap as_before EXIT
by_ib || bail "no such settings"
