#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What other tests and reports are made with, where it is wrong or says that others are.

. "$(dirname "$0")/../tap.sh"

root=$(cd "$(dirname "$0")/../.." && pwd -P)
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# refused NAME PATTERN COMMAND...: by status 2 and a line with PATTERN
refused() {
	local output status

	output=$("${@:3}" 2>&1 < /dev/null)
	status=$?
	[ $status -eq 2 ] && [[ $output == *$2* ]]
	result $? "$1" || diag "status $status: $output"
}

# A project with one suite, whose configuration says this.
configured() {
	mkdir -p "$tmp/selftests/suite" && cp "$root/selftests/run" "$tmp/selftests/" &&
		echo "$1" > "$tmp/selftests/suite/config"
	printf '#!/bin/sh\n' > "$tmp/selftests/suite/good.sh"
	chmod +x "$tmp/selftests/suite/good.sh"
	touch "$tmp/selftests/suite/part.sh"
}

delays() {
	"$root/tools/vm/delays" "$@"
}

# A program of the driver's, two of whose functions nothing calls.
counted() {
	mkdir ipoib && cat > ipoib/part.c <<-'EOT' &&
			static int early(int n)
			{
				return n + 1;
			}

			static int late(int n)
			{
				return n - 1;
			}

			int main(int argc, char **argv)
			{
				if (argc > 2)
					return late(argc);
				if (argc > 1)
					return early(argc);
				return 0;
			}
		EOT
		gcc-12 -O0 --coverage -c -o part.o ipoib/part.c &&
		gcc-12 --coverage -o counted part.o && ./counted &&
		{ echo "@object ipoib" && gcov-12 -b -c -t part.gcda; } > counts
}

# Which of its lines are not run, for which reasons
report() {
	awk -v root="$tmp/" -v missed="$tmp/uncovered" -v reasons="$tmp/reasons" \
		-f "$root/tools/lib/coverage.awk" counts > report
}

# missed REASON: the numbers of the lines for it
missed() {
	awk -F: -v reason="$1" 'NF == 1 && $0 { now = $0 } NF > 1 && now == reason { print $2 }' \
		uncovered | xargs
}

# As on a machine that has no headers of the running kernel
headless() {
	mkdir -p "$tmp/bin" && printf '#!/bin/sh\necho 9.9.9-none\n' > "$tmp/bin/uname" &&
		chmod +x "$tmp/bin/uname" || return
	PATH=$tmp/bin:$PATH env -u KERNEL make -s -C "$root" BUILD="$tmp/build" "$@"
}

# As on another system than the one whose packages are listed
on_trixie() {
	printf '%s\n' 'ID=debian' 'VERSION_CODENAME=trixie' 'PRETTY_NAME="Debian 13"' \
		> "$tmp/os-release"
	# shellcheck disable=SC2016 # for the new shell to expand
	unshare -rm sh -c 'mount --bind "$0" /etc/os-release && exec "$@"' "$tmp/os-release" "$@"
}

# library ARGUMENT...: make in its folder, into one of its own
library() {
	make --no-print-directory -C "$root/libsdpdev" O="$tmp/lib" "$@"
}

# What is installed for kernel 6.1, without the folders, the manual pages and the samples
installed() {
	make -s -C "$root" KERNEL=6.1 DESTDIR="$tmp/root" install > /dev/null 2> "$tmp/errors" &&
		(cd "$tmp/root" && find . -path '*/share' -prune -o -type f -printf '%f\n' |
			sort | xargs)
}

# What modprobe would load for the device; the release's folder is the argument
loaded() {
	touch "$1"/modules.{order,builtin} &&
		depmod -b "$tmp/root" "${1##*/}" 2> /dev/null &&
		modprobe -n -v -d "$tmp/root" -S "${1##*/}" sdpdev |
		sed 's,.*/\(.*\) $,\1,' | uniq | xargs
}

# versions VERSION: of what is installed
versions() {
	local m p

	for m in "$tmp"/root/lib/modules/*/updates/*/*.ko; do
		[ "$(modinfo -F version "$m")" = "$1" ] || return
	done
	for p in "$tmp"/root/usr/local/{,s}bin/sdp*; do
		"$p" --version | grep -q " $1\$" || return
	done
	! grep -L "sdpdev $1" "$tmp"/root/usr/local/share/man/man[1478]/* | grep .
}

# On this machine, which has no module
reports() {
	"$tmp/root/usr/local/lib/sdpdev/report" | grep -q '^sdpdev *loaded: no;'
}

# The line, after bash has put all that the installed file offers in the place of its last word
# completed LINE
completed() {
	local top=$tmp/root/usr/local file

	file=$top/share/bash-completion/completions/${1%% *}
	printf '%s\033*\001echo : \n' "$1" |
		PATH=$top/bin:$top/sbin:$PATH TERM=dumb \
			script -qec "bash --rcfile $file -i" /dev/null |
		tr -d '\r' | sed -n 's/^: //p'
}

# completes LINE WORDS: to that
completes() {
	local line

	line=$(completed "$1")
	[ "$line" = "$2" ] || { diag "$1: $line"; return 1; }
}

# The options in the text
options() {
	grep -o -- '--[a-z-]*' <<< "$1" | sort -u
}

# Each option that a program has, by its own words
completes_options() {
	local program words

	for program in sdprun sdpstat; do
		words=$(options "$("$tmp/root/usr/local/bin/$program" --help | grep '^ .*--')")
		[ "$(wc -l <<< "$words")" -gt 8 ] || return
		[ "$(options "$(completed "$program --")")" = "$words" ] || return
	done
}

# Those of sdpctl are those of the command.
completes_commands() {
	completes 'sdpctl re' 'sdpctl report return' &&
		completes 'sdpctl return --' 'sdpctl return --all --stay --wait' &&
		completes 'sdpctl list --' 'sdpctl list --all --json --listening --processes'
}

completes_filters() {
	completes 'sdpstat car' 'sdpstat carrier=' &&
		completes 'sdpstat carrier=local,i' 'sdpstat carrier=local,ib' &&
		completes 'sdpctl return -s state=SYN' 'sdpctl return -s state=SYN_RECV SYN_SENT'
}

# The program that sdprun starts, and the users and control groups that it has rules for
completes_others() {
	completes 'sdprun --user=roo' 'sdprun --user=root' &&
		completes 'sdprun --cgroup=/usr/shar' 'sdprun --cgroup=/usr/share' &&
		completes 'sdprun --now sdpst' 'sdprun --now sdpstat'
}

# With a program that answers as sdpstat does
prometheus() {
	cat > "$tmp/root/usr/local/bin/sdpstat" <<-'EOT'
		#!/bin/sh
		case $1 in
		--counters)
			printf '{"counters":{\n"moved":5,\n'
			printf '"stayed_peer":3,\n"stayed_young":4}}\n' ;;
		--all)
			printf '{"endpoints":[{"kind":"socket","state":"LISTEN"},\n'
			printf '{"kind":"socket","state":"ESTABLISHED","tx_carrier":"ib"}]}\n' ;;
		esac
	EOT
	"$tmp/root/usr/local/lib/sdpdev/textfile" "$tmp/sdp.prom" &&
		sort "$tmp/sdp.prom" | diff - <(
		cat <<-'EOT'
			# TYPE sdp_endpoints gauge
			# TYPE sdp_moved_total counter
			# TYPE sdp_stayed_total counter
			sdp_endpoints{state="ESTABLISHED",carrier="ib"} 1
			sdp_endpoints{state="LISTEN",carrier="none"} 1
			sdp_moved_total 5
			sdp_stayed_total{reason="peer"} 3
			sdp_stayed_total{reason="young"} 4
		EOT
	)
}

plan 35
configured "default : good"
check "a configuration that names a test" "$tmp/selftests/run" --kernel 6.1 --list
configured "default : good nothing"
refused "one that names nothing" "no such test: nothing" "$tmp/selftests/run" --list
configured "default : !part"
refused "one that leaves out what is no test" "no such test: !part" "$tmp/selftests/run" --list
rm -r "$tmp/selftests"

refused "make without the kernel's headers" "linux-headers-9.9.9-none" headless
test ! -e "$tmp/build/9.9.9-none"
result $? "builds for no other kernel"
refused "nor does make install" "linux-headers-9.9.9-none" headless install DESTDIR="$tmp/root"
check "the tests name their kernels" headless -n setup-check
output=$(on_trixie "$root/tools/setup" demo 2>&1)
test $? -eq 1 && [[ $output == *"Debian 12 (bookworm)"*"this is Debian 13"* ]]
result $? "another release is refused at once"

test "$(library "$tmp/lib/mapped.o")" = "  CC      $tmp/lib/mapped.o"
result $? "one short line for a command"
rm "$tmp/lib/mapped.o"
test "$(library V=1 "$tmp/lib/mapped.o" | cut -d ' ' -f 1)" = cc
result $? "or the command"
# The file system counts time in ticks of the kernel, and make sees no change within one.
tick() {
	sleep 0.02
}

library -s "$tmp/lib/libsdpdev.pc" PREFIX=/one && tick &&
	library -s "$tmp/lib/libsdpdev.pc" PREFIX=/two
grep -qx prefix=/two "$tmp/lib/libsdpdev.pc"
result $? "another PREFIX is noticed"
library -s "$tmp/lib/sdprun.o" PREFIX=/one && tick &&
	library -s "$tmp/lib/sdprun.o" PREFIX=/two
strings "$tmp/lib/sdprun.o" | grep -qx /two/lib/sdpdev
result $? "by sdprun as well"

expected='60-sdpdev.rules ib_ipoib.ko libsdpdev.a libsdpdev.pc libsdpdev.so.2 libsdprings.so'
expected+=' report sdp.h sdp_diag.h sdp_ib.ko sdp_rdma.ko sdp_ring.h sdp_sock.h sdp_verbs.ko'
expected+=' sdpctl sdpdev.conf sdpdev.h sdpdev.ko sdprun sdpstat textfile'
output=$(installed)
test "$output" = "$expected"
result $? "make install: the drivers, the library and its tools"
! grep sign-file "$tmp/errors"
result $? "without complaints about a key that is not there"
check "sdpstat is in a user's PATH" test -x "$tmp/root/usr/local/bin/sdpstat"
output=$(loaded "$tmp"/root/lib/modules/*)
test "$output" = "sdpdev.ko sdp_verbs.ko sdp_ib.ko"
result $? "modprobe sdpdev loads its transport"
versions "$(cat "$root/VERSION")"
result $? "modules, tools and manual pages are of one version"
check "a report says which modules there are" reports
check "bash completes each option" completes_options
check "commands and theirs" completes_commands
check "filters and their values" completes_filters
check "users, control groups and programs" completes_others
check "counters for Prometheus" prometheus
touch "$tmp/root/usr/local/bin/other"
make -s -C "$root" KERNEL=6.1 DESTDIR="$tmp/root" uninstall > /dev/null
test "$(cd "$tmp/root" && find . \( -path ./lib/modules -prune \) -o -type f -print)" = \
	./usr/local/bin/other && ! find "$tmp/root/lib/modules" -name updates | grep -q .
result $? "make uninstall removes that, and nothing else"

refused "a delay of no function" "usage: " delays
refused "of no command" "usage: " delays sdpdev
refused "of no time" "--us: 'long'" delays --us long sdpdev true
refused "of too long a time" "--us: '100001'" delays --us 100001 sdpdev true

cd "$tmp" || exit
check "a program's lines are counted" counted
cat > "$tmp/reasons" <<'EOT'
Coverage
========

It is never late
    :ipoib/other.c: early
    :ipoib/part.c: nobody
        late

Nobody asks for more
    because there is no more.

    :ipoib/part.c: main
EOT
report
check "what a reason names is by it" test "$(missed "It is never late")" = "6 8"
check "by the other" test "$(missed "Nobody asks for more")" = "14 16"
check "what none names is by none" test "$(missed "For no reason that is known")" = "1 3"
check "and is counted" grep -q "^4 .* known, 2 for none$" report
printf '%s\n' "Nobody calls it" "    :ipoib/part.c: *" >> "$tmp/reasons"
report
check "all that is left in a file has one" test "$(missed "Nobody calls it")" = "1 3"
check "and nothing has none" grep -q "^6 .* known, 0 for none$" report
cd /
finish
