#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified programs of several kinds: forking, threaded, with poll(), with
# epoll(), executing others, half closing.

. "$(dirname "$0")/common.sh"

plan 12
make_file file 4

# socat forks for each connection and executes cat on it; the client closes its
# half and reads the echo.
start 2 "$SDPRUN" socat TCP-LISTEN:9001,fork,reuseaddr EXEC:cat,nofork 2> "$WORK/echo.err"
wait_port 2 9001 || bail "socat did not start"
echo_ok=0
before_it
for i in 1 2 3; do
	"$SDPRUN" socat -t 30 - "TCP:$SERVER4:9001" \
		< "$WORK/www/file" > "$WORK/echo.$i"
	same "$WORK/www/file" "$WORK/echo.$i" || echo_ok=1
done
check "a forking server executes cat on the descriptor: echo after half close" \
	test $echo_ok -eq 0
joined "socat" 2 500

# Python: blocking sockets and a thread for each.
start 2 "$SDPRUN" python3 -m http.server -d "$WORK/www" 8081 > "$WORK/python.err" 2>&1
wait_port 2 8081 || { diag "$WORK/python.err"; bail "python3 did not start"; }
before_it
"$SDPRUN" curl -sS -o "$WORK/got" "http://$SERVER4:8081/file"
check "python3 -m http.server to curl" same "$WORK/www/file" "$WORK/got"
joined "python3" 1 500

# Python asyncio: epoll, non-blocking connects, and two listeners on one port.
cat > "$WORK/echo.py" <<'EOF'
import asyncio, hashlib, sys

async def serve(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()

async def server(port):
    two = [await asyncio.start_server(serve, None, port, reuse_port=True) for _ in range(2)]
    await asyncio.gather(*[s.serve_forever() for s in two])

async def client(host, port, path):
    data = open(path, "rb").read()
    async def one(n):
        reader, writer = await asyncio.open_connection(host, port)
        async def send():
            writer.write(data)
            writer.write_eof()
        sending = asyncio.create_task(send())
        back = await reader.read()
        await sending
        writer.close()
        return back == data
    print(sum(await asyncio.gather(*[one(n) for n in range(10)])))

if sys.argv[1] == "server":
    asyncio.run(server(int(sys.argv[2])))
else:
    asyncio.run(client(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
EOF
start 2 "$SDPRUN" python3 "$WORK/echo.py" server 8082 2> "$WORK/asyncio.err"
wait_port 2 8082 || { diag "$WORK/asyncio.err"; bail "python3 did not start"; }
head -c 500000 "$WORK/www/file" > "$WORK/part"
for host in "$SERVER4" "$SERVER6"; do
	before_it
	"$SDPRUN" python3 "$WORK/echo.py" client "$host" 8082 "$WORK/part" \
		> "$WORK/out"
	check "asyncio: ten echoes at once, $host" test "$(< "$WORK/out")" = 10
	joined "asyncio" 5 100
done

# A server that was killed with a connection open starts again on its port.
start 2 "$SDPRUN" python3 "$WORK/echo.py" server 8083 2> "$WORK/first.err"
first=$PID
wait_port 2 8083 || bail "python3 did not start"
mkfifo "$WORK/hold"
"$SDPRUN" socat - "TCP:$SERVER4:8083" < "$WORK/hold" > "$WORK/echoed" &
client=$!
exec 9> "$WORK/hold"
echo hello >&9
until_true 20 test -s "$WORK/echoed"
kill -9 "$first"
exec 9>&-
wait "$client"
# It listens until it is gone.
wait "$first" 2> /dev/null
start 2 "$SDPRUN" python3 "$WORK/echo.py" server 8083 2> "$WORK/second.err"
check "a killed server starts again on its port" until_true 20 listening 2 8083
"$SDPRUN" python3 "$WORK/echo.py" client "$SERVER4" 8083 "$WORK/part" \
	> "$WORK/out"
check "and serves" test "$(< "$WORK/out")" = 10

# iperf3: select(), a control connection and several for the data.
start 2 "$SDPRUN" iperf3 -s -1 -p 5201 > "$WORK/iperf.srv" 2>&1
wait_port 2 5201 || { diag "$WORK/iperf.srv"; bail "iperf3 did not start"; }
before_it
"$SDPRUN" iperf3 -c "$SERVER4" -p 5201 -P 4 -n 16M --bidir \
	> "$WORK/iperf.out"
check "iperf3: four connections each way" test $? -eq 0
joined "iperf3" 2 500
finish
