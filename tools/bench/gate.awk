# SPDX-License-Identifier: GPL-2.0
#
# Compares a result, the second file, with the figures, the first one. The slowest
# round trips are no cost: they are let be. If same is set, less is wrong, too.

BEGIN { FS = "\t" }

/^#/ || $1 == "contestant" { next }
$2 ~ /\.p99$/ { next }
FILENAME == ARGV[1] { figure[$1, $2] = $4; next }

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

END {
	printf "gate: %d compared, %d %s\n", compared, worse, same ? "not the same" : "worse"
	exit worse > 0 || !compared
}
