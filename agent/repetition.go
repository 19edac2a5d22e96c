package agent

const (
	repeatedBytes = 8 << 10 // length of repeated text at which to stop
	repeatedUnit  = 1 << 10 // bytes of the longest repeated unit
	repeatedEvery = 512     // bytes between two checks
)

// repetition detects endless repetition in a text, a fault of small models. The zero value is
// ready to use.
type repetition struct {
	tail  []byte
	fresh int // bytes since the last check
}

// add adds a piece of the text. It reports whether the last repeatedBytes consist of
// repetitions of a unit of at most repeatedUnit bytes.
func (r *repetition) add(text string) bool {
	r.tail = append(r.tail, text...)
	if r.fresh += len(text); r.fresh < repeatedEvery || len(r.tail) < repeatedBytes {
		return false
	}
	r.fresh = 0
	r.tail = append(r.tail[:0], r.tail[len(r.tail)-repeatedBytes:]...)
	return period(r.tail) <= repeatedUnit
}

// period returns the length of the shortest unit whose repetition makes the text. Without a
// repetition, it is the length of the text.
func period(text []byte) int {
	border := make([]int, len(text)+1) // for each prefix: the length of the longest proper prefix that is also its suffix
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

// withoutRepeats reduces repetitions at the end of a text to a few.
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
