# SPDX-License-Identifier: GPL-2.0
#
# Reads the list of exceptions, then findings of the check named by the
# variable "check"; prints the findings that the list does not except, and the
# lines of the list that except nothing.

BEGIN {
	list = ARGV[1]
}

FILENAME == list {
	if ($1 != check)
		next
	glob = $3
	gsub(/\./, "\\.", glob)
	gsub(/\*/, ".*", glob)
	n++
	line[n] = FNR
	kind[n] = $2
	files[n] = "^" glob "$"
	next
}

{
	file = $0
	sub(/:.*/, "", file)
	what = $0
	sub(/.*\[/, "", what)
	sub(/\]$/, "", what)
	for (i = 1; i <= n; i++) {
		if (kind[i] == what && file ~ files[i]) {
			used[i] = 1
			next
		}
	}
	print
}

END {
	for (i = 1; i <= n; i++)
		if (!used[i])
			print list ":" line[i] ": no longer needed"
}
