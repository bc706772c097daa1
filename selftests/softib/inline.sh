#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inline data.

. "$(dirname "$0")/lib.sh"

on_fabric 0 inline
