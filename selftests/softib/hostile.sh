#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Users of verbs who mean harm.

. "$(dirname "$0")/lib.sh"

on_fabric 0 hostile "$(fewer 200)"
