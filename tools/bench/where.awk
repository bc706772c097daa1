# SPDX-License-Identifier: GPL-2.0
#
# Sums up what count.c has counted, by module and by function. Sorted by address:
# "ADDRESS = INSTRUCTIONS ENTERED STORED" and "ADDRESS TYPE NAME [MODULE]" of /proc/kallsyms.
# With the variable carried, in bytes: what each has stored for one of them.

function show(sums,    key, sort) {
	sort = "sort -rn"
	for (key in sums)
		if (carried && sums[key] / carried >= least)
			printf "%9.3f  %s\n", sums[key] / carried, key | sort
		else if (!carried && 100 * sums[key] / all >= least)
			printf "%12.0f %5.1f %% %9s  %s\n", sums[key], 100 * sums[key] / all,
				calls[key], key | sort
	close(sort)
}

# User space is below all of the kernel.
BEGIN { module = "programs"; name = "" }

$2 == "=" {
	n = carried ? $5 : $3
	all += n
	modules[module] += n
	functions[module " " name] += n
	if ($1 == address)
		calls[module " " name] += $4
	next
}

$2 ~ /[tTwW]/ {
	address = $1
	name = $3
	module = $4 ? $4 : "[kernel]"
}

END {
	if (!all) {
		print "bench: nothing was counted" > "/dev/stderr"
		exit 1
	}
	if (carried)
		printf "%9.3f  bytes stored\n", all / carried
	else
		printf "%12.0f 100.0 %%     calls\n", all
	show(modules)
	print ""
	show(functions)
}
