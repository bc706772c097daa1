#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the pages claim of the tree: names of tests, files, settings, parameters, options, counters
# and tracepoints; the README's figure; and what CONTRIBUTING says of the sources.

. "$(dirname "$0")/../tap.sh"

cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
readmes='README.md CONTRIBUTING.md SECURITY.md'
pages=$(echo Documentation/*.rst)
manuals=$(echo Documentation/man/*.[0-9])

# none WORD...: of what is wrong there is nothing.
none() {
	echo "$*"
	[ $# -eq 0 ]
}

# texts FILE...: manual pages without their hyphens' backslashes, and all others
texts() {
	sed 's/\\-/-/g; s/\\f[BIPR]//g' "$@"
}

# without FILE...: of the words of standard input those that none of the files has
without() {
	local text word

	text=$(texts "$@")
	while read -r word; do
		grep -qwF -e "$word" <<< "$text" || echo "$word"
	done
}

# A connection that lasts, in memory: how many percent fewer instructions, at least and at most
figures() {
	local range

	range=$(awk -F '\t' '
		$3 !~ /^instructions/ || $2 ~ /[.](median|p99)$/ ||
			$2 ~ /^(connect|nginx)$/ { next }
		$1 == "tcp-veth" { tcp[$2] = $4 }
		$1 == "moved-veth" { moved[$2] = $4 }
		END {
			least = 100
			for (row in moved) {
				saved = 100 * (1 - moved[row] / tcp[row])
				least = saved < least ? saved : least
				most = saved > most ? saved : most
			}
			printf "%.0f to %.0f %%", least, most
		}' tools/bench/figures.tsv)
	echo "$range"
	tr '\n' ' ' < README.md | grep -qF "takes $range fewer instructions"
}

# shellcheck disable=SC2046,SC2086 # one argument a word, here and below
named_tests() {
	local suites

	suites=$(find selftests -mindepth 1 -maxdepth 1 -type d -printf '%f|')
	none $(grep -ohE "\`\`(${suites%|})/[a-z0-9]+\`\`" $pages | tr -d '\140' | sort -u |
		grep -vx lib/modules |
		while read -r name; do
			[ -e "selftests/$name.sh" ] || [ -e "selftests/$name.c" ] ||
				[ -d "selftests/$name" ] || echo "$name"
		done)
}

# shellcheck disable=SC2046,SC2086
links() {
	none $(grep -ohE '\]\([^)#:]+' $readmes | sed 's/.*(//' | sort -u |
		while read -r file; do [ -e "$file" ] || echo "$file"; done)
}

# shellcheck disable=SC2046
index() {
	none $(cd Documentation && printf '%s\n' *.rst | grep -vx -e index.rst |
		without index.rst)
}

# shellcheck disable=SC2046,SC2086
settings() {
	local own

	own=$(sed -nE 's/.*SDP_NET_FILE\(([a-z_]+),.*/\1/p; s/.*procname = "([a-z]+)".*/\1/p' \
		sdpdev/offload/net.c | sort)
	[ "$(wc -w <<< "$own")" -gt 8 ] &&
	none $(without Documentation/man/sdp_sock.7 <<< "$own") \
		$(without Documentation/sockets.rst <<< "$own") \
		$(texts $readmes $pages $manuals | grep -ohE 'net\.sdp\.[a-z_]+' |
			sed 's/.*\.//' | sort -u | grep -vxF "$own")
}

# parameters MODULE PAGE
# shellcheck disable=SC2046
parameters() {
	local all

	all=$(modinfo -F parm "$build/$KERNEL/$1" | cut -d : -f 1) && [ -n "$all" ] &&
	none $(without "$2" <<< "$all")
}

all_parameters() {
	parameters sdpdev/sdpdev.ko Documentation/man/sdp.4 &&
	parameters sdpdev/sdp_ib.ko Documentation/man/sdp.4 &&
	parameters sdpdev/sdp_rdma.ko Documentation/man/sdp.4 &&
	parameters ipoib/ib_ipoib.ko Documentation/man/ib_ipoib.4 &&
	parameters tools/softib/softib.ko Documentation/man/softib.4
}

# shellcheck disable=SC2046
options() {
	local tool

	for tool in sdpstat sdpctl; do
		none $("$build/tools/$tool/$tool" --help | grep -oE -e '--[a-z-]+' | sort -u |
			without "Documentation/man/$tool.8") || return
	done
}

# shellcheck disable=SC2046,SC2086
vm_options() {
	local help

	help=$(tools/vm/run --help)
	none $(sed ':join; /\\$/ { N; s/\\\n//; b join }' $readmes $pages |
		sed -nE 's/.*tools\/vm\/run (.*)/\1/p' | sed 's/ -- .*//' |
		grep -oE -e '--[a-z][a-z-]+' | sort -u |
		while read -r option; do
			grep -qwF -e "$option" <<< "$help" || echo "$option"
		done)
}

# The words of the kernel's own tables; those with a beginning that is documented are a kind.
# shellcheck disable=SC2046
counters() {
	local all

	all=$(sed -nE -e 's/.*\][[:space:]]*= "([a-z_]+)",/\1/p' \
		-e 's/.*line\(seq, "([a-z_]+[a-z])", "".*/\1/p' \
		sdpdev/front/dev/proc.c
		sed -nE 's/.*\][[:space:]]*= "((ib|rdma)_[a-z_]+)",/\1/p' sdpdev/transport/*/dev.c)
	[ "$(wc -w <<< "$all")" -gt 30 ] &&
	none $(sed -E '/^(bad|refused)_/d' <<< "$all" |
		without Documentation/s{dpdev,ockets,dp_ib,dp_rdma}.rst)
}

# shellcheck disable=SC2046
tracepoints() {
	none $(sed -nE -e 's/^DEFINE_EVENT\(sdp_sock_way, ([a-z_]+),/\1/p' \
		-e 's/^TRACE_EVENT\((.*),/\1/p' \
		sdpdev/offload/trace.h | without Documentation/sockets.rst) &&
	none $(sed -nE 's/^TRACE_EVENT_CONDITION\((.*),/\1/p' sdpdev/transport/verbs/trace.h |
		without Documentation/sdp_ib.rst) &&
	none $(sed -nE 's/^TRACE_EVENT\((ipoib_[a-z_]+),/\1/p' ipoib/trace.h |
		without Documentation/ipoib.rst)
}

# shellcheck disable=SC2046
ethtool_counters() {
	local all

	all=$(sed -nE 's/.*\][[:space:]]*= "([rt]x_[a-z_]+)",/\1/p' ipoib/ethtool.c)
	[ "$(wc -w <<< "$all")" -gt 10 ] && none $(without Documentation/ipoib.rst <<< "$all")
}

# What the picture of ib_ipoib's files has, each with its line, and the functions that the files
# have (T) and call (U)
ipoib_calls() {
	local file

	sed -n '/^Calls go down/,/^If a file/{/^    /p}' Documentation/ipoib-inside.rst |
		awk '{ for (i = 1; i <= NF; i++) print $i, "line", NR }'
	for file in ipoib/*.c; do
		file=$(basename "$file" .c)
		echo "$file file"
		nm "$build/$KERNEL/ipoib/$file.o" |
			awk -v f="$file" '$(NF - 1) ~ /^[TU]$/ { print f, $(NF - 1), $NF }'
	done
}

# No file of ib_ipoib calls one above its own line, but for the one that the page names; the
# picture has all files, and no others.
# shellcheck disable=SC2046
ipoib_calls_down() {
	none $(ipoib_calls | awk '
		$2 == "line" { line[$1] = $3 }
		$2 == "file" { files[$1] = 1 }
		$2 == "T" { home[$3] = $1; n++ }
		$2 == "U" { calls[$1 " " $3] = 1 }
		END {
			for (f in files)
				if (f != "trace" && !(f in line))
					print f ":no-line"
			for (f in line)
				if (!(f in files))
					print f ":no-file"
			for (c in calls) {
				split(c, part)
				to = home[part[2]]
				if (to in line && line[to] < line[part[1]] &&
				    c != "conn_out ipoib_conn_work")
					print part[1] ":" part[2]
			}
			if (n < 100)
				print "only:" n
		}')
}

# Only the compatibility headers depend on the kernel's version.
versions() {
	! git grep -lE 'LINUX_VERSION_CODE|KERNEL_VERSION' -- '*.[ch]' ':!include/compat'
}

# Lines of files, and of functions
# shellcheck disable=SC2046
lengths() {
	none $(git ls-files '*.[ch]' '*.sh' '*.py' | xargs awk '
		FNR == 1 { most = FILENAME ~ /^sdpdev\// ? 600 : 900 }
		FNR == most + 1 { print FILENAME ":lines" }
		/^{/ { start = FNR }
		/^}/ && start && FILENAME ~ /[.]c$/ {
			if (FNR - start - 1 > 60)
				print FILENAME ":" start
			start = 0
		}')
}

plan 14
check "the README's figure is that of the benchmark" figures
check "tests that pages name are there" named_tests
check "files that the README links are there" links
check "the start page has all pages" index
check "settings of net.sdp are documented, and there are no others" settings
check "parameters of modules are in their manual pages" all_parameters
check "options of sdpstat and sdpctl are in theirs" options
check "options of the virtual machine that pages name are there" vm_options
check "counters are documented" counters
check "tracepoints are documented" tracepoints
check "counters of interfaces are documented" ethtool_counters
check "calls within ib_ipoib go down, as the page pictures it" ipoib_calls_down
check "only the compatibility headers depend on the kernel's version" versions
check "no file and no function is longer than CONTRIBUTING says" lengths
finish
