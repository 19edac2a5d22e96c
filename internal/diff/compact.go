package diff

// group is a run of marked lines of a text; it may be empty. The groups of two compared texts
// correspond: between two neighbors is a single common line.
type group struct {
	lines      []int // equal lines have equal numbers
	gone       []bool
	start, end int
}

func firstGroup(lines []int, gone []bool) *group {
	g := &group{lines: lines, gone: gone}
	g.extend()
	return g
}

func (g *group) empty() bool { return g.start == g.end }

func (g *group) extend() {
	for g.end < len(g.gone) && g.gone[g.end] {
		g.end++
	}
}

func (g *group) extendUp() {
	for g.start > 0 && g.gone[g.start-1] {
		g.start--
	}
}

func (g *group) next() bool {
	if g.end == len(g.gone) {
		return false
	}
	g.start, g.end = g.end+1, g.end+1
	g.extend()
	return true
}

func (g *group) previous() {
	g.start, g.end = g.start-1, g.start-1
	g.extendUp()
}

// down moves the marks down by a line, if an equal line is marked instead. If the group then touches
// the next group, they merge.
func (g *group) down() bool {
	if g.end == len(g.gone) || g.lines[g.start] != g.lines[g.end] {
		return false
	}
	g.gone[g.start], g.gone[g.end] = false, true
	g.start, g.end = g.start+1, g.end+1
	g.extend()
	return true
}

func (g *group) up() bool {
	if g.start == 0 || g.lines[g.start-1] != g.lines[g.end-1] {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	g.gone[g.start], g.gone[g.end] = true, false
	g.extendUp()
	return true
}

// compact moves marks between equal lines, as git does: removed lines go next to added lines, and
// other marks go down as far as possible.
func compact(lines []int, gone []bool, otherLines []int, otherGone []bool) {
	g, other := firstGroup(lines, gone), firstGroup(otherLines, otherGone)
	for {
		if !g.empty() {
			align(g, other)
		}
		if !g.next() {
			return
		}
		other.next()
	}
}

func align(g, other *group) {
	meets := false // on its way g was aligned with marks of the other text
	for size := -1; size != g.end-g.start; {
		size = g.end - g.start
		for g.up() {
			other.previous()
		}
		meets = !other.empty()
		for g.down() {
			other.next()
			meets = meets || !other.empty()
		}
	}
	for meets && other.empty() && g.up() {
		other.previous()
	}
}
