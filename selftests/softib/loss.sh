#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Of every fifty packets one is lost: all is done that was asked for, once.

. "$(dirname "$0")/lib.sh"

on_fabric 20000 rc loss
