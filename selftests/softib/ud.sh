#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Datagrams and multicast, rule by rule.

. "$(dirname "$0")/lib.sh"

on_fabric 0 ud
