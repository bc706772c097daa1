#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpstat: what it shows of TCP sockets with the ULP, to whom, and what it makes of answers that
# are cut short.

. "$(dirname "$0")/sock.sh"

page=$root/Documentation/man/sdpstat.8
samples=$root/tools/system/samples
work=$(mktemp -d)
program=''

end() {
	[ -z "$program" ] || { kill "$program" && wait "$program"; } 2> /dev/null
	rm -rf "$work"
	leave
}

trap end EXIT
# Where a user without rights may run it
chmod 755 "$work"
cp "${SDPSTAT:-$build/tools/sdpstat/sdpstat}" "$work/sdpstat"

# shows PATTERN ARGUMENT...: one line of what sdpstat prints is that
shows() {
	local pattern=$1

	shift
	"$work/sdpstat" "$@" > "$work/out" 2> "$work/err"
	cat "$work/out" "$work/err"
	[ "$(grep -cE -e "$pattern" "$work/out")" -eq 1 ] && [ ! -s "$work/err" ]
}

# lines N ARGUMENT...: it prints so many, with the titles
lines() {
	local n=$1

	shift
	"$work/sdpstat" "$@" > "$work/out" || return
	cat "$work/out"
	[ "$(wc -l < "$work/out")" -eq "$n" ]
}

# untitled TITLE ARGUMENT...: no column has it.
untitled() {
	"$work/sdpstat" "${@:2}" | head -n 1 | tee "$work/out"
	! grep -qw -e "$1" "$work/out"
}

# refuses TEXT ARGUMENT...
refuses() {
	local text=$1 status=0

	shift
	"$work/sdpstat" "$@" > "$work/out" 2>&1 || status=$?
	cat "$work/out"
	[ "$status" -eq 2 ] && grep -qF -e "$text" "$work/out"
}

# json CONDITION ARGUMENT...: holds for e, the endpoints by local and peer port
json() {
	local condition=$1

	shift
	"$work/sdpstat" -j "$@" | python3 -c '
import json, sys
all = json.load(sys.stdin)["endpoints"]
port = lambda word: int(word.rpartition(":")[2]) if ":" in word else 0
e = {("c" if port(x["peer"]) == 7001 else "s"): x for x in all if port(x["local"]) != 0}
print(e)
sys.exit(not eval(sys.argv[1]))' "$condition"
}

# Every name of an endpoint's JSON, with its type, is in the manual page.
documented() {
	"$work/sdpstat" -ajp | python3 -c '
import json, re, sys
page = dict(re.findall(r"^\.IR (\w+) \" \((\w+)\)\"$", open(sys.argv[1]).read(), re.M))
kinds = {str: "string", int: "number", list: "array"}
for endpoint in json.load(sys.stdin)["endpoints"]:
	for name, value in endpoint.items():
		if page.get(name) != kinds[type(value)]:
			sys.exit(f"{name}: {page.get(name)}")
sys.exit(not page)' "$page"
}

# Each metric that a panel or a rule asks for is exported, with the labels that it goes by.
metrics() {
	PATH=$work:$PATH "$root/tools/system/textfile" | python3 -c '
import json, re, sys
exported, asked = {}, set()
for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \d+$", sys.stdin.read(), re.M):
	exported.setdefault(name, []).append(dict(re.findall("(\\w+)=\"([^\"]*)\"", labels)))
dashboard, rules = (open(name).read() for name in sys.argv[1:])
asks = [target["expr"] for panel in json.loads(dashboard)["panels"] for target in panel["targets"]]
asks += re.findall("expr: (.*)", rules)
for ask in asks:
	by = re.findall(r"by \((\w+)\)", ask)
	for name, labels in re.findall(r"\b(sdp_\w+)(?:\{([^}]*)\})?", ask):
		want = [pair for pair in re.findall("(\\w+)=\"([^\"]*)\"", labels)]
		if not any(all(e.get(k) == v for k, v in want) and all(k in e for k in by)
			   for e in exported.get(name, [])):
			sys.exit(f"not exported: {ask}")
		asked.add(name)
sys.exit(len(asked) < 10)' "$samples/grafana.json" "$samples/prometheus-rules.yml"
}

# Every reason that the kernel counts is in the manual page.
reasons() {
	local word words=0

	for word in $("$work/sdpstat" -s | sed -n 's/^stayed_\([a-z_]*\) .*/\1/p'); do
		grep -qx "^\.B $word" "$page" || { echo "not there: $word"; return 1; }
		words=$((words + 1))
	done
	[ "$words" -gt 10 ]
}

as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# What a user sees: no socket, and why.
user() {
	as_user "$work/sdpstat" > "$work/out" 2> "$work/err" || return
	cat "$work/out" "$work/err"
	[ "$(wc -l < "$work/out")" -eq 1 ] && [ "$(wc -l < "$work/err")" -eq 1 ] &&
		grep -q 'left out.*CAP_NET_ADMIN' "$work/err"
}

# Some of what it shows may be another user's; the rest is there all the same.
user_processes() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +net_admin \
		--ambient-caps +net_admin "$work/sdpstat" -p > "$work/out" 2> "$work/err" || return
	cat "$work/out" "$work/err"
	[ "$(grep -c ESTABLISHED "$work/out")" -eq 2 ] && [ "$(wc -l < "$work/err")" -eq 1 ] &&
		grep -q 'left out.*CAP_SYS_PTRACE' "$work/err"
}

# during COMMAND OPTION...: the tables of each second, which begin before the command is told and
# end behind it
during() {
	local number status pid

	rm -f "$work/out"
	"$work/sdpstat" "${@:2}" -i 1 > "$work/out" & pid=$!
	until_true 60 test -s "$work/out" && tell "$1"
	status=$?
	number=$(wc -l < "$work/out")
	# One line is in the middle of a table, the next line may be, too.
	until_true 60 longer "$work/out" $((number + 1))
	kill "$pid" && wait "$pid"
	return "$status"
} 2> /dev/null

# longer FILE N: it has more lines.
longer() {
	[ "$(wc -l < "$1")" -gt "$2" ]
}

# What each table says of a second is what the bytes have grown by, however long the second was.
rates() {
	during 'push(c, s, 50000, 2)' -j || return
	python3 - "$work/out" <<-'EOT'
	import json, sys
	ends = [[x for x in json.loads(line)["endpoints"] if "7001" in x["peer"]]
		for line in open(sys.argv[1]) if line.endswith("\n")]
	sent = [x["tx_bytes"] for x, in ends]
	rates = [x.get("tx_bytes_per_second", -1) for x, in ends]
	print(sent, rates)
	grown = [(after - before, rate) for before, after, rate in zip(sent, sent[1:], rates[1:])]
	# A touch may take the second message by TCP.
	sys.exit(not (rates[0] == -1 and sent[-1] - sent[0] >= 50000 and
		      all(rate / 20 <= bytes <= 60 * rate for bytes, rate in grown)))
	EOT
}

# The counters that change are shown, and nothing else.
counter_rates() {
	during 'c2, s2 = connect(AF_INET, "127.0.0.1", 7003); push(c2, s2, 1000, 200)' -s || return
	sed '1,/^$/d; /^$/d' "$work/out" | tee "$work/change"
	grep -Eq '^moved +[1-9][0-9]* +[0-9.]+/s$' "$work/change" &&
		! grep -Eqv '^[a-z_]+ +[0-9]+ +[0-9.]+/s$' "$work/change"
}

# Another namespace's table has its titles alone.
elsewhere() {
	[ "$(unshare --net "$work/sdpstat" -l kind=direct | wc -l)" -eq 1 ]
}

# counts COMMAND...: what sdpstat says there of the directions that have moved
counts() {
	"$@" "$work/sdpstat" -s | awk '$1 == "moved" { print $2 }'
}

own_counters() {
	[ "$(counts env)" -gt 0 ] && [ "$(counts unshare --net)" = 0 ]
}

# The checked kernel has no userfaultfd(2).
held=3
[ "$KERNEL" != debug ] || held=0
plan $((40 + held))
check "a machine" start
check "no endpoint: titles" lines 1
check "and valid JSON" json 'not e'
coproc sockets { exec python3 -u "$root/selftests/sock/stat.py" 2>&1; }
# shellcheck disable=SC2154 # coproc sets it
program=$sockets_PID
check "a connection" tell 'c, s = connect(AF_INET, "127.0.0.1", 7001)'
check "listening ones are left out" lines 3
check "but shown with -l" shows '^LISTEN +- +127\.0\.0\.1:7001 +- +0 +0 +0 +0 +-$' -l
check "with TCP, as it is young" shows \
	'^ESTABLISHED +TCP +127\.0\.0\.1:[0-9]+ +127\.0\.0\.1:7001 +0 +0 +0 +0 +young$'
check "sent one way" tell 'push(c, s, 1000, 300)'
check "one direction has moved" shows \
	'^ESTABLISHED +local/TCP +127\.0\.0\.1:[0-9]+ +127\.0\.0\.1:7001 +[1-9][0-9]+ +0 +0 +1 +-$'
check "at the other end, too" shows \
	'^ESTABLISHED +TCP/local +127\.0\.0\.1:7001 .* +0 +[1-9][0-9]+ +0 +0 +-$'
check "the bytes by both carriers are the stream's" json \
	'(e["c"]["tx_bytes"] + e["c"]["tcp_tx_bytes"] == 300000 ==
	  e["s"]["rx_bytes"] + e["s"]["tcp_rx_bytes"] and e["c"]["tx_bytes"] > 100000)'
check "something waits to be read" tell 'c.send(b"x" * 777)'
check "and is counted" json 'e["s"]["rx_queued"] == 777 and e["c"]["rx_queued"] == 0'
tell 's.recv(777)'
check "sent the other way" tell 'push(s, c, 1000, 300)'
check "the state, the carrier and the port that are asked for" lines 3 \
	state=established,listen carrier=LOCAL,rdma port=80,7001
check "another carrier" lines 1 carrier=TCP
check "another reason" lines 1 reason=young,peer
check "another kind" lines 1 kind=direct
check "the process" shows "7001 .* stat\.py\($program\)|7001 .*python3\($program\)" -lp
check "by its number" lines 3 "pid=$program,1"
check "another one's" lines 1 pid=1
check "every name and type of JSON is documented" documented
check "the mode of a socket" tell 'c.setsockopt(257, 2, 1)'
check "has a column" shows '^ESTABLISHED .* now( |$)' port=7001
check "with a title" shows '^State .* Mode( |$)' port=7001
tell 'c.setsockopt(257, 2, 0)'
check "which is shown only then" untitled Mode port=7001
check "every second's bytes" rates
check "every second's counters" counter_rates
check "which are the namespace's" own_counters
check "every reason is documented" reasons
check "every metric of the samples is exported" metrics
check "a listener of direct SDP" tell 'd = direct(7008)'
check "is one" shows \
	'^LISTEN +- +0\.0\.0\.0:7008 +- +0 +0 +0 +-  .*\('"$program"'\)$' -lp kind=direct
check "of its own namespace" elsewhere
check "a connection by IPv6" tell 'c6, s6 = connect(AF_INET6, "::1", 7002)'
check "has its addresses" shows '^ESTABLISHED +TCP +\[::1\]:7002 +\[::1\]:[0-9]+ ' port=7002
tell 'c6.close(); s6.close(); c2.close(); s2.close()'
if [ "$KERNEL" != debug ]; then
	check "a program keeps a socket" tell 'hole = Hole(); hole.send(c)'
	check "which is shown all the same" timeout 60 "$work/sdpstat" port=7001
	check "and so it was kept" tell 'hole.fill(); s.recv(100)'
fi
check "a user is told what is missing" user
check "with CAP_NET_ADMIN, which processes" user_processes
refusals() {
	refuses 'unknown filter frob' frob=1 && refuses 'not a number' port=http &&
		refuses 'given twice' port=1 port=2 && refuses 'no such kind' kind=socket,device &&
		refuses 'no such carrier' carrier=SDP && refuses 'which?' state= &&
		refuses '-c needs -i' -c 2 && refuses 'not a time' -i 0 &&
		refuses 'not a number of tables' -i 1 -c x
}
check "wrong arguments are named" refusals
check "answers that are cut short" "$programs/answers"
finish
