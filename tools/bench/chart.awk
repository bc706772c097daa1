# SPDX-License-Identifier: GPL-2.0
#
# The result as an SVG chart: for each row a group of bars, the cost as a part of
# what TCP over the kernel's driver costs.

BEGIN {
	FS = "\t"
	n = split(order, contestants, " ")
	m = split(rows, all, " ")
	split("#777777 #4477aa #cc3311 #ee7733 #ddaa33 #88ccee #000000 #bbbbbb", colours, " ")
	left = 150; top = 50; bar = 9; scale = 250; gap = 12
}

/^#/ || $1 == "contestant" { next }

{ cost[$1, $2] = $4 }

function text(x, y, anchor, s) {
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, s
}

# Bars that are too long are cut; the number beside them is not.
function draw(row,   i, c, r, w, start) {
	start = y
	for (i = 1; i <= n; i++) {
		c = contestants[i]
		if (!((c, row) in cost))
			continue
		r = cost[c, row] / cost["tcp-stock", row]
		w = (r > 2 ? 2 : r) * scale
		printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
			left, y, w, bar - 1, colours[i]
		text(left + w + 4, y + bar - 1, "start", sprintf("%.0f %%", 100 * r))
		y += bar
	}
	text(left - 8, (start + y) / 2 + 4, "end", row)
	y += gap
}

function legend(   i, x) {
	x = 10
	for (i = 1; i <= n; i++) {
		printf "<rect x=\"%d\" y=\"26\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
			colours[i]
		text(x + 13, 35, "start", contestants[i])
		x += 30 + 6 * length(contestants[i])
	}
}

function height(   i, j, h) {
	h = top + 10
	for (i = 1; i <= m; i++) {
		if (!(("tcp-stock", all[i]) in cost))
			continue
		for (j = 1; j <= n; j++)
			h += bar * ((contestants[j], all[i]) in cost)
		h += gap
	}
	return h
}

END {
	bottom = height()
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" " \
		"font-family=\"sans-serif\" font-size=\"9\">\n", bottom
	print "<!-- SPDX-License-Identifier: GPL-2.0 -->"
	printf "<rect width=\"760\" height=\"%d\" fill=\"white\"/>\n", bottom
	text(10, 15, "start", "Cost in instructions (idle: memory), TCP over the in-tree " \
		"ib_ipoib = 100 %; less is better. By: make bench")
	legend()
	y = top
	for (i = 1; i <= m; i++)
		if (("tcp-stock", all[i]) in cost)
			draw(all[i])
	printf "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#777777\" " \
		"stroke-dasharray=\"3\"/>\n", left + scale, top - 5, left + scale, bottom - 10
	print "</svg>"
}
