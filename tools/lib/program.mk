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

VERSION := 0.1.0
BINDIR  ?= bin
MANDIR  ?= $(PREFIX)/share/man
ALL     := -std=gnu11 -I../../uapi $(FLAGS) -Wall -Wextra -Werror -DVERSION='"$(VERSION)"' \
	   $(CPPFLAGS) $(CFLAGS)

$(O)/$(PROGRAM): $(SOURCES) $(HEADERS) Makefile ../lib/program.mk
	@mkdir -p $(O)
	$(call quiet,CC)$(CC) $(ALL) $(LDFLAGS) -o $@ $(SOURCES) -lmnl

install: $(O)/$(PROGRAM)
	install -D -m 755 $(O)/$(PROGRAM) $(DESTDIR)$(PREFIX)/$(BINDIR)/$(PROGRAM)
	install -D -m 644 ../../Documentation/man/$(PROGRAM).8 \
		$(DESTDIR)$(MANDIR)/man8/$(PROGRAM).8

clean:
	rm -rf $(O)

.PHONY: install clean
