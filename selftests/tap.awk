# SPDX-License-Identifier: GPL-2.0
#
# Reads what the test files of one run printed, with selftests/run's marks,
# prints a line for each test, and adds "passed failed" and the failures' lines to
# the file counts.
#
#   awk -v title="6.1 suite" -v counts=FILE -f tap.awk
#
# A failed test is followed by what its file printed since the test before. A
# skipped test has not passed, so it has failed.

function result(good, name,	line) {
	line = sprintf("%s %s%s%s", good ? "ok  " : "FAIL", title, \
		file ? "/" file : "", name ? ": " name : "")
	print line
	if (good) {
		passed++
	} else {
		failed++
		printf "%s", said
		print line >> counts
	}
	said = ""
	lines = 0
	fflush()
}

function say(line) {
	# The last of it tells the most.
	if (++lines > 60)
		sub(/^[^\n]*\n/, "", said)
	said = said "     | " line "\n"
}

{
	sub(/\r$/, "")
}

/^@begin / {
	file = $2
	plan = -1
	seen = bad = 0
	said = ""
	lines = 0
	next
}

/^@end / {
	if (plan < 0)
		result(0, "no plan")
	else if (seen != plan)
		result(0, "planned " plan " tests, reported " seen)
	else if ($2 != 0 && !bad)
		result(0, "exit status " $2)
	printf "     %s/%s: %d s\n", title, file, $3
	file = ""
	next
}

/^@run / {
	ran = 1
	if (file)
		result(0, "did not end")
	file = ""
	if ($2 != 0)
		result(0, "the run ended with status " $2)
	next
}

file && /^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	next
}

file && /^(not )?ok([ \t]|$)/ {
	good = /^ok/ && !/# *[Ss][Kk][Ii][Pp]/
	seen++
	if (!good)
		bad++
	name = $0
	sub(/^(not )?ok[ \t]*[0-9]*[ \t]*-?[ \t]*/, "", name)
	result(good, name)
	next
}

length {
	say($0)
}

END {
	if (file)
		result(0, "did not end")
	print passed + 0, failed + 0 >> counts
}
