#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# nginx before two applications, with kept connections between them: another nginx, and a server
# in Python that answers with the sum of what it gets. The client is in another namespace.

. "$(dirname "$0")/common.sh"

requests=40

# An application: POST gives the sum of the body, GET /N gives N bytes that follow from N
cat > "$WORK/app.py" <<'EOF'
import hashlib, http.server

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        n = int(self.path.rpartition("/")[2])
        self.answer((b"%d," % n * n)[:n])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(hashlib.sha256(body).hexdigest().encode())

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", 8082), Handler).serve_forever()
EOF

# A client: threads, each with a connection that it keeps, ask for everything in turn
cat > "$WORK/client.py" <<'EOF'
import hashlib, http.client, random, sys, threading

host, folder, requests = sys.argv[1], sys.argv[2], int(sys.argv[3])
files = {n: open(f"{folder}/{n}", "rb").read() for n in (1, 1000, 70000, 1500000)}
wrong = []

def ask(connection, method, path, body=None):
    connection.request(method, path, body)
    response = connection.getresponse()
    data = response.read()
    return data if response.status == 200 else b"status %d" % response.status

def client(seed):
    choose = random.Random(seed)
    connection = http.client.HTTPConnection(host, 8080)
    for i in range(requests // 4):
        n = choose.choice(list(files))
        if ask(connection, "GET", f"/files/{n}") != files[n]:
            wrong.append(f"file {n}")
        n = choose.randrange(1, 300000)
        if ask(connection, "GET", f"/app/{n}") != (b"%d," % n * n)[:n]:
            wrong.append(f"answer {n}")
        body = choose.randbytes(choose.randrange(1, 300000))
        if ask(connection, "POST", "/app/", body) != hashlib.sha256(body).hexdigest().encode():
            wrong.append(f"request {len(body)}")

threads = [threading.Thread(target=client, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*wrong, sep="\n")
sys.exit(bool(wrong))
EOF

# configuration NAME SERVER...: of an nginx
configuration() {
	local name=$1

	shift
	mkdir -p "$WORK/$name"
	cat > "$WORK/$name.conf" <<-EOT
	daemon off;
	user root;
	worker_processes 2;
	pid $WORK/$name/pid;
	error_log $WORK/$name/error.log;
	events { worker_connections 256; }
	http {
		access_log off;
		client_max_body_size 10m;
		client_body_temp_path $WORK/$name/body;
		proxy_temp_path $WORK/$name/proxy;
		fastcgi_temp_path $WORK/$name/fastcgi;
		scgi_temp_path $WORK/$name/scgi;
		uwsgi_temp_path $WORK/$name/uwsgi;
		$*
	}
	EOT
}

answers() {
	curl -sS -o /dev/null "http://127.0.0.1:$1/$2"
}

# serve COMMAND...: a server, until the test stops it
serve() {
	"$@" > "$WORK/server.log" 2>&1 &
	servers+=($!)
}

serve_all() {
	serve nginx -c "$WORK/back.conf"
	serve python3 "$WORK/app.py"
	serve nginx -c "$WORK/front.conf"
	until_true 30 answers 8081 1 && until_true 30 answers 8082 1 &&
	until_true 30 answers 8080 files/1
}

stop_all() {
	local pid

	for pid in "${servers[@]}"; do
		kill "$pid" && wait "$pid"
	done 2> /dev/null
	servers=()
}

# client NAMESPACE HOST: exchanges bytes with all
client() {
	${1:+ip netns exec $1} timeout 300 python3 "$WORK/client.py" "$2" "$WORK/www" "$requests"
}

plan 7
start || bail 'sdpdev does not load'
two_hosts && ip link add to_red type veth peer name to_host netns red &&
	ip addr add 10.8.0.1/24 dev to_red && ip link set to_red up &&
	ip -n red addr add 10.8.0.2/24 dev to_host && ip -n red link set to_host up ||
	bail 'no veth'
mkdir "$WORK/www"
for n in 1 1000 70000 1500000; do
	head -c $n /dev/urandom > "$WORK/www/$n"
done
configuration back "server { listen 127.0.0.1:8081; sendfile on; root $WORK/www; }"
configuration front '
	upstream back { server 127.0.0.1:8081; keepalive 8; }
	upstream app { server 127.0.0.1:8082; keepalive 8; }
	server {
		listen 8080;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		location /files/ { proxy_pass http://back/; }
		location /app/ { proxy_pass http://app/; }
	}'

attach 0
serve_all; result $? "servers over TCP"
check "bodies are what they were, over TCP" client red 10.8.0.1
stop_all
attach 1
serve_all; result $? "servers with endpoints"
before=$(moved)
check "bodies are what they were over loopback" client '' 127.0.0.1
check "clients' connections moved, and those between servers" more_moved "$before" 12
before=$(moved)
check "bodies are what they were over veth" client red 10.8.0.1
check "connections over veth moved" more_moved "$before" 8
stop_all
finish
