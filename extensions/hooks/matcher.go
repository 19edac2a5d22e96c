package hooks

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// Judge finds the hooks whose matcher fits no tool. If other tools may come, such as those of a plugin,
// the caller does not call it. Tools of MCP servers may always come.
func Judge(all []Hook) {
	for i := range all {
		h := &all[i]
		if h.misses() {
			h.unfit = fmt.Sprintf("it never runs, because its matcher %q fits no tool", h.Matcher)
			if tool, _ := alias.Tool(strings.Trim(h.Matcher, "^$"), alias.Ours); tool != "" {
				h.unfit += fmt.Sprintf(". Write %q", tool)
			}
		}
	}
}

// NeverRuns returns the reason why a hook never runs, or "". See [Judge].
func (h Hook) NeverRuns() string { return h.unfit }

// misses reports whether no tool fits the matcher, and no tool of an MCP server can.
func (h Hook) misses() bool {
	if h.matcher == nil || h.event != preTool && h.event != transformTool && h.event != postTool {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(alias.Tools(), known, []string{"LS"}), h.matcher.MatchString) && !mayStart(h.matcher.String(), "mcp_")
}

// mayStart reports whether an expression may match a text with a prefix. It returns true if this is unknown.
func mayStart(expression, prefix string) bool {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return true
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return true
	}
	at := consuming(prog, []uint32{uint32(prog.Start)})
	for _, r := range prefix {
		var next []uint32
		for _, pc := range at {
			if in := &prog.Inst[pc]; in.MatchRune(r) {
				next = append(next, in.Out)
			}
		}
		at = consuming(prog, next)
	}
	return len(at) > 0
}

// consuming returns the instructions that read the next character after the instructions in list. It
// ignores conditions such as ^.
func consuming(prog *syntax.Prog, list []uint32) (at []uint32) {
	seen := map[uint32]bool{}
	for len(list) > 0 {
		pc := list[0]
		list = list[1:]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			list = append(list, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			list = append(list, in.Out)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			at = append(at, pc)
		}
	}
	return at
}
