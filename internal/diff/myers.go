package diff

import "bytes"

// line is a line of a text with its end, and its start offset.
type line struct {
	text  []byte
	start int
}

// splitLines cuts text after every LF.
func splitLines(text []byte) []line {
	lines := make([]line, 0, bytes.Count(text, []byte{'\n'})+1)
	for start := 0; start < len(text); {
		end := len(text)
		if n := bytes.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n + 1
		}
		lines = append(lines, line{text[start:end], start})
		start = end
	}
	return lines
}

// offsetOf returns the offset of line i. Past the last line, it returns end.
func offsetOf(lines []line, i, end int) int {
	if i < len(lines) {
		return lines[i].start
	}
	return end
}

// Change replaces the items OldFrom up to OldTo of the old list by the items NewFrom up to NewTo of
// the new list. Either range may be empty.
type Change struct{ OldFrom, OldTo, NewFrom, NewTo int }

// Compare returns the changes from old to next, such as the lines or words of two texts: ascending,
// always with a common item between two changes.
func Compare(old, next []string) []Change { return changesOf(asLines(old), asLines(next)) }

func asLines(items []string) []line {
	lines := make([]line, len(items))
	for i, item := range items {
		lines[i].text = []byte(item)
	}
	return lines
}

// changesOf is [Compare] for lines, after Myers.
func changesOf(old, next []line) []Change {
	d := newDiffer(old, next)
	d.compare(0, len(d.old), 0, len(d.new))
	compact(d.oldIDs, d.oldGone, d.newIDs, d.newGone)
	compact(d.newIDs, d.newGone, d.oldIDs, d.oldGone)
	return d.changes()
}

// differ marks the lines without a counterpart. Lines in only one of the texts are marked at once
// and left out of the comparison.
type differ struct {
	oldIDs, newIDs   []int // numbers of all lines: equal lines, equal numbers
	old, new         []int // compared lines
	oldAt, newAt     []int // which line each of them is
	oldGone, newGone []bool
	forward, reverse []int // furthest points by diagonal
	maxCost          int
}

func newDiffer(old, next []line) *differ {
	d := &differ{oldGone: make([]bool, len(old)), newGone: make([]bool, len(next))}
	numbers := make(map[string]int, len(old))
	d.oldIDs, d.newIDs = intern(numbers, old), intern(numbers, next)
	inOld, inNew := present(d.oldIDs, len(numbers)), present(d.newIDs, len(numbers))
	d.old, d.oldAt = inBoth(d.oldIDs, inNew, d.oldGone)
	d.new, d.newAt = inBoth(d.newIDs, inOld, d.newGone)
	size := len(d.old) + len(d.new) + 3
	d.forward, d.reverse = make([]int, size), make([]int, size)
	d.maxCost = 256
	for n := size >> 14; n > 0; n >>= 2 {
		d.maxCost *= 2
	}
	return d
}

func intern(numbers map[string]int, lines []line) []int {
	ids := make([]int, len(lines))
	for i, l := range lines {
		id, ok := numbers[string(l.text)]
		if !ok {
			id = len(numbers)
			numbers[string(l.text)] = id
		}
		ids[i] = id
	}
	return ids
}

func present(ids []int, n int) []bool {
	in := make([]bool, n)
	for _, id := range ids {
		in[id] = true
	}
	return in
}

// inBoth picks the lines also in the other text, and marks the others.
func inBoth(ids []int, inOther, gone []bool) (picked, at []int) {
	for i, id := range ids {
		if inOther[id] {
			picked, at = append(picked, id), append(at, i)
		} else {
			gone[i] = true
		}
	}
	return picked, at
}

// compare marks the lines that differ between old[oldFrom:oldTo] and new[newFrom:newTo].
func (d *differ) compare(oldFrom, oldTo, newFrom, newTo int) {
	for oldFrom < oldTo && newFrom < newTo && d.old[oldFrom] == d.new[newFrom] {
		oldFrom, newFrom = oldFrom+1, newFrom+1
	}
	for oldFrom < oldTo && newFrom < newTo && d.old[oldTo-1] == d.new[newTo-1] {
		oldTo, newTo = oldTo-1, newTo-1
	}
	if oldFrom == oldTo || newFrom == newTo {
		for i := oldFrom; i < oldTo; i++ {
			d.oldGone[d.oldAt[i]] = true
		}
		for i := newFrom; i < newTo; i++ {
			d.newGone[d.newAt[i]] = true
		}
		return
	}
	x, y := d.split(oldFrom, oldTo, newFrom, newTo)
	d.compare(oldFrom, x, newFrom, y)
	d.compare(x, oldTo, y, newTo)
}

// split finds a point on a shortest path through the box, from both ends at once (linear space). If
// this costs more than maxCost, it returns the furthest point from an end, as git does.
func (d *differ) split(oldFrom, oldTo, newFrom, newTo int) (x, y int) {
	zero := len(d.new) + 1 // index of diagonal 0
	lowest, highest := oldFrom-newTo, oldTo-newFrom
	mid, end := oldFrom-newFrom, oldTo-newTo
	odd := (mid-end)&1 != 0
	fLow, fHigh, rLow, rHigh := mid, mid, end, end
	d.forward[zero+mid], d.reverse[zero+end] = oldFrom, oldTo
	const far = int(^uint(0) >> 1)
	for cost := 1; ; cost++ {
		if fLow > lowest {
			fLow--
			d.forward[zero+fLow-1] = -1
		} else {
			fLow++
		}
		if fHigh < highest {
			fHigh++
			d.forward[zero+fHigh+1] = -1
		} else {
			fHigh--
		}
		for k := fHigh; k >= fLow; k -= 2 {
			x := d.forward[zero+k+1]
			if left := d.forward[zero+k-1]; left >= x {
				x = left + 1
			}
			for x < oldTo && x-k < newTo && d.old[x] == d.new[x-k] {
				x++
			}
			d.forward[zero+k] = x
			if odd && rLow <= k && k <= rHigh && d.reverse[zero+k] <= x {
				return x, x - k
			}
		}
		if rLow > lowest {
			rLow--
			d.reverse[zero+rLow-1] = far
		} else {
			rLow++
		}
		if rHigh < highest {
			rHigh++
			d.reverse[zero+rHigh+1] = far
		} else {
			rHigh--
		}
		for k := rHigh; k >= rLow; k -= 2 {
			x := d.reverse[zero+k-1]
			if right := d.reverse[zero+k+1]; right <= x {
				x = right - 1
			}
			for x > oldFrom && x-k > newFrom && d.old[x-1] == d.new[x-k-1] {
				x--
			}
			d.reverse[zero+k] = x
			if !odd && fLow <= k && k <= fHigh && x <= d.forward[zero+k] {
				return x, x - k
			}
		}
		if cost >= d.maxCost {
			return d.furthest(fLow, fHigh, rLow, rHigh, oldFrom, oldTo, newFrom, newTo)
		}
	}
}

// furthest returns the furthest point of the search from its end.
func (d *differ) furthest(fLow, fHigh, rLow, rHigh, oldFrom, oldTo, newFrom, newTo int) (x, y int) {
	zero := len(d.new) + 1
	best := -1
	for k := fHigh; k >= fLow; k -= 2 {
		at := min(d.forward[zero+k], oldTo, newTo+k)
		if gain := (at - oldFrom) + (at - k - newFrom); gain > best {
			best, x, y = gain, at, at-k
		}
	}
	for k := rHigh; k >= rLow; k -= 2 {
		at := max(d.reverse[zero+k], oldFrom, newFrom+k)
		if gain := (oldTo - at) + (newTo - (at - k)); gain > best {
			best, x, y = gain, at, at-k
		}
	}
	return x, y
}

// changes returns the marked lines as changes.
func (d *differ) changes() []Change {
	var changes []Change
	i, j := 0, 0
	for i < len(d.oldGone) || j < len(d.newGone) {
		c := Change{OldFrom: i, NewFrom: j}
		for i < len(d.oldGone) && d.oldGone[i] {
			i++
		}
		for j < len(d.newGone) && d.newGone[j] {
			j++
		}
		c.OldTo, c.NewTo = i, j
		if c.OldFrom < c.OldTo || c.NewFrom < c.NewTo {
			changes = append(changes, c)
		}
		if i < len(d.oldGone) {
			i++
		}
		if j < len(d.newGone) {
			j++
		}
	}
	return changes
}
