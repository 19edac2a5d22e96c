package agent

const (
	repeatedBytes = 8 << 10 // of a text that repeats itself
	repeatedUnit  = 1 << 10 // bytes of the longest unit that is repeated
	repeatedEvery = 512     // bytes after which a text is looked at again
)

// repetition finds the end of a text that repeats itself, as small models write it without an end.
// The zero value is ready for a text.
type repetition struct {
	tail  []byte
	fresh int // bytes that came since the last look
}

// add takes the next piece of the text. It reports whether the last repeatedBytes repeat a unit
// of at most repeatedUnit bytes.
func (r *repetition) add(text string) bool {
	r.tail = append(r.tail, text...)
	if r.fresh += len(text); r.fresh < repeatedEvery || len(r.tail) < repeatedBytes {
		return false
	}
	r.fresh = 0
	r.tail = append(r.tail[:0], r.tail[len(r.tail)-repeatedBytes:]...)
	return period(r.tail) <= repeatedUnit
}

// period returns the length of the shortest unit that a text repeats. If it repeats none, that is its
// own length.
func period(text []byte) int {
	border := make([]int, len(text)+1) // of each prefix: its longest part that is both its start and its end
	border[0] = -1
	for i, k := 0, -1; i < len(text); i++ {
		for k >= 0 && text[k] != text[i] {
			k = border[k]
		}
		k++
		border[i+1] = k
	}
	return len(text) - border[len(text)]
}

// withoutRepeats returns a text whose end repeats a unit with only a few repeats.
func withoutRepeats(text string) string {
	if len(text) < repeatedBytes {
		return text
	}
	unit := period([]byte(text[len(text)-repeatedBytes:]))
	if unit > repeatedUnit {
		return text
	}
	begin := len(text) - repeatedBytes
	for begin > 0 && text[begin-1] == text[begin-1+unit] {
		begin--
	}
	return clipped(text, min(begin+3*unit, len(text)))
}
