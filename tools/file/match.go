package file

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
)

// span is a piece of a text, in bytes.
type span struct{ start, end int }

// view is a text in which each CRLF reads as LF, as the model sees it.
type view struct {
	text string
	cuts []int // where in text a carriage return was left out
}

// viewOf returns the view of text in which to search for wanted. If wanted contains carriage
// returns and occurs in text, the view is text unchanged.
func viewOf(text, wanted string) view {
	if !strings.Contains(text, "\r\n") || strings.Contains(wanted, "\r") && strings.Contains(text, wanted) {
		return view{text: text}
	}
	var b strings.Builder
	b.Grow(len(text))
	v := view{}
	rest := text
	for {
		before, after, found := strings.Cut(rest, "\r\n")
		b.WriteString(before)
		if !found {
			break
		}
		v.cuts = append(v.cuts, b.Len())
		b.WriteByte('\n')
		rest = after
	}
	v.text = b.String()
	return v
}

// wanted is how the view would spell a text: the model may write CRLF where the
// file has LF.
func (v view) wanted(text string) string {
	if strings.Contains(text, "\r\n") && !strings.Contains(v.text, text) {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}

// original converts an offset in v to an offset in the original text: a line feed for CRLF begins
// at its carriage return.
func (v view) original(at int) int { return at + sort.SearchInts(v.cuts, at) }

// exactly returns every occurrence of wanted in v, including overlaps.
func (v view) exactly(wanted string) []span {
	var spans []span
	for _, at := range placesOf(v.text, wanted) {
		spans = append(spans, span{at, at + len(wanted)})
	}
	return spans
}

// placesOf returns where wanted begins in text, in order, also where it overlaps
// itself. An empty wanted is nowhere.
func placesOf(text, wanted string) []int {
	first := strings.Index(text, wanted)
	if first < 0 || wanted == "" {
		return nil
	}
	if !strings.Contains(text[first+1:], wanted) {
		return []int{first}
	}
	places := occurrences([]byte(text[first:]), []byte(wanted))
	for i := range places {
		places[i] += first
	}
	return places
}

// occurrences returns where wanted, which is not empty, begins in list, in order, including
// overlaps. It takes one pass, after Knuth, Morris and Pratt.
func occurrences[E comparable](list, wanted []E) []int {
	back := make([]int, len(wanted)+1) // length of the longest border of each beginning
	back[0] = -1
	for i, k := 0, -1; i < len(wanted); {
		for k >= 0 && wanted[i] != wanted[k] {
			k = back[k]
		}
		i, k = i+1, k+1
		back[i] = k
	}
	var places []int
	k := 0
	for i, x := range list {
		for k >= 0 && (k == len(wanted) || x != wanted[k]) {
			k = back[k]
		}
		if k++; k == len(wanted) {
			places = append(places, i+1-k)
		}
	}
	return places
}

// replacement asks to replace old by new.
type replacement struct {
	old, new string
	all      bool            // in every place
	lines    bool            // old is whole lines, without the final line end
	within   func(span) bool // where it may be; nil: anywhere
	stated   []diff.Change   // the changed lines, as given by the edit; nil: they are computed
}

// hits are the matches of an edit's old text, and how they were found.
type hits struct {
	replacement                   // as found, without the removed parts
	spans       []span            // in the text itself
	how         string            // how it differs there, for the model; empty: it does not
	fold        fold              // under which old and text are the same
	text        string            // the whole text
	end         func(span) string // how lines end at a place
	reindent    *reindent         // set if the file uses another indentation than the edit
}

// ambiguous is the cause of the error for an old text with several matches.
type ambiguous struct{ text string }

func (e *ambiguous) Error() string { return e.text }

// step is one way to find an old text.
type step struct {
	how       string
	find      finder
	fold      fold
	anyIndent bool // the file may indent it in another way
}

// finder searches for the old text of an edit. It returns its places and the edit as matched.
type finder func(context.Context, *textSearch, replacement) ([]span, replacement, error)

// textSearch is a search for an old text.
type textSearch struct {
	view
	left int // remaining work
}

// The limits of a search and the cost of its steps, in nanoseconds of a slow machine.
const (
	searchWork   = 500_000_000
	costOfIndent = 100 // a line
	costOfCell   = 4   // a pair of letters
)

var errTooLong = errors.New("old_string is not in the file exactly, and it is too long to look for text that is like it; nothing was changed. Send a shorter old_string, copied exactly from the file")

// spend subtracts cost from the remaining work. If not enough is left, it returns errTooLong; if
// ctx has ended, its error.
func (s *textSearch) spend(ctx context.Context, cost int) error {
	if s.left -= cost; s.left < 0 {
		return errTooLong
	}
	return ctx.Err()
}

// steps go from exact to lenient. A step is tried only if all previous steps have found nothing.
var steps = []step{
	{find: exact},
	{how: "although white space at the ends of lines differs", find: folded(fold{ends: true}), fold: fold{ends: true}},
	{how: "without the empty lines around old_string", find: trimmed(fold{ends: true}), fold: fold{ends: true}},
	{how: "although white space differs", find: folded(fold{ends: true, blanks: true}), fold: fold{ends: true, blanks: true}},
	{how: "although the indentation differs; new_string was indented to fit", find: byLine(fold{ends: true, blanks: true}), anyIndent: true},
	{how: `after undoing escapes such as \" in both strings`, find: unescaped(unescapeQuotes)},
	{how: `after undoing escapes such as \n in both strings`, find: unescaped(unescapeAll)},
	{how: "although look-alike characters (quotes, dashes, spaces) differ", find: folded(looksLong), fold: looksLong},
	{how: "although look-alike characters (quotes, dashes, spaces) differ", find: folded(looksShort), fold: looksShort},
	{how: "although look-alike characters and the indentation differ; new_string was indented to fit", find: byLine(looksLong), anyIndent: true},
	{how: "by its first and last line; lines between differ from old_string, and those were left as they are", find: byAnchors, anyIndent: true},
}

// fuzzyBytes is the longest text for inexact searches.
const fuzzyBytes = 8 << 20

// find searches for the old text of an edit. If it is missing, find returns no hits and no error.
func find(ctx context.Context, text string, e replacement) (hits, error) {
	s := &textSearch{view: viewOf(text, e.old), left: searchWork}
	e.old = s.wanted(e.old)
	for i, step := range steps {
		if i > 0 && len(text) > fuzzyBytes {
			break
		}
		if err := ctx.Err(); err != nil {
			return hits{}, err
		}
		spans, as, err := step.find(ctx, s, e)
		if err != nil {
			return hits{}, err
		}
		spans = s.allowed(spans, e)
		if len(spans) == 0 {
			continue
		}
		if !e.all && len(spans) > 1 {
			return hits{}, severalPlaces(text, spans, step.how)
		}
		found := hits{replacement: as, spans: withoutOverlaps(spans), how: step.how, fold: step.fold, text: text, end: lineEndsOf(text)}
		if step.anyIndent {
			found.reindent = newReindent(as, s.text)
		}
		return found, nil
	}
	return hits{}, nil
}

// allowed returns the spans where the replacement may be made, as offsets in the original text.
func (v view) allowed(spans []span, e replacement) []span {
	var kept []span
	for _, at := range spans {
		if e.lines && !(startsLine(v.text, at.start) && endsLine(v.text, at.end)) {
			continue
		}
		at = span{v.original(at.start), v.original(at.end)}
		if e.within == nil || e.within(at) {
			kept = append(kept, at)
		}
	}
	return kept
}

func startsLine(text string, at int) bool { return at == 0 || text[at-1] == '\n' }

// endsLine reports whether only blanks follow in the line. A place that includes its line end stops
// at the start of the next line.
func endsLine(text string, at int) bool {
	rest := strings.TrimLeft(text[at:], " \t")
	return rest == "" || rest[0] == '\n' || at > 0 && text[at-1] == '\n'
}

// withoutOverlaps removes spans that overlap the previous span.
func withoutOverlaps(spans []span) []span {
	last := -1
	return slices.DeleteFunc(spans, func(s span) bool {
		if s.start < last {
			return true
		}
		last = s.end
		return false
	})
}

// severalPlaces reports how many places match, and where the first are. Overlapping places count
// once, as for replace_all, if there are other places.
func severalPlaces(text string, places []span, how string) error {
	if apart := withoutOverlaps(slices.Clone(places)); len(apart) > 1 {
		places = apart
	}
	var lines []string
	for _, p := range places[:min(len(places), 5)] {
		lines = append(lines, fmt.Sprint(lineAt(text, p.start)))
	}
	more := ""
	if len(places) > len(lines) {
		more = ", …"
	}
	if how != "" {
		how, _, _ = strings.Cut(how, ";")
		how = ", " + how
	}
	return &ambiguous{fmt.Sprintf("old_string occurs %d times (at lines %s%s%s); nothing was changed. Add lines around it until it occurs once, or set replace_all", len(places), strings.Join(lines, ", "), more, how)}
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// exact is the first step: byte for byte.
func exact(_ context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
	return s.exactly(e.old), e, nil
}

// trimmed ignores empty lines at the start and the end of old, such as a line end missing in the
// last line of a file. The rest must match whole lines.
func trimmed(f fold) finder {
	return func(_ context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
		as, head, tail := withoutEmptyLines(e)
		if as.old == "" || !head && !tail {
			return nil, e, nil
		}
		spans := slices.DeleteFunc(f.places(s.text, as.old), func(at span) bool {
			return head && !startsLine(s.text, at.start) || tail && !endsLine(s.text, at.end)
		})
		spans, as = s.wholeLines(spans, as, tail)
		return spans, as, nil
	}
}

// wholeLines adds the end of the last line to a deletion; otherwise an empty line would stay.
func (v view) wholeLines(spans []span, e replacement, ended bool) ([]span, replacement) {
	if !ended || e.new != "" || slices.ContainsFunc(spans, func(at span) bool { return at.end >= len(v.text) || v.text[at.end] != '\n' }) {
		return spans, e
	}
	for i := range spans {
		spans[i].end++
	}
	e.old += "\n"
	return spans, e
}

// withoutEmptyLines removes the empty lines around old, and the same lines around new.
func withoutEmptyLines(e replacement) (as replacement, head, tail bool) {
	core := strings.TrimRight(e.old, " \t\n")
	if core != "" {
		after := e.old[len(core):]
		if i := strings.IndexByte(after, '\n'); i >= 0 {
			tail = true
			e.old = core + after[:i]
			if n := strings.TrimRight(e.new, " \t\r\n"); n != "" {
				end := e.new[len(n):]
				if i := strings.IndexByte(end, '\n'); i >= 0 {
					e.new = strings.TrimSuffix(n+end[:i], "\r")
				}
			} else {
				e.new = ""
			}
		}
	}
	rest := strings.TrimLeft(e.old, " \t\n")
	if i := strings.LastIndexByte(e.old[:len(e.old)-len(rest)], '\n'); i >= 0 {
		head = true
		e.old = e.old[i+1:]
		n := strings.TrimLeft(e.new, " \t\r\n")
		if i := strings.LastIndexByte(e.new[:len(e.new)-len(n)], '\n'); i >= 0 {
			e.new = e.new[i+1:]
		}
	}
	return e, head, tail
}

// unescaped searches for old without its string escapes. If it finds old, it removes the same
// escapes from new.
func unescaped(undo func(text string, isOld bool) (string, bool)) finder {
	return func(_ context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
		as := e
		var ok, okNew bool
		as.old, ok = undo(e.old, true)
		as.new, okNew = undo(e.new, false)
		if !ok || !okNew || strings.TrimSpace(as.old) == "" {
			return nil, e, nil
		}
		as.old = s.wanted(as.old) // an escaped CRLF counts as CRLF
		return s.exactly(as.old), as, nil
	}
}

// unescapeQuotes undoes \" and \'. A doubled backslash leaves it open how much was
// escaped.
func unescapeQuotes(text string, isOld bool) (string, bool) {
	plain := strings.NewReplacer(`\"`, `"`, `\'`, `'`).Replace(text)
	return plain, !strings.Contains(text, `\\`) && (!isOld || plain != text)
}

// unescapeAll removes one layer of escapes. In a text with real line ends, \n may be literal.
func unescapeAll(text string, isOld bool) (string, bool) {
	if strings.Contains(text, "\n") && strings.Contains(text, `\n`) {
		return text, false
	}
	proves := !isOld
	for _, escape := range []string{`\n`, `\t`, `\r`, `\\`} {
		proves = proves || strings.Contains(text, escape)
	}
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\'`, `'`).Replace(text), proves
}

// lineEndsOf returns the line end at each place; in most texts all are the same.
func lineEndsOf(text string) func(span) string {
	always := func(end string) func(span) string { return func(span) string { return end } }
	switch all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n"); {
	case all == 0:
		return always("")
	case crlf == 0:
		return always("\n")
	case crlf == all:
		return always("\r\n")
	}
	return func(s span) string { return lineEndAt(text, s) }
}

// lineEndAt is how lines end at s: inside it, else after it, else before it.
// Empty: the text is a single line.
func lineEndAt(text string, s span) string {
	at := strings.LastIndexByte(text[:s.end], '\n')
	if at < s.start {
		if after := strings.IndexByte(text[s.end:], '\n'); after >= 0 {
			at = s.end + after
		}
	}
	switch {
	case at < 0:
		return ""
	case at > 0 && text[at-1] == '\r':
		return "\r\n"
	default:
		return "\n"
	}
}
