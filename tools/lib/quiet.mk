# SPDX-License-Identifier: GPL-2.0
#
# $(call quiet,CC)COMMAND prints one short line for the command, with the target's name.
# $(Q)COMMAND prints none. With V=1 make prints both commands whole; with -s, neither.

quiet_top := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)
ifeq ($(filter 1,$(V)),1)
  quiet =
  Q    :=
else ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
  quiet = @
  Q    := @
else
  quiet = @printf '  %-7s %s\n' '$(1)' '$(@:$(quiet_top)/%=%)' &&
  Q    := @
endif
