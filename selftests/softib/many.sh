#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# As many HCAs as there can be, under opensm.

. "$(dirname "$0")/lib.sh"

plan 6

check "64 HCAs" insmod "$module" hcas=64
manage -g 0x0253494200000101
check "come up" until_true 120 all_active 64
# It does not answer before it is done with all that there is.
check "are known to the subnet manager" until_true 20 sh -c \
	"saquery NR | grep -c NodeDescription | grep -x 65"
check "have a LID each" test \
	"$(cat $hcas/softib*/ports/1/lid | sort -u | wc -l)" -eq 64
check "a 65th is one too many" sh -c \
	"mkdir $conf/hcas/one 2>&1 | grep 'No space left'"
unmanage
check "and go" rmmod softib

finish
