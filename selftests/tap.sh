# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests in shell: results in the Test Anything Protocol.
#
#	. "$(dirname "$0")/../tap.sh"
#	plan 2
#	check "a node answers" ping -c 1 node2
#	[ "$(cat file)" = text ]; result $? "the file holds the text"
#	finish

. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib/wait.sh"

tap_number=0
tap_failed=0

# plan N: how many results follow.
plan() {
	echo "1..$1"
}

# diag TEXT...: something for the reader of a failure.
diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# result STATUS NAME: passed if STATUS is 0.
result() {
	tap_number=$((tap_number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_number - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_number - $2"
	fi
}

# check NAME COMMAND...: passed if COMMAND succeeds; its output is shown if not.
check() {
	tap_name=$1
	shift
	tap_output=$("$@" 2>&1)
	tap_status=$?
	[ $tap_status -eq 0 ] || diag "$* => $tap_status
$tap_output"
	result $tap_status "$tap_name"
}

# How many times slower the kernel is if it checks itself, and how many microseconds
# there are at least between two looks
tap_slow=1 tap_nap=50000
[ "$KERNEL" != debug ] || tap_slow=5 tap_nap=200000

# fewer N: as many as take the time of N on an ordinary kernel
fewer() {
	echo $((($1 + tap_slow - 1) / tap_slow))
}

# until_true SECONDS COMMAND...: runs COMMAND until it succeeds, for as long as
# those would be on an ordinary kernel; twice that, as others may run beside it.
until_true() {
	local end=$((SECONDS + 2 * $1 * tap_slow)) start=${EPOCHREALTIME//[.,]/}

	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return
		nap_since "$start"
		start=${EPOCHREALTIME//[.,]/}
	done
}

# nap_since MICROSECONDS: about as long as it took since then, lest looking take more
# of the machine than what is waited for
nap_since() {
	local took=$((${EPOCHREALTIME//[.,]/} - $1))

	[ $took -ge $tap_nap ] || took=$tap_nap
	[ $took -le $((5 * tap_nap)) ] || took=$((5 * tap_nap))
	printf -v took '%d.%06d' $((took / 1000000)) $((took % 1000000))
	nap "$took"
}

# slowly FUNCTION MICROSECONDS COMMAND...: while each call of the kernel's function takes
# so much longer. Fails if there was none.
slowly() {
	local status calls=0

	insmod "$BUILD/$KERNEL/selftests/lib/slow/slow.ko" function="$1" us="$2" || return
	"${@:3}"
	status=$?
	read -r calls < /sys/module/slow/parameters/calls
	rmmod slow
	[ $status -eq 0 ] && [ "$calls" -gt 0 ]
}

# within PREFIX COMMAND...: a program's results as lines behind a prefix, renumbered; the
# caller has to plan for as many as there are
within() {
	local prefix=$1 line name

	shift
	while read -r line; do
		name=${line#* - }
		case $line in
		'ok '*) result 0 "$prefix: $name" ;;
		'not ok '*) result 1 "$prefix: $name" ;;
		'1..'*|TAP*) ;;
		*) echo "$line" ;;
		esac
	done < <("$@" 2>&1)
}

# no_autoload: the kernel looks for no module whose name a program asks for, until autoload().
# The look waits for the host, and where time is counted that may take any of the guest's.
no_autoload() {
	tap_modprobe=$(< /proc/sys/kernel/modprobe)
	echo > /proc/sys/kernel/modprobe
}

autoload() {
	echo "$tap_modprobe" > /proc/sys/kernel/modprobe
}

# finish: the exit status of the test file.
finish() {
	[ $tap_failed -eq 0 ]
	exit
}
