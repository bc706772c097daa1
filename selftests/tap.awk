# SPDX-License-Identifier: GPL-2.0
#
# Reads what the test files printed that ran in one machine, with selftests/run's marks.
# Prints a line for each test, and puts the output of each file into a log of its own.
#
#   awk -v kernel=6.1 -v machine=NAME -v tests="SUITE:VARIANT/TEST..." -v round=N \
#       -v tries=N -v logs=FOLDER -v records=FILE -v begun=FILE -f tap.awk
#
# A failed test is followed by what its file printed since the test before. A
# skipped test has not passed, so it has failed. In the end the file begun has the
# number of files that began, and the file records has lines with tabs between
#
#   file, kernel, SUITE:VARIANT/TEST, what people call it, tests that passed, tests that failed,
#	whether the kernel reported something, log, the names of the tests that failed
#   machine, what went wrong with it
#   unborn, what it is called, its log: no test began, and of the tries one or more are left

# What people call a test: the variant is of interest if it is one of several.
function called(test) {
	sub(/:(default|host)\//, "/", test)
	return kernel " " test
}

# log_of NAME: the file. Its name is the test's.
function log_of(name) {
	gsub(/[ \/:]/, "-", name)
	return logs "/" name (machine ~ /^again/ ? "-again" : "") ".log"
}

# What follows goes to the log of this name; a new log if it has none in this run.
function open_log(name) {
	close(log_file)
	log_file = log_of(name)
	if (log_file in logs_begun || round > 1 && name == of_machine)
		return
	printf "" > log_file
	close(log_file)
	logs_begun[log_file] = 1
}

function result(good, name,	line) {
	line = sprintf("%s %s%s", good ? "ok  " : "FAIL", title, name ? ": " name : "")
	print line
	if (good) {
		passed++
	} else {
		failed++
		printf "%s", said
		names = names "\t" name
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

# The file has no more to say.
function file_ends() {
	kept[++files] = "file\t" kernel "\t" test "\t" title "\t" passed + 0 "\t" failed + 0
	rest[files] = log_file names
	test = ""
	title = of_machine
	open_log(of_machine)
}

BEGIN {
	of_machine = title = kernel " machine " machine
	open_log(of_machine)
	print "Runs: " tests >> log_file
}

{
	sub(/\r$/, "")
}

/^@begin / {
	test = $2
	title = called(test)
	open_log(title)
	print "@begin " kernel " " test >> log_file
	start = systime()
	plan = -1
	seen = bad = passed = failed = 0
	said = names = ""
	lines = 0
	next
}

# A machine's own clock may count other seconds.
/^@end / {
	$3 = systime() - start
}

{
	print >> log_file
}

/^@end / {
	if (plan < 0)
		result(0, "no plan")
	else if (!plan)
		result(0, "planned no tests")
	else if (seen != plan)
		result(0, "planned " plan " tests, reported " seen)
	else if ($2 != 0 && !bad)
		result(0, "exit status " $2)
	printf "     %s: %d s\n", title, $3
	file_ends()
	next
}

# A machine that dies is the failure of the file that ran then.
/^@run / {
	status = $2
	ran = 1
	next
}

test && /^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	next
}

test && /^(not )?ok([ \t]|$)/ {
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
	if (!ran)
		status = "unknown"
	reported = status == 123
	if (test) {
		result(0, "did not end" (status == 0 ? "" : ", the run ended with status " status))
		file_ends()
		died = 1
	}
	for (i = 1; i <= files; i++)
		print kept[i] "\t" reported "\t" rest[i] > records
	if (reported || !died && status != 0) {
		why = "the run ended with status " status \
			(reported ? ", the kernel reported something" : "")
		result(0, why)
		if (!files && !reported && tries > 1)
			print "unborn\t" of_machine "\t" log_of(of_machine) > records
		else
			print "machine\t" of_machine ": " why > records
	}
	print files + 0 > begun
}
