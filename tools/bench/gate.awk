# SPDX-License-Identifier: GPL-2.0
#
# Compares a result, the second file, with the figures, the first one. The slowest
# round trips are no cost: they are let be. If same is set, less is wrong, too. Whatever
# the figures say, a connection over SDP may cost no more than one of rsockets; what that
# costs is not the project's to answer for.

BEGIN { FS = "\t" }

/^#/ || $1 == "contestant" { next }
$2 ~ /\.p99$/ { next }
FILENAME == ARGV[1] { figure[$1, $2] = $4; next }

{ cost[$1, $2] = $4 }
$1 == "rsockets" && !same { next }

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
	if ((("sdp", "connect") in cost) && (("rsockets", "connect") in cost) &&
	    cost["sdp", "connect"] > cost["rsockets", "connect"]) {
		printf "gate: a connection costs %d over SDP, and %d with rsockets\n",
			cost["sdp", "connect"], cost["rsockets", "connect"]
		worse++
	}
	printf "gate: %d compared, %d %s\n", compared, worse, same ? "not the same" : "worse"
	exit worse > 0 || !compared
}
