# SPDX-License-Identifier: GPL-2.0
#
# make            what make install installs; make help tells more.
#
# Modules are built in build/<kernel>/, which mirrors the sources by symbolic
# links, so that several kernels can be built side by side and the source
# folders stay clean.

PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CFLAGS  ?= -O2 -g
# Virtual machines with tests that run at the same time: tests also wait.
JOBS    ?= $(shell echo $$(($$(nproc) * 3 / 2)))
# The suites or tests to run; all of them if it is empty.
ONLY    ?=
# Not empty: also the tests that take long.
ALL     ?=
# Seconds to fuzz; not empty: IPoIB instead of sdpdev.
TIME    ?= 600
IPOIB   ?=
# The only variant of the suites to run, of those in their files config.
VARIANT :=

include tools/lib/quiet.mk

KERNELS := 6.1 6.12
DEBUG   := debug
# What is newer than this machine's release has a compiler of its own.
NEWEST  := newest
CACHE   := $(or $(SDPDEV_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sdpdev)
override BUILD := $(if $(BUILD),$(abspath $(BUILD)),$(CURDIR)/build)

ifneq ($(words $(CURDIR)),1)
$(error The kernel's build system cannot build below a folder with a space in its name: $(CURDIR))
endif

# The release that the kernel whose build folder is $(1) calls itself.
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	'$(1)/include/generated/utsrelease.h' 2>/dev/null)

# Which kernel: KDIR (any kernel's build folder), KERNEL (one of $(KERNELS),
# from the cache), else the running one, if its headers are there.
ifdef KDIR
  KNAME := $(call release,$(KDIR))
  ifeq ($(KNAME),)
    $(error KDIR=$(KDIR) is not the build folder of a configured kernel)
  endif
else
  ifndef KERNEL
    KNAME := $(shell uname -r)
    KDIR  := /lib/modules/$(KNAME)/build
  endif
  ifdef KERNEL
    ifeq ($(filter $(KERNEL),$(KERNELS) $(NEWEST) $(DEBUG)),)
      $(error KERNEL=$(KERNEL) is not one of: $(KERNELS) $(NEWEST) $(DEBUG))
    endif
    KDIR  := $(CACHE)/kernel/$(KERNEL)/build
    KNAME := $(KERNEL)
    # The ones of binutils load every plugin there is, for every file; LLVM's are large.
    # Nor is there a vmlinux to take types from: it would be told for every module.
    KFLAGS := AR=gcc-ar-12 NM=gcc-nm-12 CONFIG_DEBUG_INFO_BTF_MODULES=
    # More warnings than by default: these kernels' headers give none of them. Types of
    # variables would take a fifth of the compiler's time; reports need files and lines.
    STRICT := W=1 KCFLAGS='-Werror -g1'
    ifeq ($(KERNEL),$(NEWEST))
      INSIDE := tools/lib/inside $(CACHE)/kernel/$(NEWEST)/root
      KFLAGS := CONFIG_DEBUG_INFO_BTF_MODULES= $(STRICT)
    else ifeq ($(KERNEL),$(DEBUG))
      # kcov for the project's modules, gcov if what runs is counted, and UBSAN.
      KFLAGS += CC=gcc-12 KCOV_INSTRUMENT=y UBSAN_SANITIZE=y $(GCOV:%=GCOV_PROFILE=%)
    else
      KFLAGS += $(STRICT)
    endif
  endif
endif

# Folders with modules; make MODDIRS=... builds only some.
MODDIRS  := tools/softib tools/fuzz/quick ipoib sdpdev selftests/vm/provoke selftests/wire/answer \
	    selftests/softib/late selftests/lib/slow selftests/ipoib/hold selftests/ipoib/moderate \
	    selftests/ipoib/object selftests/ipoib/opa selftests/ipoib/poor selftests/sdp/local \
	    selftests/sock/carrier
# Once is enough.
ifeq ($(KERNEL),6.1)
  MODDIRS += selftests/ipoib/logged
endif
PROGRAMS := $(patsubst %/Makefile,%,$(wildcard libsdpdev/Makefile libsdpmcast/Makefile tools/*/Makefile))
SUITES   := $(patsubst %/Makefile,%,$(wildcard selftests/*/Makefile))
TESTS    := $(patsubst %.c,$(BUILD)/%,$(filter-out $(SUITES:%=%/%),$(wildcard selftests/*/*.c)))

# What make install installs; the fabric is a test tool.
INSTALLED_MODDIRS  := ipoib sdpdev
INSTALLED_PROGRAMS := libsdpdev tools/sdpstat tools/sdpctl

.PHONY: all modules mirror setup setup-demo setup-check setup-long setup-lint user tests check \
	check-debug check-oracle everything fuzz coverage lint demo bench bench-gate install \
	install-modules install-user uninstall \
	clean help $(PROGRAMS) $(SUITES)

all:
	+@$(MAKE) --no-print-directory modules MODDIRS='$(INSTALLED_MODDIRS)'
	+@$(MAKE) --no-print-directory $(INSTALLED_PROGRAMS)

# --- kernel modules ---------------------------------------------------------

ifeq ($(KERNEL)$(wildcard $(KDIR)/Makefile),)
# Not another kernel's instead: make install would install it for that one.
$(KDIR)/Makefile:
	@echo 'The headers of the running kernel are not installed: install' \
		'linux-headers-$(KNAME) (Debian, Ubuntu) or' \
		'kernel-devel-$(KNAME) (Fedora, RHEL).' >&2
	@echo 'For another kernel: make help' >&2
	@exit 1
endif

# One build of a kernel's modules at a time.
modules: $(KDIR)/Makefile mirror
	+@flock $(BUILD)/$(KNAME)/.lock $(INSIDE) $(MAKE) --no-print-directory \
		-C $(KDIR) M=$(BUILD)/$(KNAME) MODDIRS="$(MODDIRS)" $(KFLAGS) modules

# Links what is new, forgets what is gone. A build beside this one has files that come and go.
mirror:
	@mkdir -p $(BUILD)/$(KNAME)
	@for f in Kbuild VERSION $$(find include uapi $(MODDIRS) \
			-name '*.[chS]' -o -name Kbuild); do \
		t=$(BUILD)/$(KNAME)/$$f; \
		[ $$t -ef $$f ] || { mkdir -p $${t%/*} && ln -sfn $(CURDIR)/$$f $$t; }; \
	done
	@flock $(BUILD)/$(KNAME)/.lock find $(BUILD)/$(KNAME) -xtype l -delete

$(CACHE)/kernel/%/build/Makefile:
	tools/setup kernel $*

# --- programs ---------------------------------------------------------------

user: $(PROGRAMS) tests

tools/bench: libsdpdev libsdpmcast

$(PROGRAMS):
	@mkdir -p $(BUILD)/$@
	+@$(MAKE) --no-print-directory -C $@ O=$(BUILD)/$@ PREFIX=$(PREFIX)

# A suite that needs more than one file for a program has its own Makefile.
tests: $(TESTS) $(SUITES)

$(SUITES): libsdpdev
	@mkdir -p $(BUILD)/$@
	+@$(MAKE) --no-print-directory -C $@ O=$(BUILD)/$@

$(BUILD)/selftests/%: selftests/%.c $(wildcard uapi/linux/*.h)
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CFLAGS) -Wall -Wextra -Werror -Iuapi -o $@ $< -lpthread

# Programs of 32 bits have the same structures.
$(BUILD)/selftests/sdp/abi: $(BUILD)/selftests/sdp/layout

$(BUILD)/selftests/sdp/layout: selftests/sdp/layout.h $(wildcard uapi/linux/*.h)
	@mkdir -p $(@D)
	$(call quiet,CC)gcc -m32 -fsyntax-only -Iuapi -x c $< \
		-idirafter /usr/include/$$(gcc -print-multiarch)
	@touch $@

# --- what people run --------------------------------------------------------

setup:
	@tools/setup

setup-demo setup-check setup-long setup-lint: setup-%:
	@tools/setup $*

# The long tests need more packages.
# The newest kernel runs a few of each part; tests that are named only if it is, too:
# selftests/run --kernel newest sock/moves.
check: $(if $(ALL),setup-long,setup-check)
	$(if $(ONLY)$(VARIANT),,tools/setup kernel $(NEWEST))
	+for k in $(KERNELS) $(if $(ONLY)$(VARIANT),,$(NEWEST)); do \
		$(MAKE) --no-print-directory modules KERNEL=$$k || exit; done
	+$(MAKE) --no-print-directory user
	selftests/run --again $(VARIANT:%=--variant %) $(ALL:%=--all) --jobs $(JOBS) $(ONLY)

check-oracle: VARIANT := oracle
check-oracle: check

check-debug: $(if $(ALL),setup-long,setup-check)
	tools/setup kernel $(DEBUG)
	+$(MAKE) --no-print-directory modules KERNEL=$(DEBUG)
	+$(MAKE) --no-print-directory user
	selftests/run --again --kernel $(DEBUG) $(ALL:%=--all) --jobs $(JOBS) $(ONLY)

# For every kernel that the tests run on.
everything:
	+for k in $(KERNELS) $(NEWEST) $(DEBUG); do \
		$(MAKE) --no-print-directory modules KERNEL=$$k || exit; done
	+$(MAKE) --no-print-directory user

fuzz: setup-check
	tools/setup kernel $(DEBUG)
	+$(MAKE) --no-print-directory modules KERNEL=$(DEBUG)
	+$(MAKE) --no-print-directory user
	tools/fuzz/run $(if $(IPOIB),--ipoib) --time $(TIME)

# In a folder of its own: the library counts, too. Of the tests that take long those that
# run what no other does.
COUNTED = BUILD=$(BUILD)/coverage KERNEL=$(DEBUG) GCOV=y
COVERING := apps fail fuzz ipoib lifetime sdp softib wire lib/oracle joined \
	    $(addprefix ipoib/,admin bond child connected debugfs events guid hostile mcast nosrq \
		queues rings stuck tcp vf) \
	    $(addprefix softib/,capture configfs counters events faults gone manage many params rc \
		topology tree uc ud udp)
coverage: setup-check
	tools/setup kernel $(DEBUG)
	+$(MAKE) --no-print-directory modules $(COUNTED)
	+$(MAKE) --no-print-directory libsdpdev $(COUNTED) CFLAGS='-O1 -g --coverage' \
		LDFLAGS=--coverage
	+$(MAKE) --no-print-directory user $(COUNTED) LDFLAGS=--coverage
	BUILD=$(BUILD)/coverage selftests/run --kernel $(DEBUG) $(ALL:%=--all) --coverage \
		--jobs $(JOBS) $(or $(ONLY),$(if $(ALL),,$(COVERING))) || \
		echo 'coverage: some tests failed'
	BUILD=$(BUILD)/coverage tools/coverage report

lint: setup-lint
	tools/lint

# Only what it shows is built, on all processors.
demo: setup-demo
	+@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) \
		modules libsdpdev tools/sdpstat tools/sdpctl tools/vm KERNEL=$(firstword $(KERNELS)) \
		MODDIRS='tools/softib ipoib sdpdev'
	@tools/vm/run --guest demo --nodes 2 -- tools/demo

bench bench-gate: setup-check
	+$(MAKE) --no-print-directory modules user KERNEL=$(firstword $(KERNELS))
	tools/bench/run $(if $(filter bench-gate,$@),--short --gate) $(ONLY)

install: install-modules install-user

# By the kernel's build system, which signs and compresses as the kernel is configured.
# Distributions do not ship their key, and without it nothing is signed. The modules' own folder
# comes before the kernel's.
MODULE_KEY = $(shell sed -n 's|^CONFIG_MODULE_SIG_KEY="\([^/:][^:]*\)"|\1|p' $(KDIR)/.config)
UNSIGNED = $(if $(MODULE_KEY),$(if $(wildcard $(KDIR)/$(MODULE_KEY)),,CONFIG_MODULE_SIG_ALL=))
install-modules:
	+@$(MAKE) --no-print-directory modules MODDIRS='$(INSTALLED_MODDIRS)'
	+@flock $(BUILD)/$(KNAME)/.lock $(INSIDE) $(MAKE) --no-print-directory \
		-C $(KDIR) M=$(BUILD)/$(KNAME) MODDIRS='$(INSTALLED_MODDIRS)' $(KFLAGS) \
		INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 \
		DEPMOD=true $(UNSIGNED) modules_install
	$(if $(DESTDIR),,depmod $(call release,$(KDIR)))

install-user: $(INSTALLED_PROGRAMS)
	+@for d in $(INSTALLED_PROGRAMS) tools/system; do \
		$(MAKE) --no-print-directory -C $$d O=$(BUILD)/$$d PREFIX=$(PREFIX) \
			DESTDIR=$(DESTDIR) install || exit; done

# What make install would write goes; a folder goes if it is the project's and empty.
uninstall:
	@rm -rf $(BUILD)/uninstall
	+@$(MAKE) -s --no-print-directory install DESTDIR=$(BUILD)/uninstall > /dev/null
	@cd $(BUILD)/uninstall && \
		find . -type f -o -type l | while read -r f; do rm -fv "$(DESTDIR)/$$f"; done && \
		find . -depth -type d \( -path '*/sdpdev*' -o -path '*/updates*' \) | \
		while read -r d; do rmdir "$(DESTDIR)/$$d" 2> /dev/null || :; done
	@rm -rf $(BUILD)/uninstall
	$(if $(DESTDIR),,depmod $(call release,$(KDIR)))

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                 build what make install installs: modules for the running kernel,'
	@echo '                     the library, sdprun, sdpstat, sdpctl'
	@echo '     KDIR=FOLDER     for the kernel built in FOLDER'
	@echo '     KERNEL=6.12     for a kernel of the tests: $(KERNELS) $(NEWEST) $(DEBUG)'
	@echo 'make install         build and install it, with the manual pages (also install-modules,'
	@echo '                     install-user)'
	@echo '     PREFIX=/usr     below this folder (/usr/local); LIBDIR=, DESTDIR='
	@echo 'make uninstall       remove these files; with the same PREFIX=, LIBDIR=, DESTDIR='
	@echo 'make modules         build all modules, with those of the tests; KDIR=, KERNEL='
	@echo '     W=1 C=1         with more warnings (as KERNEL=6.1 has them), with sparse'
	@echo 'make user            build all programs, with those of the tests'
	@echo '     V=1             these and other targets print whole commands'
	@echo 'make demo            see SDP carry a file between two nodes of the virtual fabric'
	@echo 'make setup           install the packages that the targets below need'
	@echo 'make check           build for all kernels, run the tests in the VM'
	@echo 'make check-debug     the same on the checked kernel (KASAN, lockdep, kmemleak)'
	@echo '     ALL=1           also the tests that take long: hours'
	@echo 'make check-oracle    the tests of IPoIB on the kernel'"'"'s own driver, its oracle'
	@echo "     ONLY='sdp ipoib/ping'  only these suites or tests"
	@echo 'make fuzz TIME=600   fuzz sdpdev for so many seconds, guided by coverage; IPOIB=1:'
	@echo '                     fuzz the files and messages of IPoIB instead'
	@echo 'make coverage        show which lines and branches the tests run on that kernel; takes ONLY'
	@echo '                     and ALL'
	@echo 'make bench           measure what a byte, a message, a connection costs over SDP and others'
	@echo "     ONLY='joined stream-64k'  only these contestants and rows"
	@echo 'make bench-gate      fail if a cost has risen; a small set'
	@echo 'make lint            static checks'
	@echo 'make clean           remove build/'
