# SPDX-License-Identifier: GPL-2.0
#
# Reads what gcov prints, of any number of runs, each object after a line "@object
# FOLDER". Prints how much of each file and of each module was run, and writes the
# lines that were not into the file MISSED, by the reasons that the file REASONS
# gives: a line for each, and below it, indented, ":FILE: FUNCTION..." for where
# it is the reason; "*" is all functions that no reason names.
#
#   awk -v root=FOLDER/ -v missed=FILE -v reasons=FILE -f coverage.awk

# The file's name from the project's root; nothing if it is not the project's.
function own(path) {
	sub(/^.*\/build\/coverage\/debug\//, "", path)
	if (index(path, root) == 1)
		path = substr(path, length(root) + 1)
	if (object == "libsdpdev" && path !~ /\//)
		path = "libsdpdev/" path
	return path ~ /^(sdpdev|ipoib|tools\/softib|libsdpdev)\// ? path : ""
}

function module(path) {
	if (path ~ /^sdpdev\/transport\/ib\//)
		return "sdp_ib"
	if (path ~ /^sdpdev\/transport\/rdma\//)
		return "sdp_rdma"
	if (path ~ /^sdpdev\/transport\/verbs\//)
		return "sdp_verbs"
	sub(/^tools\//, "", path)
	sub(/\/.*/, "", path)
	return path == "ipoib" ? "ib_ipoib" : path
}

function percent(n, of) {
	return of ? sprintf("%5.1f", 100 * n / of) : "    -"
}

function row(name, l, lr, b, br) {
	return sprintf("%-24s %6d %6d %s %8d %6d %s", name, l, lr, percent(lr, l), b, br,
		percent(br, b))
}

function read_reasons(	line, file, fn, i) {
	while ((getline line < reasons) > 0) {
		if (line ~ /^[^ ]/)
			reason = line
		if (line !~ /^  /)
			file = ""
		if (match(line, /^ +:[^ :]+: /)) {
			file = substr(line, 1, RLENGTH)
			gsub(/[ :]/, "", file)
			line = substr(line, RLENGTH + 1)
			if (!n_reasons || reason_name[n_reasons] != reason)
				reason_name[++n_reasons] = reason
		}
		for (i = file == "" ? 0 : split(line, fn, " "); i; i--)
			why[file, fn[i]] = n_reasons
	}
}

function reason_of(file, nr,	fn) {
	fn = within[file, nr]
	return (file, fn) in why ? why[file, fn] : why[file, "*"] + 0
}

# Those that nothing ran for this reason; 0 is none.
function print_missed(reason,	i, field, count, sorter) {
	sorter = "sort -t: -k1,1 -k2,2n >> " missed
	for (i = 1; i <= n; i++) {
		split(order[i], field, SUBSEP)
		if (ran[order[i]] || reason_of(field[1], field[2]) != reason)
			continue
		if (!count++) {
			printf "%s\n\n", reason ? reason_name[reason] : \
				"For no reason that is known" >> missed
			close(missed)
		}
		printf "%s:%d:%s\n", field[1], field[2], text[order[i]] | sorter
	}
	close(sorter)
	if (count)
		print "" >> missed
	close(missed)
	return count
}

BEGIN {
	read_reasons()
	printf "" > missed
	close(missed)
}

/^@object / {
	object = $2
	file = ""
	next
}

/^ *-: *0:Source:/ {
	sub(/^[^:]*:[^:]*:Source:/, "")
	file = own($0)
	fn = ""
	next
}

file == "" {
	next
}

# Before the first line of it; the compiler's parts and copies of it are it, too.
/^function / {
	fn = $2
	sub(/\..*/, "", fn)
	next
}

/^ *([0-9]+\*?|#####|=====): *[0-9]+:/ {
	split($0, field, ":")
	nr = field[2] + 0
	if (!((file, nr) in ran)) {
		ran[file, nr] = 0
		order[++n] = file SUBSEP nr
		within[file, nr] = fn
		text[file, nr] = substr($0, length(field[1]) + length(field[2]) + 3)
	}
	if (field[1] + 0 > 0)
		ran[file, nr] = 1
	next
}

/^ *-: *[0-9]+:/ {
	nr = 0
	next
}

# Branches count from 0 in every line, and again in every copy of an inline function.
/^branch +[0-9]+ / && nr {
	key = file SUBSEP nr SUBSEP $2
	if (!(key in branch)) {
		branch[key] = 0
		branches[file]++
	}
	if ($3 == "taken" && $4 + 0 > 0 && !branch[key]) {
		branch[key] = 1
		taken[file]++
	}
}

END {
	for (i = 1; i <= n; i++) {
		split(order[i], field, SUBSEP)
		lines[field[1]]++
		run[field[1]] += ran[order[i]]
	}
	printf "%-24s %6s %6s %5s %8s %6s %5s\n", "", "lines", "run", "%", "branches",
		"taken", "%"
	for (f in lines) {
		m = module(f)
		sum_l[m] += lines[f]
		sum_r[m] += run[f]
		sum_b[m] += branches[f]
		sum_t[m] += taken[f]
		print row(f, lines[f], run[f], branches[f], taken[f]) | "sort"
	}
	close("sort")
	print ""
	for (m in sum_l)
		print row(m, sum_l[m], sum_r[m], sum_b[m], sum_t[m])
	print ""
	for (i = 1; i <= n_reasons; i++)
		reasoned += print_missed(i)
	printf "%d lines were not run for reasons that are known, %d for none\n", reasoned,
		print_missed(0)
}
