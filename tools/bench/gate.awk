# SPDX-License-Identifier: GPL-2.0
#
# Compares a result, the second file, with the figures, the first one. The slowest
# round trips are no cost: they are let be. If same is set, less is wrong, too. Whatever
# the figures say, a connection that may move costs little more than TCP's as long as it
# does not, and when it rests.

BEGIN {
	FS = "\t"
	limit["connect"] = 1.10
	limit["nginx"] = 1.05
	limit["idle-moved"] = 1.30
}

/^#/ || $1 == "contestant" { next }
$2 ~ /\.p99$/ { next }
FILENAME == ARGV[1] { figure[$1, $2] = $4; next }

{ cost[$1, $2] = $4 }

!(($1, $2) in figure) {
	printf "gate: %s %s: no figure to compare with\n", $1, $2
	worse++
	next
}

{
	old = figure[$1, $2]
	compared++
	if ($4 > (same ? 1.02 : 1.05) * old || (same && $4 < 0.98 * old)) {
		printf "gate: %s %s: %d %s, was %d: %+.1f %%\n", $1, $2, $4, $3, old,
			100 * ($4 - old) / old
		worse++
	}
}

# The row of TCP that one of joined is compared with
function base(row) {
	return cost["tcp-ours", row == "idle-moved" ? "idle" : row]
}

END {
	for (row in limit)
		if (base(row) > 0 && cost["joined", row] > limit[row] * base(row)) {
			printf "gate: joined %s: %d, more than %d %% of TCP, %d\n", row,
				cost["joined", row], 100 * limit[row], base(row)
			worse++
		}
	printf "gate: %d compared, %d %s\n", compared, worse, same ? "not the same" : "worse"
	exit worse > 0 || !compared
}
