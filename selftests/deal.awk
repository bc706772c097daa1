# SPDX-License-Identifier: GPL-2.0
#
# Deals test files to virtual machines. Those of one kernel and with the same options
# for tools/vm/run share machines: as few as give each about share seconds of tests,
# by what they took before.
#
#   awk -v share=SECONDS -f deal.awk TIMES PLAN
#
# TIMES has lines "SECONDS KERNEL TEST", PLAN has those of selftests/run's plan(). Prints
# "SECONDS|KERNEL|OPTIONS|TEST TEST...", a line a machine.

# A test that is not in TIMES takes some seconds.
function seconds(kernel, test) {
	return (kernel, test) in took ? took[kernel, test] : 8
}

# The test that is not dealt and takes longest; 0 if there is none
function longest(pool,	i, best) {
	for (i = 1; i <= files[pool]; i++)
		if (!(where[pool, i]) && (!best || cost[pool, i] > cost[pool, best]))
			best = i
	return best
}

# The machine of the first n with the least to do
function least(n,	i, best) {
	best = 1
	for (i = 2; i <= n; i++)
		if (load[i] < load[best])
			best = i
	return best
}

# Gives the pool's test i to a machine.
function give(pool, i, to) {
	where[pool, i] = to
	load[to] += cost[pool, i]
}

# A machine can run one test of those that are last. The checked kernel boots more slowly.
function machines(pool,	n) {
	n = int(total[pool] / (share * (pool ~ /^debug\|/ ? 2 : 1)) + 0.999)
	if (n < lasts[pool])
		n = lasts[pool]
	return n > files[pool] ? files[pool] : n
}

function deal(pool,	n, i, k, line, end) {
	n = machines(pool)
	for (i = 1; i <= n; i++)
		load[i] = 0
	for (i = 1; i <= files[pool]; i++)
		if (last[pool, i])
			give(pool, i, ++k)
	while ((i = longest(pool)))
		give(pool, i, least(n))
	for (k = 1; k <= n; k++) {
		line = end = ""
		# In the plan's order, whoever is longest.
		for (i = 1; i <= files[pool]; i++)
			if (where[pool, i] == k) {
				if (last[pool, i])
					end = " " test[pool, i]
				else
					line = line " " test[pool, i]
			}
		print load[k] "|" pool "|" substr(line end, 2)
	}
}

FILENAME == ARGV[1] {
	if (!/^#/)
		took[$2, $3] = $1
	next
}

{
	split($0, part, "|")
	pool = part[1] "|" part[2]
	if (!(pool in files))
		pools[++count] = pool
	i = ++files[pool]
	test[pool, i] = part[4]
	cost[pool, i] = seconds(part[1], part[4])
	total[pool] += cost[pool, i]
	if (part[3]) {
		last[pool, i] = 1
		lasts[pool]++
	}
}

END {
	for (k = 1; k <= count; k++)
		deal(pools[k])
}
