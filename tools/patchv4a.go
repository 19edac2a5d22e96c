package tools

import (
	"errors"
	"fmt"
	"strings"
)

// What a patch may do to a file.
const (
	opUpdate = iota
	opAdd
	opDelete
)

// fileOp is one file's part of a patch.
type fileOp struct {
	kind   int
	path   string
	moveTo string
	text   string // of a new file
	hunks  []hunk
}

// hunk is one place of an update.
type hunk struct {
	line     int      // in the patch, for messages
	under    []string // lines of the file that stand before the place, from @@
	old, new []string
	atEnd    bool // the place is the end of the file
}

const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	fileEnd     = "*** End of File"
	patchFormat = "A patch reads:\n*** Begin Patch\n*** Update File: path\n@@ a line above the place\n context\n-old\n+new\n*** Add File: path\n+text\n*** Delete File: path\n*** End Patch"
)

// parsePatch reads a V4A patch. Each line is of the patch itself, or begins with
// what it is; so a line that is added can hold anything.
func parsePatch(text string) ([]fileOp, error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) != patchBegin {
		first++
	}
	if first == len(lines) {
		return nil, fmt.Errorf("the patch has no line %q. %s", patchBegin, patchFormat)
	}
	p := &patchReader{lines: lines, at: first + 1}
	for !p.ended() {
		op, err := p.file()
		if err != nil {
			return nil, fmt.Errorf("line %d of the patch: %w; nothing was changed", p.at+1, err)
		}
		p.ops = append(p.ops, op)
	}
	if p.at >= len(lines) {
		return nil, fmt.Errorf("the patch does not end with %q: it may have been cut; nothing was changed. Send it whole", patchEnd)
	}
	if len(p.ops) == 0 {
		return nil, errors.New("the patch holds no file. " + patchFormat)
	}
	return p.ops, nil
}

type patchReader struct {
	lines []string
	at    int
	ops   []fileOp
}

// ended reports whether no more file follows; empty lines between are passed over.
func (p *patchReader) ended() bool {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	return p.at >= len(p.lines) || strings.TrimRight(p.lines[p.at], " \t") == patchEnd
}

// directive takes a line such as "*** Add File: path".
func (p *patchReader) directive(name string) (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	value, ok := strings.CutPrefix(p.lines[p.at], "*** "+name+":")
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
		if err == nil && len(op.hunks) == 0 && op.moveTo == "" {
			err = fmt.Errorf("the update of %s changes nothing: it has no line that begins with + or -", path)
		}
	} else {
		return op, fmt.Errorf("%q is not the beginning of a file. %s", oneLine(p.lines[p.at], 80), patchFormat)
	}
	if err == nil && op.path == "" {
		err = errors.New("no path is given")
	}
	return op, err
}

// added reads the text of a new file: lines that begin with +.
func (p *patchReader) added() (string, error) {
	var b strings.Builder
	for ; p.at < len(p.lines); p.at++ {
		line, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			if p.outside() || p.restEmpty() {
				break
			}
			return "", fmt.Errorf("%q: each line of a new file begins with +", oneLine(p.lines[p.at], 80))
		}
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// outside reports whether the line belongs to no file's text.
func (p *patchReader) outside() bool {
	line := p.lines[p.at]
	return strings.HasPrefix(line, "*** ") && strings.TrimRight(line, " \t") != fileEnd
}

// restEmpty reports whether only empty lines follow, up to the next file.
func (p *patchReader) restEmpty() bool {
	for _, line := range p.lines[p.at:] {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, "*** ") && strings.TrimRight(line, " \t") != fileEnd
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
		changes, err := p.hunk(&h)
		if err != nil {
			return nil, err
		}
		if !changes {
			return nil, fmt.Errorf("the place that begins at line %d changes nothing: no line of it begins with + or -", h.line)
		}
		all = append(all, h)
	}
	return all, nil
}

// anchorOf is the line of the file that a line with @@ names; the numbers of a
// unified diff name none.
func anchorOf(line string) string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "@@"))
	if numbers, rest, ok := strings.Cut(line, "@@"); ok && strings.HasPrefix(numbers, "-") {
		line = strings.TrimSpace(rest)
	}
	return strings.TrimSpace(strings.TrimSuffix(line, "@@"))
}

// hunk reads the lines of one place.
func (p *patchReader) hunk(h *hunk) (changes bool, err error) {
	for ; p.at < len(p.lines) && !p.outside() && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.TrimRight(line, " \t") == fileEnd:
			h.atEnd = true
			p.at++
			return changes, nil
		case line == "" && p.restEmpty():
			return changes, nil
		case line == "":
			h.old, h.new = append(h.old, ""), append(h.new, "")
		case line[0] == ' ':
			h.old, h.new = append(h.old, line[1:]), append(h.new, line[1:])
		case line[0] == '-':
			h.old, changes = append(h.old, line[1:]), true
		case line[0] == '+':
			h.new, changes = append(h.new, line[1:]), true
		case strings.HasPrefix(line, `\ No newline`):
		default:
			return false, fmt.Errorf("%q begins with neither a space (a line that stays), - (one that goes) nor + (one that comes)", oneLine(line, 80))
		}
	}
	return changes, nil
}
