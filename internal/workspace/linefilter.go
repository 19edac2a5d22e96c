package workspace

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

const (
	filterStates = 400     // more are not worth their tables
	filterWork   = 1 << 21 // steps of building them
	filterASCII  = 128
	filterBytes  = 256
)

// lineFilter finds lines in which a pattern may match, when no text is known that
// they hold. It is a table of states over ASCII: a line that has other bytes may
// always match, and so may one that meets all but a word's boundary.
type lineFilter struct {
	next []uint32 // by state, times filterBytes, and byte: so one look a byte is enough
	ends []bool   // states in which a line may match that ends here
	// exact: an ASCII line that may match does, since nothing was left out.
	exact bool
}

// The states that have a meaning of their own. The first ones end a scan.
const (
	notASCII = iota
	mayMatch
	atLineStart
)

// newLineFilter builds the table; nil: it would be too large.
func newLineFilter(tree *syntax.Regexp) *lineFilter {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	b := &filterBuilder{prog: prog, states: map[string]uint16{}, filter: &lineFilter{}}
	start := b.closure([]uint32{uint32(prog.Start)}, syntax.EmptyBeginLine|syntax.EmptyBeginText)
	b.restart = b.closure([]uint32{uint32(prog.Start)}, 0)
	if b.matches(start) {
		return nil // every line may match
	}
	b.filter.exact = !slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^lineBounds != 0
	})
	b.sets = [][]uint32{nil, nil, start}
	b.states[key(start)] = atLineStart
	for at := 0; at < len(b.sets); at++ {
		if !b.row(uint16(at)) {
			return nil
		}
	}
	return b.filter
}

// filterBuilder makes states of sets of instructions.
type filterBuilder struct {
	prog    *syntax.Prog
	filter  *lineFilter
	sets    [][]uint32
	states  map[string]uint16
	restart []uint32 // a match may begin anywhere
	work    int
}

func key(set []uint32) string {
	var b []byte
	for _, pc := range set {
		b = binary.LittleEndian.AppendUint32(b, pc)
	}
	return string(b)
}

// row fills in where a state goes from here.
func (b *filterBuilder) row(state uint16) bool {
	set := b.sets[state]
	met := syntax.EmptyEndLine | syntax.EmptyEndText
	if state == atLineStart { // of an empty line
		met |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	ends := b.matches(b.closure(set, met))
	b.filter.ends = append(b.filter.ends, ends)
	for c := range filterBytes {
		next := uint16(atLineStart)
		switch {
		case c >= filterASCII:
			next = notASCII
		case state < atLineStart: // nothing follows
		case ends && (c == '\n' || c == '\r'):
			next = mayMatch
		case c == '\n':
		default:
			var ok bool
			if next, ok = b.state(b.step(set, rune(c))); !ok {
				return false
			}
		}
		b.filter.next = append(b.filter.next, uint32(next)*filterBytes)
	}
	return true
}

func (b *filterBuilder) state(set []uint32) (uint16, bool) {
	if b.matches(set) {
		return mayMatch, true
	}
	k := key(set)
	if s, ok := b.states[k]; ok && s != atLineStart {
		return s, true
	}
	if len(b.sets) >= filterStates || b.work > filterWork {
		return 0, false
	}
	s := uint16(len(b.sets))
	b.sets = append(b.sets, set)
	b.states[k] = s
	return s, true
}

// step is the set after one more character.
func (b *filterBuilder) step(set []uint32, r rune) []uint32 {
	var after []uint32
	for _, pc := range set {
		b.work++
		switch i := &b.prog.Inst[pc]; i.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if i.MatchRune(r) {
				after = append(after, i.Out)
			}
		}
	}
	if len(after) == 0 {
		return b.restart
	}
	return merged(b.closure(after, 0), b.restart)
}

func merged(a, b []uint32) []uint32 {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// lineBounds are the assertions that hold at the ends of a line alone.
const lineBounds = syntax.EmptyBeginLine | syntax.EmptyBeginText | syntax.EmptyEndLine | syntax.EmptyEndText

// closure follows what needs no character. Of the assertions, those of the beginning
// and end of a line hold if met says so; others hold always, since a line is only
// picked out to be looked at.
func (b *filterBuilder) closure(from []uint32, met syntax.EmptyOp) []uint32 {
	seen := map[uint32]bool{}
	todo := slices.Clone(from)
	var set []uint32
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		b.work++
		switch i := &b.prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&lineBounds&^met == 0 {
				todo = append(todo, i.Out)
			} else {
				set = append(set, pc) // it may hold further on
			}
		case syntax.InstFail:
		default:
			set = append(set, pc)
		}
	}
	slices.Sort(set)
	return set
}

func (b *filterBuilder) matches(set []uint32) bool {
	return slices.ContainsFunc(set, func(pc uint32) bool { return b.prog.Inst[pc].Op == syntax.InstMatch })
}

// candidate is a place in the first line from at on, which begins one, that may
// match; -1: none does. sure: it does, unless a carriage return ends it.
func (f *lineFilter) candidate(text []byte, at int) (place int, sure bool) {
	state, next := uint32(atLineStart*filterBytes), f.next
	for i := at; i < len(text); i++ {
		c := text[i]
		if state = next[state+uint32(c)]; state < atLineStart*filterBytes {
			return i, state == mayMatch*filterBytes && f.exact && c != '\r'
		}
	}
	if n := len(text); n > at && text[n-1] != '\n' && f.ends[state/filterBytes] {
		return n - 1, f.exact
	}
	return -1, false
}
