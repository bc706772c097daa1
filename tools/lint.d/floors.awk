# SPDX-License-Identifier: GPL-2.0
#
# Reads the list of floors, then C files. Prints the include lines that lead up, and those
# that lead into a folder that is no floor.

FNR == 1 {
	list = FILENAME == ARGV[1]
	folder = FILENAME
	sub(/\/[^\/]*$/, "", folder)
	top = folder
	sub(/\/.*/, "", top)
}

list && !/^#/ && NF {
	floor[$1] = NF > 1 ? floor[$3] : ++n
	alone[$1] = NF > 1
}

!list && /^#include "[^"]*\/[^"]*"/ {
	to = $2
	gsub(/"/, "", to)
	sub(/\/[^\/]*$/, "", to)
	to = top "/" to
	if (to == folder)
		next
	if (!(to in floor) || !(folder in floor))
		printf "%s:%d: %s is not in tools/lint.d/floors [floor]\n", FILENAME, FNR,
			to in floor ? folder : to
	else if (alone[to] || floor[to] > floor[folder])
		printf "%s:%d: %s is above %s [up]\n", FILENAME, FNR, to, folder
}
