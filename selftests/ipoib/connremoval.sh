#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# removal.sh in connected mode.

MODE=connected exec "$(dirname "$0")/removal.sh"
