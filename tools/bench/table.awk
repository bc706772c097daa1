# SPDX-License-Identifier: GPL-2.0
#
# The result as a table: for each row the contestants, with the ratios to TCP over
# the kernel's driver and to raw verbs.

BEGIN {
	FS = "\t"
	n = split(order, contestants, " ")
	m = split(rows, all, " ")
}

/^#/ || $1 == "contestant" { next }

NF != 6 || $4 !~ /^[0-9]+$/ {
	printf "%s:%d: not a result\n", FILENAME, FNR > "/dev/stderr"
	failed = 1
	exit 1
}

{
	unit[$2] = $3
	cost[$1, $2] = $4
	spread[$1, $2] = $5
}

function ratio(row, c, to) {
	if (!(cost[to, row] > 0))
		return "      -"
	return sprintf("%5.0f %%", 100 * cost[c, row] / cost[to, row])
}

function show(row,   i, c) {
	if (!(row in unit))
		return
	printf "%s, %s\n", row, unit[row]
	for (i = 1; i <= n; i++) {
		c = contestants[i]
		if (!((c, row) in spread))
			continue
		printf "  %-16s %10d %7.1f %%   %s  %s", c, cost[c, row],
			spread[c, row], ratio(row, c, "tcp-stock"), ratio(row, c, "verbs")
		if ((c, row ".p99") in spread)
			printf "  %8d %8d", cost[c, row ".median"], cost[c, row ".p99"]
		printf "\n"
	}
}

END {
	if (failed)
		exit 1
	printf "  %-16s %10s %9s   %7s  %7s  %8s %8s\n", "contestant", "cost", "spread",
		"/stock", "/verbs", "median", "p99"
	for (i = 1; i <= m; i++)
		show(all[i])
}
