# SPDX-License-Identifier: GPL-2.0
#
# The ratios to TCP over the kernel's driver, or within one host to TCP over veth: in
# instructions by the figures, the first file, and in time by a result, the second one.

BEGIN {
	FS = "\t"
	printf "\n  %-16s %-14s %15s %8s\n", "contestant", "row", "instructions", "time"
}

/^#/ || $1 == "contestant" || $2 ~ /\./ { next }
FILENAME == ARGV[1] { figure[$1, $2] = $4; next }

{
	time[$1, $2] = $4
	if ($1 != base($1))
		key[++n] = $1 SUBSEP $2
}

function base(contestant) {
	return contestant ~ /-veth$|^moved-|^unix$/ ? "tcp-veth" : "tcp-stock"
}

function percent(cost, contestant, row,   one) {
	one = cost[base(contestant), row]
	if (!(cost[contestant, row] > 0 && one > 0))
		return "-"
	return sprintf("%.0f %%", 100 * cost[contestant, row] / one)
}

END {
	for (i = 1; i <= n; i++) {
		split(key[i], part, SUBSEP)
		printf "  %-16s %-14s %15s %8s\n", part[1], part[2],
			percent(figure, part[1], part[2]), percent(time, part[1], part[2])
	}
}
