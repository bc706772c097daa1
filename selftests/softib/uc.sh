#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unreliable connections, rule by rule.

. "$(dirname "$0")/lib.sh"

on_fabric 0 uc
