package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/tools"
)

// The operations of a patch on a file.
const (
	opUpdate = iota
	opAdd
	opDelete
)

// fileOp is the part of a patch for one file.
type fileOp struct {
	kind   int
	path   string
	moveTo string
	text   string // of a new file
	hunks  []hunk
}

// hunk is a single change of an update.
type hunk struct {
	line     int      // in the patch, for messages
	under    []string // lines of the file before the change, from @@
	old, new []string
	stated   []diff.Change // where old and new differ
	atEnd    bool          // the place is the end of the file
}

// stays adds an unchanged line.
func (h *hunk) stays(line string) { h.old, h.new = append(h.old, line), append(h.new, line) }

// goes adds a removed line.
func (h *hunk) goes(line string) {
	d := h.difference()
	h.old = append(h.old, line)
	d.OldTo++
}

// comes adds a new line.
func (h *hunk) comes(line string) {
	d := h.difference()
	h.new = append(h.new, line)
	d.NewTo++
}

// difference returns the change to which the next line belongs.
func (h *hunk) difference() *diff.Change {
	o, n := len(h.old), len(h.new)
	if last := len(h.stated) - 1; last >= 0 && h.stated[last].OldTo == o && h.stated[last].NewTo == n {
		return &h.stated[last]
	}
	h.stated = append(h.stated, diff.Change{OldFrom: o, OldTo: o, NewFrom: n, NewTo: n})
	return &h.stated[len(h.stated)-1]
}

// idle reports whether a patch names a file without changing it.
func (op fileOp) idle() bool { return op.kind == opUpdate && op.moveTo == "" && len(op.hunks) == 0 }

const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	fileEnd     = "*** End of File"
	patchFormat = "A patch reads:\n*** Begin Patch\n*** Update File: path\n@@ a line above the place\n context\n-old\n+new\n*** Add File: path\n+text\n*** Delete File: path\n*** End Patch"
)

// parsePatch reads a V4A patch. Each line belongs to the patch itself or starts with its kind, so
// an added line can contain anything. Blanks around the patch's own lines are ignored where no line
// of a file is possible.
func parsePatch(text string) ([]fileOp, error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) != patchBegin {
		first++
	}
	if first == len(lines) {
		return nil, fmt.Errorf("the patch has no line %q. %s", patchBegin, patchFormat)
	}
	p := &patchReader{lines: lines[:endOfPatch(lines)], at: first + 1}
	if len(p.lines) == len(lines) {
		return nil, fmt.Errorf("the patch does not end with %q: it may have been cut; nothing was changed. Send it whole", patchEnd)
	}
	changes := false
	for !p.ended() {
		op, err := p.file()
		if err != nil {
			return nil, fmt.Errorf("line %d of the patch: %w; nothing was changed", p.at+1, err)
		}
		p.ops = append(p.ops, op)
		changes = changes || !op.idle()
	}
	if len(p.ops) == 0 {
		return nil, errors.New("the patch holds no file. " + patchFormat)
	}
	if !changes {
		return nil, fmt.Errorf("the patch changes nothing: no line of %s begins with + or -; nothing was changed", p.ops[0].path)
	}
	return p.ops, nil
}

// endOfPatch returns the number of the last line of a patch: the first end line, or the last line
// before the end of a here-document or a fence. If there is none, it returns the number of lines.
func endOfPatch(lines []string) int {
	for i, line := range lines {
		if strings.TrimRight(line, " \t") == patchEnd {
			return i
		}
	}
	last := len(lines) - 1
	for last > 0 && slices.Contains([]string{"", "```", "EOF"}, strings.TrimSpace(lines[last])) {
		last--
	}
	if strings.TrimSpace(lines[last]) == patchEnd {
		return last
	}
	return len(lines)
}

type patchReader struct {
	lines []string // up to the end of the patch
	at    int
	ops   []fileOp
}

// ended reports whether no more file follows; empty lines between are passed over.
func (p *patchReader) ended() bool {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	return p.at >= len(p.lines)
}

// directive takes a line such as "*** Add File: path".
func (p *patchReader) directive(name string) (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(p.lines[p.at], " \t"), "*** "+name+":")
	if !ok {
		return "", false
	}
	p.at++
	return strings.TrimSpace(value), true
}

func (p *patchReader) file() (op fileOp, err error) {
	if path, ok := p.directive("Add File"); ok {
		op = fileOp{kind: opAdd, path: path}
		op.text, err = p.added()
	} else if path, ok := p.directive("Delete File"); ok {
		op = fileOp{kind: opDelete, path: path}
	} else if paths, ok := p.directive("Move File"); ok {
		from, to, both := strings.Cut(paths, "->")
		if op = (fileOp{path: strings.TrimSpace(from), moveTo: strings.TrimSpace(to)}); !both || op.moveTo == "" {
			err = errors.New("a move reads *** Move File: from -> to")
		}
	} else if path, ok := p.directive("Update File"); ok {
		op = fileOp{path: path}
		op.moveTo, _ = p.directive("Move to")
		op.hunks, err = p.hunks()
	} else {
		return op, fmt.Errorf("%q is not the beginning of a file. %s", tools.OneLine(p.lines[p.at], 80), patchFormat)
	}
	if err == nil && op.path == "" {
		err = errors.New("no path is given")
	}
	return op, err
}

// added reads the text of a new file: lines with a leading +.
func (p *patchReader) added() (string, error) {
	var b strings.Builder
	for ; p.at < len(p.lines); p.at++ {
		line, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			if header(strings.TrimLeft(p.lines[p.at], " \t")) || p.restEmpty() {
				break
			}
			return "", fmt.Errorf("%q: each line of a new file begins with +", tools.OneLine(p.lines[p.at], 80))
		}
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// header reports whether a line of a patch begins a file.
func header(line string) bool {
	return strings.HasPrefix(line, "*** ") && strings.TrimRight(line, " \t") != fileEnd
}

// outside reports whether the line is not part of a hunk. After a space it could be a context line,
// except for an update followed by a line with @@.
func (p *patchReader) outside() bool {
	line := p.lines[p.at]
	return header(strings.TrimLeft(line, "\t")) || p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at+1], "@@") &&
		strings.HasPrefix(strings.TrimLeft(line, " \t"), "*** Update File: ")
}

// restEmpty reports whether only empty lines follow, up to the next file.
func (p *patchReader) restEmpty() bool {
	for _, line := range p.lines[p.at:] {
		if strings.TrimSpace(line) != "" {
			return header(line)
		}
	}
	return true
}

// hunks reads the places of an update.
func (p *patchReader) hunks() ([]hunk, error) {
	var all []hunk
	for p.at < len(p.lines) && !p.outside() && !p.restEmpty() {
		h := hunk{line: p.at + 1}
		for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
			if under := anchorOf(p.lines[p.at]); under != "" {
				h.under = append(h.under, under)
			}
		}
		if err := p.hunk(&h); err != nil {
			return nil, err
		}
		if len(h.stated) > 0 {
			all = append(all, h)
		}
	}
	return all, nil
}

// anchorOf returns the file's line named by a line with @@. The numbers of a unified diff name
// none.
func anchorOf(line string) string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "@@"))
	if numbers, rest, ok := strings.Cut(line, "@@"); ok && strings.HasPrefix(numbers, "-") {
		line = strings.TrimSpace(rest)
	}
	return strings.TrimSpace(strings.TrimSuffix(line, "@@"))
}

// hunk reads the lines of a single hunk.
func (p *patchReader) hunk(h *hunk) error {
	for ; p.at < len(p.lines) && !p.outside() && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.TrimRight(line, " \t") == fileEnd:
			h.atEnd = true
			p.at++
			return nil
		case line == "" && p.restEmpty():
			return nil
		case line == "":
			h.stays("")
		case line[0] == ' ':
			h.stays(line[1:])
		case line[0] == '-':
			h.goes(line[1:])
		case line[0] == '+':
			h.comes(line[1:])
		case strings.HasPrefix(line, `\ No newline`):
		default:
			return fmt.Errorf("%q begins with neither a space (a line that stays), - (one that goes) nor + (one that comes)", tools.OneLine(line, 80))
		}
	}
	return nil
}
