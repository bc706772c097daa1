# SPDX-License-Identifier: GPL-2.0
#
# A program and its manual page of section 8, into the folder O. The Makefile that includes this
# names PROGRAM, SOURCES, HEADERS and, if need be, where it goes (BINDIR) and more FLAGS.

O       ?= $(CURDIR)/../../build/tools/$(PROGRAM)
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CFLAGS  ?= -O2 -g

include ../lib/quiet.mk
include ../lib/version.mk

BINDIR  ?= bin
MANDIR  ?= $(PREFIX)/share/man
ALL     := -std=gnu11 -I../../uapi $(FLAGS) -Wall -Wextra -Werror -DVERSION='"$(VERSION)"' \
	   $(CPPFLAGS) $(CFLAGS)

$(O)/$(PROGRAM): $(SOURCES) $(HEADERS) Makefile ../lib/program.mk ../../VERSION $(O)/prefix
	$(call quiet,CC)$(CC) $(ALL) $(LDFLAGS) -o $@ $(SOURCES) -lmnl

# Newer than the program if PREFIX has changed.
$(O)/prefix: FORCE
	@mkdir -p $(O)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@

install: $(O)/$(PROGRAM)
	install -D -m 755 $(O)/$(PROGRAM) $(DESTDIR)$(PREFIX)/$(BINDIR)/$(PROGRAM)
	$(call manuals,../../Documentation/man/$(PROGRAM).8)

clean:
	rm -rf $(O)

FORCE:

.PHONY: install clean FORCE
