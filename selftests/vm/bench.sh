#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The benchmark measures what it is asked for, says it in a form that programs can
# read, repeats itself, and its gate is shut for what costs more. The costs are no
# test here.

. "$(dirname "$0")/../tap.sh"

folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
# What another run has left in the build folder stays.
mine=$folder/build
mkdir "$mine" && ln -s "$BUILD/6.1" "$BUILD/tools" "$BUILD/libsdpdev" "$mine" || exit

# refused NAME PATTERN ARGUMENT...
refused() {
	local name=$1 pattern=$2 output status

	shift 2
	output=$(tools/bench/run "$@" 2>&1 < /dev/null)
	status=$?
	[ $status -eq 2 ] && [ "$(wc -l <<< "$output")" -eq 1 ] && [[ $output == *$pattern* ]]
	result $? "$name"
}

bench() {
	BUILD=$mine tools/bench/run "$@" 2>&1 < /dev/null
}

# figure CONTESTANT ROW: its cost
figure() {
	awk -F '\t' -v c="$1" -v r="$2" '$1 == c && $2 == r { print $4 }' "$folder/first.tsv"
}

# changed PERCENT [OPTION]: the gate, after the costs of joined connections have changed
changed() {
	awk -F '\t' -v OFS='\t' -v p="$1" '$1 == "joined" { $4 = int($4 * p / 100) } 1' \
		"$folder/first.tsv" > "$folder/changed.tsv"
	bench "${2:---gate}" --figures "$folder/first.tsv" --input "$folder/changed.tsv"
}

# kept COST...: what is kept of rounds that cost so much, and how far they were apart
kept() {
	printf 'c\trow\tunit\t1\t%d\n' "$@" | awk -f tools/bench/middles.awk | cut -f 4-5 | xargs
}

plan 29
refused "an unknown name" "'tcp-sock' is no contestant" tcp-sock
refused "an unknown option" --frobnicate --frobnicate
refused "no rounds" "not 1 to 9" --rounds 0
refused "no figures" "cannot read" --gate --figures "$folder/none"
refused "a part as figures" "all that there is" --save joined
refused "a gate for time" "only goes with" --wall --gate

[ "$(kept 10 20 40 90)" = "30 266.7" ]
result $? "half of the rounds is kept, without the extremes"
[ "$(kept 10 10 10 10 10 10 10 20 20 20 20 20 20 20 20 20)" = "16 61.5" ]
result $? "and of two costs not the more frequent one"
[ "$(kept 7)" = "7 0.0" ]
result $? "of one round, that one"

out=$(bench --rounds 2 unix joined stream-64k pingpong-64)
result $? "a part is measured"
diag "$out"
cp "$mine/bench/result.tsv" "$folder/first.tsv"
[ "$(awk -F '\t' '!/^#/ && NF != 6' "$folder/first.tsv" | wc -l)" -eq 0 ]
result $? "the result has six columns"
[ "$(awk -F '\t' 'NR > 2 { print $6 }' "$folder/first.tsv" | sort -u)" = 2 ]
result $? "and has the rounds of both machines"
[ "$(awk -F '\t' 'NR > 2 { print $1 ":" $2 }' "$folder/first.tsv" | xargs)" = \
	"$(for c in joined unix; do
		printf "$c:%s " pingpong-64 pingpong-64.median pingpong-64.p99 stream-64k
	done | xargs)" ]
result $? "and what was asked for"
[ "$(figure joined stream-64k)" -gt "$(figure unix stream-64k)" ]
result $? "InfiniBand costs more than no network"
[ "$(figure joined pingpong-64.p99)" -ge "$(figure joined pingpong-64.median)" ]
result $? "the slowest round trips are not faster than half"
check "the chart is XML" python3 -c \
	'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$mine/bench/chart.svg"

out=$(bench --rounds 1 --wall tcp-stock unix pingpong-64) &&
grep -Eq '^ *unix +pingpong-64 +[0-9]+ % +[0-9]+ %$' <<< "$out"
result $? "time beside instructions"
diag "$out"
check "a whole program" bench --rounds 1 joined nginx-keep
bench --rounds 1 tcp-ours stream-64 > /dev/null &&
[ "$(awk -F '\t' 'NR > 2 { print $6 }' "$mine/bench/result.tsv")" = 4 ]
result $? "what varies has more rounds"

check "it costs the same again" \
	bench --rounds 1 --gate --figures "$folder/first.tsv" joined unix stream-64k
check "4 % more pass" changed 104
check "less passes" changed 50
out=$(changed 107)
[ $? -eq 1 ] && [[ $out == *"gate: joined stream-64k: "* && $out != *"gate: unix"* ]]
result $? "7 % more do not"
check "1 % more is the same" changed 101 --same
out=$(changed 103 --same)
[ $? -eq 1 ] && [[ $out == *"gate: joined stream-64k: "* && $out != *"gate: unix"* ]]
result $? "3 % more are not"
out=$(changed 97 --same)
[ $? -eq 1 ] && [[ $out == *"gate: joined stream-64k: "* ]]
result $? "nor are 3 % less"
echo "joined	idle	bytes/connection	1	0.0	1" >> "$folder/first.tsv"
cp "$folder/first.tsv" "$folder/more.tsv"
sed -i '/^joined\tidle/d' "$folder/first.tsv"
out=$(bench --gate --figures "$folder/first.tsv" --input "$folder/more.tsv")
[ $? -eq 1 ] && [[ $out == *"gate: joined idle: no figure"* ]]
result $? "nor does what there is no figure for"
printf '%s\tconnect\tinstructions/connection\t%d\t0.0\t1\n' tcp-ours 1000 joined 1101 \
	> "$folder/dear.tsv"
cp "$folder/dear.tsv" "$folder/same.tsv"
out=$(bench --gate --figures "$folder/same.tsv" --input "$folder/dear.tsv")
[ $? -eq 1 ] && [[ $out == *"gate: joined connect: 1101, more than 110 %"* ]]
result $? "nor does a connection that costs a tenth more than TCP's"
out=$(bench --gate --figures "$folder/first.tsv" --input /dev/null)
[ $? -eq 1 ] && [[ $out == *"gate: 0 compared"* ]]
result $? "nor does nothing"
finish
