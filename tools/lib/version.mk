# SPDX-License-Identifier: GPL-2.0
#
# VERSION is that of all modules, tools and manual pages; the file of this name has it.
# $(call manuals,PAGES) installs manual pages, with the version, below MANDIR.

VERSION := $(shell cat $(dir $(lastword $(MAKEFILE_LIST)))../../VERSION)

manuals = for page in $(1); do \
	folder=$(DESTDIR)$(MANDIR)/man$${page\#\#*.}; \
	install -d $$folder && sed 's/@VERSION@/$(VERSION)/' $$page | \
		install -m 644 /dev/stdin $$folder/$${page\#\#*/} || exit; done
