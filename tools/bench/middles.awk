# SPDX-License-Identifier: GPL-2.0
#
# From the rounds, sorted by contestant, row and cost (contestant, row, unit, round,
# cost): the mean of each row's middle half, how far all were apart, how many there were.
# The middle half's mean is the median of four; of many that take one of a few values a
# median would be one of those, by chance.

function flush(   out, sum, i) {
	if (!n)
		return
	out = int(n / 4)
	for (i = 1 + out; i <= n - out; i++)
		sum += cost[i] / (n - 2 * out)
	printf "%s\t%s\t%.0f\t%.1f\t%d\n", key, unit, sum,
		sum ? 100 * (cost[n] - cost[1]) / sum : 0, n
	n = 0
}

BEGIN { FS = OFS = "\t" }
{
	if ($1 OFS $2 != key)
		flush()
	key = $1 OFS $2
	unit = $3
	cost[++n] = $5
}
END { flush() }
