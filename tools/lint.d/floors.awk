# SPDX-License-Identifier: GPL-2.0
#
# Reads the list of floors, then C files. Prints the include lines that lead up, those that
# lead into a folder that is no floor, and those that take a private header of another one.

FNR == 1 {
	list = FILENAME == ARGV[1]
	folder = FILENAME
	sub(/\/[^\/]*$/, "", folder)
	top = folder
	sub(/\/.*/, "", top)
}

list && !/^#/ && NF {
	floor[$1] = $2 == "<" ? floor[$3] : ++n
	alone[$1] = $2 == "<"
	main = $1
	sub(/.*\//, "", main)
	public[$1 "/" main ".h"] = 1
	for (i = 3; $2 == "+" && i <= NF; i++)
		public[$1 "/" $i] = 2
}

!list && /^#include "[^"]*\/[^"]*"/ {
	to = $2
	gsub(/"/, "", to)
	header = to = top "/" to
	sub(/\/[^\/]*$/, "", to)
	if (to == folder)
		next
	if (!(to in floor) || !(folder in floor))
		printf "%s:%d: %s is not in tools/lint.d/floors [floor]\n", FILENAME, FNR,
			to in floor ? folder : to
	else if (alone[to] || floor[to] > floor[folder])
		printf "%s:%d: %s is above %s [up]\n", FILENAME, FNR, to, folder
	else if (!(header in public) || public[header] + alone[folder] > 2)
		printf "%s:%d: %s is private to its folder [private]\n", FILENAME, FNR, header
}
