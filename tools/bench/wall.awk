# SPDX-License-Identifier: GPL-2.0
#
# The ratios to TCP over the kernel's driver, in instructions by the figures, the first
# file, and in time by a result, the second one.

BEGIN {
	FS = "\t"
	printf "\n  %-16s %-14s %15s %8s\n", "contestant", "row", "instructions", "time"
}

/^#/ || $1 == "contestant" || $2 ~ /\./ { next }
FILENAME == ARGV[1] { figure[$1, $2] = $4; next }

{
	time[$1, $2] = $4
	if ($1 != "tcp-stock")
		key[++n] = $1 SUBSEP $2
}

function percent(cost, k, row) {
	if (!(cost[k] > 0 && cost["tcp-stock", row] > 0))
		return "-"
	return sprintf("%.0f %%", 100 * cost[k] / cost["tcp-stock", row])
}

END {
	for (i = 1; i <= n; i++) {
		split(key[i], part, SUBSEP)
		printf "  %-16s %-14s %15s %8s\n", part[1], part[2],
			percent(figure, key[i], part[2]), percent(time, key[i], part[2])
	}
}
