package toolsearch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// group holds the deferred tools of a server or a plugin.
type group struct {
	name, about string
	tools       []tools.Tool
}

const builtIn = "hermes-ls"

// groupsOf returns the groups of tools, by name.
func groupsOf(all []tools.Tool) []*group {
	groups := map[string]*group{}
	for _, t := range all {
		name, about := builtIn, ""
		if t.Group != nil {
			name, about = t.Group.Name, t.Group.About
		}
		g := groups[name]
		if g == nil {
			g = &group{name: name, about: about}
			groups[name] = g
		}
		g.tools = append(g.tools, t)
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.name, b.name) })
}

// list returns the deferred tools in at most limit bytes. Each group is listed with names and the
// first sentences of the descriptions. If these do not fit, it is listed with names, or on a single
// line. Small groups keep the most.
func list(all []tools.Tool, limit int) string {
	groups := groupsOf(all)
	texts := map[*group]string{}
	left := limit
	for _, g := range groups {
		texts[g] = g.line()
		left -= len(texts[g]) + 1
	}
	for _, g := range slices.SortedStableFunc(slices.Values(groups), func(a, b *group) int { return len(a.tools) - len(b.tools) }) {
		room := left + len(texts[g])
		text := g.names()
		if len(text) > room {
			continue // the sentences are longer
		}
		if long := g.sentences(); len(long) <= room {
			text = long
		}
		texts[g], left = text, room-len(text)
	}
	var b strings.Builder
	for i, g := range groups {
		rest := fmt.Sprintf("and %d more servers\n", len(groups)-i)
		if b.Len()+len(texts[g])+1 > limit-len(rest) && i < len(groups)-1 || b.Len()+len(texts[g])+1 > limit {
			if b.Len()+len(rest) <= limit {
				b.WriteString(rest)
			}
			break
		}
		b.WriteString(texts[g] + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// line describes the group on a single line.
func (g *group) line() string {
	n := shorten.OneLine(g.name, 60) + ": " + amount.Plural(len(g.tools), "tool")
	if g.about != "" {
		return n + ". " + shorten.OneLine(g.about, 120)
	}
	return n
}

// common returns the common prefix of the group's tool names, such as mcp__github__. If there is
// none, it returns "".
func (g *group) common() string {
	end := strings.LastIndex(g.tools[0].Name, "__")
	if end < 0 {
		return ""
	}
	start := g.tools[0].Name[:end+len("__")]
	if slices.ContainsFunc(g.tools, func(t tools.Tool) bool { return !strings.HasPrefix(t.Name, start) }) {
		return ""
	}
	return start
}

func (g *group) heading() string {
	head := g.line()
	if start := g.common(); start != "" {
		head += fmt.Sprintf(" (names start with %s)", start)
	}
	return head
}

func (g *group) names() string {
	start := g.common()
	names := make([]string, len(g.tools))
	for i, t := range g.tools {
		names[i] = strings.TrimPrefix(t.Name, start)
	}
	return g.heading() + "\n  " + strings.Join(names, ", ")
}

func (g *group) sentences() string {
	start := g.common()
	var b strings.Builder
	b.WriteString(g.heading())
	for _, t := range g.tools {
		fmt.Fprintf(&b, "\n  %s: %s", strings.TrimPrefix(t.Name, start), firstSentence(t.Description))
	}
	return b.String()
}

// firstSentence returns the first sentence of a description, without the server's name in
// parentheses.
func firstSentence(text string) string {
	if strings.HasPrefix(text, "(") {
		if _, rest, ok := strings.Cut(text, ") "); ok {
			text = rest
		}
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text, _, _ = strings.Cut(text, ". ")
	return shorten.OneLine(text, 120)
}
