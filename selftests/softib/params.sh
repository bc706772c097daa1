#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Module parameters, good and bad.

. "$(dirname "$0")/lib.sh"

# refused MESSAGE PARAMETER...: the module does not load, and says why.
refused() {
	dmesg -C
	insmod "$module" "${@:2}" 2> /dev/null && { rmmod softib; return 1; }
	dmesg | grep -F "$1"
}

# loads_with DEVICES PARAMETER...
loads_with() {
	local devices

	insmod "$module" "${@:2}" || return
	devices=$(find "$hcas"/ -name 'softib*' | wc -l)
	rmmod softib
	[ "$devices" -eq "$1" ]
}

# one_line HCAS: the log has one that says what was made.
one_line() {
	dmesg -C
	insmod "$module" hcas="$1" && rmmod softib || return
	[ "$(dmesg | grep 'softib: version' | grep -c "version [0-9.]*, $1 HCAs\$")" -eq 1 ]
}

# srq_is WANT DEVICE: what there is, and what comes of asking for one.
srq_is() {
	local got

	got=$("$programs/srq" "$2") && echo "$got" && [ "$got" = "$1" ]
}

# with_srq WANT PARAMETER...
with_srq() {
	local status

	insmod "$module" hcas=1 "${@:2}" || return
	srq_is "$1" softib0
	status=$?
	rmmod softib
	return "$status"
}

# later: an HCA that is made after a change, and one from before
later() {
	echo N > "$parameters/srq" && add_hca late &&
	srq_is "0 Operation not supported" late && srq_is "65536 done" softib0 &&
	rmdir "$conf/hcas/late"
}

# pkeys_are N: a port has so many, and the adapter, the port and the SMA agree.
pkeys_are() {
	local port=$hcas/softib0/ports/1

	[ "$(find "$port/pkeys" -type f | wc -l)" -eq "$1" ] &&
	smpquery -C softib0 -D nodeinfo 0 | grep "PartCap:[.]*$1\$" &&
	ibv_devinfo -v -d softib0 | grep "max_pkeys:[[:space:]]*$1\$" &&
	[ "$(< "$port/pkeys/0")" = 0xffff ]
}

# with_pkeys N
with_pkeys() {
	local status

	insmod "$module" hcas=1 pkeys="$1" || return
	pkeys_are "$1"
	status=$?
	rmmod softib
	return "$status"
}

plan 32

check "65 HCAs are too many" refused "hcas=65 is not in the range 0 to 64" \
	hcas=65
check "2^32 - 1 as well" refused "is not in the range" hcas=4294967295
check "a negative number" refused "invalid for parameter" hcas=-1
check "no number" refused "invalid for parameter" hcas=two
check "an MTU of 0" refused "ib_mtu=0 is not 256, 512" ib_mtu=0
check "of 128" refused "ib_mtu=128 is not" ib_mtu=128
check "of 1500" refused "ib_mtu=1500 is not" ib_mtu=1500
check "of 8192" refused "ib_mtu=8192 is not" ib_mtu=8192
check "a loss of more than all" refused "loss is in packets per million" \
	loss=1000001
check "a loss that is no number" refused "loss is in packets per million" \
	loss=1%
check "sends in no piece" refused "invalid for parameter" send_sge=0
check "in 33 of them" refused "invalid for parameter" send_sge=33

check "no P_Key" refused "invalid for parameter" pkeys=0
check "half a block of P_Keys" refused "invalid for parameter" pkeys=48
check "more than the specification allows" refused "invalid for parameter" pkeys=65536

check "two HCAs, if nobody says anything" loads_with 2
check "none" loads_with 0 hcas=0
check "one" loads_with 1 hcas=1
check "the log says how many" one_line 3
check "the smallest MTU" loads_with 2 ib_mtu=256
check "the largest, and loss" loads_with 2 ib_mtu=4096 loss=1000000
check "shared receive queues" with_srq "65536 done"
check "none, if there shall be none" with_srq "0 Operation not supported" srq=N
check "poor ones have none either" with_srq "0 Operation not supported" poor=Y
check "one block of P_Keys" with_pkeys 32
check "four" with_pkeys 128
check "two thousand P_Keys" with_pkeys 2016

insmod "$module"
echo 12345 > $parameters/loss
[ "$(< $parameters/loss)" = 12345 ]
result $? "loss can be changed"
not sh -c "echo 1000001 > $parameters/loss" 2> /dev/null
result $? "but not to nonsense"
[ "$(< $parameters/loss)" = 12345 ]
result $? "which leaves it as it was"
not sh -c "echo 1 > $parameters/hcas" 2> /dev/null
result $? "the number of HCAs cannot be changed"
check "they can be taken away from HCAs that are made later" later
rmmod softib

finish
