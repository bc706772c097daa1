#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of SDP write down what their socket calls gave:
# over TCP first, then the same programs over SDP.  Each line is a test: it must
# read the same.  "mapped" is IPv4 by IPv6 sockets, "32-bit" are programs for i386,
# "64-bit times" those of them that are built with such; "fallen back" is where SDP
# cannot go, so that TCP carries the connections after all.  The variant "rings" is IPv4
# again, with rings in every connection from the first call on.

. "$(dirname "$0")/tap.sh"

ORACLES=(names stream ends keep files urgent options events control again every defer woken
	ports waits busy limit)
declare -A ADDRESS=([IPv4]=10.77.0.2 [IPv6]=fd77::2 [mapped]=::ffff:10.77.0.2
	[32-bit]=10.77.0.2 [64-bit times]=10.77.0.2 [fallen back]=127.0.0.1
	[rings]=10.77.0.2)

declare -A FOLDER=([32-bit]=32/ [64-bit times]=time64/)

# transcript FAMILY NAME OUTPUT [RUNNER]
transcript() {
	local nodes=(node2 node1)

	[ "$1" != 'fallen back' ] || nodes=()
	"${@:4}" "$BUILD/selftests/lib/${FOLDER[$1]}oracle/$2" "${ADDRESS[$1]}" "${nodes[@]}" \
		> "$3" 2> "$3.err"
}

# programs FAMILY: those to run
programs() {
	case $1 in
	mapped) echo names stream ends keep again ;;
	32-bit) echo names stream ends keep files urgent options events control again defer \
		woken ports waits busy limit ;;
	'64-bit times') echo names stream files options ;;
	'fallen back') echo names stream ends keep files urgent events control again every \
		defer woken waits busy limit ;;
	IPv4) echo "${ORACLES[@]}" pointers ;;
	*) echo "${ORACLES[@]}" ;;
	esac
}

# carried FAMILY FILE: whether every connection went over what it should.
carried() {
	local right=SDP wrong=TCP

	[ "$1" != 'fallen back' ] || { right=TCP; wrong=SDP; }
	grep -q "over $right" "$2" && ! grep -q "over $wrong" "$2"
}

device=$(stat -c '%a %u %g' /dev/sdp)
families=(IPv4 IPv6 mapped 32-bit '64-bit times' 'fallen back')
# The checked kernel runs no programs for i386: they cannot be executed there.
if [ -e /sys/kernel/debug/kcov ]; then
	status=0
	"$BUILD/selftests/lib/32/oracle/names" > /dev/null 2>&1 || status=$?
	if [ $status -eq 126 ]; then
		families=(IPv4 IPv6 mapped 'fallen back')
		echo '# no 32-bit programs: this kernel does not execute them (IA32_EMULATION)'
	fi
fi

# config says on which kernels: they are the same on all.
rings=0
[ "$VARIANT" != rings ] || { families=(rings); rings=1; }

runs=()
total=0
for family in "${families[@]}"; do
	for name in $(programs "$family"); do
		transcript "$family" "$name" "$WORK/$family.$name.tcp" ||
			bail "$name over TCP and $family: $(tail -n 1 "$WORK/$family.$name.tcp")"
		runs+=("$name $family")
		total=$((total + 1 + $(wc -l < "$WORK/$family.$name.tcp")))
	done
done
plan $((total + 1 + rings))

for run in "${runs[@]}"; do
	read -r name family <<< "$run"
	tcp=$WORK/$family.$name.tcp
	sdp=$WORK/$family.$name.sdp
	when=auto
	[ "$family" != rings ] || when=always
	SDPDEV_RINGS=$when SDPDEV_DEBUG=1 transcript "$family" "$name" "$sdp" "$SDPRUN" --endpoint
	echo "# $family, $name: exit status $?"
	while IFS= read -r want <&3; do
		IFS= read -r got <&4 || got='(nothing)'
		same=0
		[ "$want" = "$got" ] || same=1
		result $same "$family, $name: $want"
		[ $same -eq 0 ] || echo "# got: $got"
	done 3< "$tcp" 4< "$sdp"

	carried "$family" "$sdp.err"
	status=$?
	result $status "$family, $name: the right carrier for every connection"
	[ $status -eq 0 ] || diag "$sdp.err"
done
if [ $rings -eq 1 ]; then
	grep -q '^mapped: [1-9]' "$WORK/rings.busy.sdp.err"
	result $? 'there were rings'
fi
# Some of them change the mode and the owner of what they take for their socket.
[ "$(stat -c '%a %u %g' /dev/sdp)" = "$device" ] && [[ $device = '666 '* ]]
result $? 'the device is everybody'"'"'s as before'
finish
