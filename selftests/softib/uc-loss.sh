#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Of every fifty packets one is lost: the message that it was part of is, too.

. "$(dirname "$0")/lib.sh"

on_fabric 20000 uc loss
