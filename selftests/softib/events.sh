#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Events, completion queues and shared receive queues.

. "$(dirname "$0")/lib.sh"

on_fabric 0 events
