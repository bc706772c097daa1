#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How selftests/run judges tests that fail: once, always, three of them once, with a
# report of the kernel's, and with the machine. A script takes the place of tools/vm/run.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$0")/../.." && pwd -P)
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# test_file NAME: a test file of the suite, with what standard input says
test_file() {
	{
		printf '#!/bin/sh\n'
		cat
	} > "$tmp/selftests/suite/$1.sh"
	chmod +x "$tmp/selftests/suite/$1.sh"
}

# fails_once NAME COMMAND: a test file that fails the first time
fails_once() {
	test_file "$1" <<-EOT
		echo 1..2
		echo ok 1 - begins
		if [ ! -e $tmp/did.$1 ]; then
			touch $tmp/did.$1
			$2
		fi
		echo ok 2 - ends
	EOT
}

project() {
	mkdir -p "$tmp/selftests/suite" "$tmp/tools/vm" || return
	cp "$root"/selftests/{run,*.awk} "$tmp/selftests/"
	printf '5 6.1 suite:default/good\n9 6.1 suite:default/worse\n' > "$tmp/selftests/times"
	test_file good <<< 'printf "1..1\nok 1 - good\n"'
	test_file worse <<< 'printf "1..1\nok 1 - not worse\n"'
	test_file nothing <<< 'echo 1..0'
	test_file always <<< 'printf "1..2\nok 1 - begins\nnot ok 2 - ends\n"'
	fails_once once 'echo not ok 2 - ends; exit 1'
	fails_once twice 'echo not ok 2 - ends; exit 1'
	fails_once thrice 'echo ok 2 - ends; exit 1'
	fails_once dies "kill -KILL \$(cat $tmp/machine); exec sleep 1"
	fails_once reports "touch $tmp/report; echo not ok 2 - ends; exit"
	fails_once warns "touch $tmp/report"
	echo "WARNING: CPU: 0" > "$tmp/kernel.log"
	test_file nested <<-EOT
		echo 1..1
		VM_KEEP_LOG=1 $root/tools/vm/report 0 $tmp/kernel.log ended
		echo ok 1 - whatever it says
	EOT
	fails_once hangs 'echo not ok 2 - ends; exit 1'
	echo "touch $tmp/hangs; exec sleep 1000" >> "$tmp/selftests/suite/hangs.sh"
	fails_once later 'echo not ok 2 - ends; exit'
	echo "touch $tmp/report" >> "$tmp/selftests/suite/later.sh"
	cat > "$tmp/tools/vm/run" <<-EOT
		#!/bin/bash
		echo >> $tmp/boots
		case \$5 in
		unborn)	exit 125 ;;
		late)	rm $tmp/late && exit 125 ;;
		esac
		while [ "\$1" != -- ]; do shift; done
		cd $tmp || exit
		setsid bash -c 'echo \$\$ > machine; exec "\$@"' - "\${@:2}" &
		wait \$! 2> /dev/null || exit 125
		[ -e report ] || exit 0
		rm report
		echo "the kernel reported a defect:"
		exit 123
	EOT
	chmod +x "$tmp/tools/vm/run"
}

# ran STATUS LAST [ARGUMENT...] -- TEST...: a run of these tests ends like this.
ran() {
	local want="$1 $2" arguments=() status

	shift 2
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	rm -f "$tmp"/did.* "$tmp/boots"
	echo "default ${options} : ${*:2}" > "$tmp/selftests/suite/config"
	BUILD=$tmp/build "$tmp/selftests/run" --kernel 6.1 "${arguments[@]}" \
		> "$tmp/out" 2>&1 < /dev/null
	status=$?
	[ "$status $(tail -n 1 "$tmp/out")" = "$want" ] ||
		{ echo "status $status"; cat "$tmp/out"; return 1; }
}

hangs() {
	[ -e "$tmp/hangs" ]
}

ended() {
	! kill -0 "$1" 2> /dev/null
}

# A run ends at once if it is told to while it repeats what failed.
interrupted() {
	local run status

	echo "default : hangs" > "$tmp/selftests/suite/config"
	BUILD=$tmp/build "$tmp/selftests/run" --kernel 6.1 --again > "$tmp/out" 2>&1 < /dev/null &
	run=$!
	until_true 60 hangs && kill -TERM "$run" && until_true 20 ended "$run"
	status=$?
	pkill -KILL -s "$(< "$tmp/machine")"
	wait "$run"
	[ "$status $?" = "0 130" ] || { cat "$tmp/out"; return 1; }
}

# said LINE: of the verdict
said() {
	sed '1,/^Verdict:$/d' "$tmp/out" | grep -qx "$1" || { cat "$tmp/out"; return 1; }
}

boots() {
	wc -l < "$tmp/boots"
}

# The last line that was kept of unsteady tests, with | for the tabs
kept() {
	tail -n 1 "$tmp/build/selftests/unsteady" | tr '\t' '|'
}

# dealt COUNT: one a line
dealt() {
	[ "$("$tmp/selftests/run" --kernel 6.1 --deal | tee "$tmp/out" | wc -l)" -eq "$1" ] ||
		{ cat "$tmp/out"; return 1; }
}

plan 40
options=''
project
check "all is well" ran 0 "1 passed, 0 failed" --again -- good
check "a test that fails" ran 1 "2 passed, 1 failed" -- always good
check "is shown with what it is" said 'FAIL 6.1 suite/always: ends'
check "its log has its name" \
	grep -q "^not ok 2 - ends" "$tmp/build/selftests/log/6.1-suite-always.log"
check "no tests are a failure" ran 1 "1 passed, 1 failed" -- good nothing
check "and a repetition does not mend one that fails" \
	ran 1 "2 passed, 1 failed" --again -- always good
check "which has a machine of its own" test "$(boots)" -eq 2
check "one that fails once fails" ran 1 "2 passed, 1 failed" -- good once
check "and is unsteady if it is repeated" ran 0 "3 passed, 0 failed" --again -- good once
check "which is said" said 'unsteady 6.1 suite/once: .*/6.1-suite-once.log'
check "and kept" grep -Eqx '20[0-9T:+-]*\|[^|]+\|6.1\|suite/once\|.*suite-once.log\|ends' <(kept)
check "two may be" ran 0 "5 passed, 0 failed" --again -- good once twice
check "not three" ran 1 "5 passed, 3 failed" --again -- good once twice thrice
check "the third, too" said 'FAIL 6.1 suite/thrice: exit status 1'
check "a report of the kernel's" ran 1 "2 passed, 2 failed" --again -- good reports
check "is not repeated" test "$(boots)" -eq 1
check "and said" said 'FAIL 6.1 machine 1: .* 123, the kernel reported something'
check "even if all tests pass" ran 1 "3 passed, 1 failed" --again -- warns good
check "even in the repetition" ran 1 "2 passed, 2 failed" --again -- good later
check "a machine that dies" ran 1 "3 passed, 1 failed" -- dies good worse
check "is its test's failure" said 'FAIL 6.1 suite/dies: did not end, .* 125'
check "the rest has a new one" test "$(boots)" -eq 2
check "it may do so once" ran 0 "4 passed, 0 failed" --again -- dies good worse
check "a repetition can be interrupted" interrupted
options=unborn
check "a machine that never runs" ran 1 "0 passed, 3 failed" --again -- good worse
check "nor did its tests" said "FAIL 6.1 suite/worse: did not run"
check "is tried twice" test "$(boots)" -eq 2
check "or once, if nothing is repeated" ran 1 "0 passed, 3 failed" -- good worse
check "so it is" test "$(boots)" -eq 1
options=late
touch "$tmp/late"
check "one that comes up when it is tried again" ran 0 "2 passed, 0 failed" --again -- good worse
check "is unsteady" said 'unsteady 6.1 machine 1: did not come up, .*/6.1-machine-1.log'
touch "$tmp/late"
check "as test files are" ran 1 "2 passed, 3 failed" --again -- once twice
check "it counts with them" said '3 test files or machines were unsteady, more than 2: .*'
options=host
check "a machine of a test's own" ran 1 "1 passed, 1 failed" --again -- nested
options=''
echo 'default :good' > "$tmp/selftests/suite/config"
check "one machine for a test" dealt 1
for ((i = 0; i < 50; i++)); do
	ln -s good.sh "$tmp/selftests/suite/t$i.sh"
done
rm "$tmp/selftests/suite/config"
check "as many as the times ask for" dealt 2
printf '%s\n' 'end last : good worse' 'default : !good !worse' > "$tmp/selftests/suite/config"
check "what is last is so" grep -q 'suite:end/good$' <("$tmp/selftests/run" --kernel 6.1 --deal)
check "in a machine each" grep -q 'suite:end/worse$' <("$tmp/selftests/run" --kernel 6.1 --deal)
printf '50 6.1 suite:%s\n' default/t1 default/gone end/worse > "$tmp/selftests/times"
printf '@begin 6.1 suite:end/%s\n@end 0 %d\n' worse 3 good 77 > "$tmp/build/selftests/log/x.log"
check "times are saved" env BUILD="$tmp/build" "$tmp/selftests/run" --save-times
check "of what takes long, if it is a test" cmp "$tmp/selftests/times" - <<'EOT'
50 6.1 suite:default/t1
77 6.1 suite:end/good
EOT
finish
