#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Queues asked for in ways that libibverbs does not know.

. "$(dirname "$0")/lib.sh"

on_fabric 0 queues
