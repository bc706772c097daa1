#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# More unmodified programs: memcached, the git daemon, vsftpd with lftp, and haproxy
# before nginx. Each over TCP first, then with the server, the client or both by
# sdprun: they give the same output each time.

. "$(dirname "$0")/common.sh"

# Server, client: a connection leaves TCP if both run by sdprun
MODES=(plain-plain sdp-sdp sdp-plain plain-sdp)

runner() {
	[ "$1" = plain ] || echo "$SDPRUN"
}

# all_modes NAME CONNECTIONS: that function says the same each time, and connects
all_modes() {
	local name=$1 least=$2 mode made

	for mode in "${MODES[@]}"; do
		server=$(runner "${mode%-*}")
		client=$(runner "${mode#*-}")
		mkdir "$WORK/$name.$mode"
		before_it
		"$name" "$WORK/$name.$mode" > "$WORK/$name.$mode.out" 2> "$WORK/$name.$mode.err"
		ended "$name"
		check "$name, $mode" as_tcp "$name" "$mode"
		case $mode in
		sdp-sdp) joined "  $mode" "$least" 500 ;;
		plain-sdp)
			check "  over TCP" test "$(counted carrier_joined)" -eq "$joined" ;;
		esac
	done
}

# as_tcp NAME MODE: it says what it said without SDP, and that is something
as_tcp() {
	local want=$WORK/$1.plain-plain.out got=$WORK/$1.$2.out

	if [ -s "$want" ] && ! grep -q different "$want" && cmp -s "$want" "$got"; then
		return 0
	fi
	echo "# expected:"
	diag "$want"
	diag "$WORK/$1.plain-plain.err"
	echo "# got:"
	diag "$got"
	diag "$WORK/$1.$2.err"
	return 1
}

# The servers of that one, and their children
SERVERS=()

# serve NODE PORT COMMAND...: by $server; until it listens
serve() {
	local node=$1 port=$2

	shift 2
	# shellcheck disable=SC2086 # none or one word
	start "$node" $server "$@"
	SERVERS+=("$PID")
	wait_port "$node" "$port" || echo "$1 does not listen"
}

# ended NAME: its servers have, so that the next find their ports free
ended() {
	kill "${SERVERS[@]}"
	wait "${SERVERS[@]}" 2> /dev/null
	SERVERS=()
}

# whole FILE: says whether it is the one that was made
whole() {
	if same "$WORK/www/file" "$1"; then
		echo "${1##*/} whole"
	else
		echo "${1##*/} different"
	fi
}

# Values of 300 kB by 12 clients at once
memcached_() {
	serve 2 11211 memcached -l 0.0.0.0,:: -p 11211 -u root -t 2
	cat > "$1/client.py" <<-'EOT'
	import os, socket, sys, threading

	def one(host, n):
	    s = socket.create_connection((host, 11211))
	    f = s.makefile("rwb")
	    data = os.urandom(300000)
	    f.write(b"set k%d 0 0 %d\r\n" % (n, len(data)) + data + b"\r\nget k%d\r\n" % n)
	    f.flush()
	    stored, value = f.readline(), f.readline()
	    good = f.read(len(data)) == data and f.readline() + f.readline() == b"\r\nEND\r\n"
	    f.write(b"quit\r\n")
	    f.flush()
	    said[n] = (n, stored, value, good, f.read())

	said = {}
	threads = [threading.Thread(target=one, args=(host, n))
	           for n, host in enumerate(sys.argv[1:] * 6)]
	for t in threads:
	    t.start()
	for t in threads:
	    t.join()
	print(*(said.get(n) for n in range(len(threads))), sep="\n")
	EOT
	$client python3 "$1/client.py" "$SERVER4" "$SERVER6"
}

# A daemon whose children have the connection as standard input and output
git_() {
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' HOME=$1
	local user=(-c user.name=name -c user.email=name@example.org)

	git init -q "$1/first"
	cp "$WORK/www/file" "$1/first"
	git -C "$1/first" add .
	git -C "$1/first" "${user[@]}" commit -qm first
	git clone -q --bare "$1/first" "$1/bare.git"
	touch "$1/bare.git/git-daemon-export-ok"
	serve 2 9418 git daemon --base-path="$1" --enable=receive-pack --reuseaddr
	$client git clone -q "git://$SERVER4/bare.git" "$1/clone"
	whole "$1/clone/file"
	git -C "$1/clone" "${user[@]}" commit -q --allow-empty -m second
	$client git -C "$1/clone" push -q origin HEAD
	git --git-dir="$1/bare.git" log --format=%s
}

# Data connections either way, from port 20 and from any, of processes without rights
ftp_() {
	mkdir -p "$1/root/up" "$1/empty"
	cp "$WORK/www/file" "$1/root"
	chmod 755 "$1" "$1/root"
	chmod 777 "$1/root/up"
	sed -i '/^ftp:/d' /etc/passwd
	echo "ftp:x:65501:65534::$1/root:/bin/false" >> /etc/passwd
	cat > "$1/conf" <<-EOT
	listen=YES
	background=NO
	listen_port=2121
	anonymous_enable=YES
	anon_root=$1/root
	write_enable=YES
	anon_upload_enable=YES
	anon_umask=022
	secure_chroot_dir=$1/empty
	seccomp_sandbox=NO
	connect_from_port_20=YES
	EOT
	serve 2 2121 vsftpd "$1/conf"
	for passive in on off; do
		$client lftp -c "set ftp:passive-mode $passive; set net:max-retries 2
			set net:timeout 30; open -p 2121 $SERVER4; get file -o $1/got.$passive
			put $WORK/www/file -o up/put.$passive; cls -1 up"
		whole "$1/got.$passive"
		whole "$1/root/up/put.$passive"
	done
}

# A proxy: connections from an address that it is bound to, splice, listening for bytes
haproxy_() {
	local kill=$NGINX

	# shellcheck disable=SC2086 # none or one word
	start_nginx 2 $server
	SERVERS+=("$NGINX")
	NGINX=$kill
	cat > "$1/conf" <<-EOT
	global
	    nbthread 2
	defaults
	    timeout connect 30s
	    timeout client 60s
	    timeout server 60s
	    option splice-auto
	    option clitcpka
	frontend http
	    mode http
	    bind 0.0.0.0:8090 tfo defer-accept
	    bind :::8091 v6only
	    default_backend http
	backend http
	    mode http
	    source 10.77.0.1
	    server s $SERVER4:8080 tfo
	frontend tcp
	    bind 0.0.0.0:8092
	    default_backend tcp
	backend tcp
	    server s $SERVER4:8080 source 10.77.0.1:40000-40100
	EOT
	serve 1 8092 haproxy -f "$1/conf" -db
	for url in 10.77.0.1:8090 '[fd77::1]:8091' 10.77.0.1:8092; do
		rm -f "$1/got"
		# shellcheck disable=SC2086 # none or one word
		on 2 $client curl -sS -m 60 -o "$1/got" "http://$url/file"
		whole "$1/got"
	done
}

plan 24
make_file file 2
all_modes memcached_ 6
all_modes git_ 2
all_modes ftp_ 3
all_modes haproxy_ 3
finish
