# SPDX-License-Identifier: GPL-2.0
#
# Judges a run by tap.awk's records, those of what was repeated at last. A test file
# that failed has failed, unless it passed when it was repeated and the kernel had
# nothing to report: then it is unsteady. So is a machine that came up when it was tried
# again. If more than allowed are, they have failed, too.
# So has what was planned and has no record.
#
#   awk -v allowed=N -v list=FILE -v date=... -v commit=... -f verdict.awk PLAN RECORDS...
#
# Adds a line for each unsteady file to list. The last line is "N passed, N failed".

function fail(key,	i) {
	for (i = 1; i <= names[key]; i++)
		print "FAIL " title[key] ": " name[key, i]
}

# Date, commit, kernel, file, log, and the tests that failed, between tabs
function keep(key,	line, i) {
	line = date FS commit FS substr(title[key], 1, index(title[key], " ") - 1) FS \
		substr(title[key], index(title[key], " ") + 1) FS log_of[key]
	for (i = 1; i <= names[key]; i++)
		line = line FS name[key, i]
	print line >> list
}

BEGIN {
	FS = "\t"
}

FILENAME == ARGV[1] {
	split($0, part, "|")
	plan[++plans] = part[1] FS part[4]
	next
}

FNR == 1 {
	key = ""
	repeated = FILENAME ~ /\/again[0-9]+\.[0-9]+$/
}

# What a machine did wrong, and no repetition mends.
$1 == "machine" {
	wrong[++faults] = $2
	if (repeated)
		mended[key] = 0
	next
}

$1 == "unborn" {
	late[++unsteady] = $2 ": did not come up, and was tried again; " $3
	next
}

{
	key = $2 FS $3
}

repeated {
	mended[key] = $6 == 0
	good[key] = $5
	next
}

{
	keys[++count] = key
	title[key] = $4
	passed[key] = $5
	failed[key] = $6
	log_of[key] = $8
	names[key] = NF - 8
	for (i = 9; i <= NF; i++)
		name[key, i - 8] = $i
}

END {
	machines = unsteady
	for (i = 1; i <= count; i++)
		unsteady += mended[keys[i]]
	for (i = 1; i <= faults; i++)
		print "FAIL " wrong[i]
	f = faults
	for (i = 1; i <= plans; i++)
		if (!(plan[i] in title)) {
			f++
			sub(FS, " ", plan[i])
			sub(/:(default|host)\//, "/", plan[i])
			print "FAIL " plan[i] ": did not run"
		}
	for (i = 1; i <= count; i++) {
		key = keys[i]
		if (mended[key] && unsteady <= allowed) {
			p += good[key]
			continue
		}
		p += passed[key]
		f += failed[key]
		fail(key)
	}
	for (i = 1; i <= count; i++) {
		key = keys[i]
		if (mended[key]) {
			print "unsteady " title[key] ": passed when it was repeated; " log_of[key]
			keep(key)
		}
	}
	for (i = 1; i <= machines; i++)
		print "unsteady " late[i]
	if (unsteady > allowed) {
		f += machines
		printf "%d test files or machines were unsteady, more than %d: they failed\n", unsteady, allowed
	}
	printf "%d passed, %d failed\n", p, f
	exit f > 0 || p == 0
}
