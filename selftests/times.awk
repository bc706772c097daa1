# SPDX-License-Identifier: GPL-2.0
#
# How long each test file of the plan took, for deal.awk: what the logs say, else what was
# known. What takes less than some seconds is not worth a line.
#
#   awk -f times.awk PLAN TIMES LOG...

function take(key, seconds) {
	if (!(key in planned))
		return
	if (!(key in took))
		keys[++count] = key
	took[key] = seconds
}

FILENAME == ARGV[1] {
	split($0, part, "|")
	planned[part[1] " " part[4]] = 1
	next
}

FILENAME == ARGV[2] {
	if (/^#/)
		print
	else
		take($2 " " $3, $1)
	next
}

/^@begin / {
	key = $2 " " $3
}

/^@end / {
	if (key)
		take(key, $3)
	key = ""
}

END {
	for (i = 1; i <= count; i++)
		if (took[keys[i]] >= 5)
			print took[keys[i]], keys[i] | "sort -k 2,2 -k 3,3"
}
