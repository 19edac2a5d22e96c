package foldertrust

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/markdown"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Offer lists the skills, commands, agents and servers of a folder. To make it, nothing is started,
// requested or expanded.
type Offer struct {
	Folder   string   `json:"folder"`
	Trusted  bool     `json:"trusted"`
	Skills   []Skill  `json:"skills"`
	Commands []Named  `json:"commands"`
	Agents   []Named  `json:"agents"`
	Servers  []Server `json:"servers"`
}

// Skill is a skill of the folder.
type Skill struct {
	Named
	Findings  []skills.Finding `json:"findings"`
	variables []string
}

// Named is a command or an agent of the folder.
type Named struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Server is an MCP server of the folder.
type Server struct {
	Name       string          `json:"name"`
	From       string          `json:"from"`
	Definition json.RawMessage `json:"definition"`
	Variables  []string        `json:"variables"`
	Approved   bool            `json:"approved"`
	Problem    string          `json:"error,omitempty"`
	line       string
}

// Look returns the offer of a workspace folder.
func Look(ctx context.Context, store trust.Store, folder string) (Offer, error) {
	root, err := trust.Root(folder)
	if err != nil {
		return Offer{}, err
	}
	o := Offer{Folder: root, Trusted: store.Trusted(folder), Skills: []Skill{}, Commands: []Named{}, Agents: []Named{}, Servers: []Server{}}
	for _, s := range skills.Offered(ctx, folder) {
		found, err := skills.Scan(s.Dir)
		if err != nil {
			found = append(found, skills.Finding{File: "SKILL.md", Level: skills.Warn, What: "files that cannot be read"})
		}
		o.Skills = append(o.Skills, Skill{Named{s.Name, s.Description}, tools.OrEmpty(found), s.Meta.Environment})
	}
	for _, dir := range skills.OfferedDirs(folder, markdown.CommandDirs) {
		o.Commands = append(o.Commands, named(markdown.In(dir, true))...)
	}
	for _, dir := range skills.OfferedDirs(folder, markdown.AgentDirs) {
		o.Agents = append(o.Agents, named(markdown.In(dir, true))...)
	}
	for _, s := range trust.Servers(folder) {
		if s.Definition == nil {
			s.Definition = json.RawMessage("{}")
		}
		o.Servers = append(o.Servers, Server{s.Name, s.From, s.Definition, tools.OrEmpty(s.Variables), store.Approved(s), s.Problem, s.Line()})
	}
	return o, nil
}

func named(files []markdown.File) (all []Named) {
	for _, f := range files {
		all = append(all, Named{f.Name, f.Description})
	}
	return all
}

// Empty reports whether the folder brings nothing.
func (o Offer) Empty() bool {
	return len(o.Skills)+len(o.Commands)+len(o.Agents)+len(o.Servers) == 0
}

// Summary counts the contents, such as "3 skills and 1 command".
func (o Offer) Summary() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{len(o.Skills), "skill"}, {len(o.Commands), "command"}, {len(o.Agents), "agent"}, {len(o.Servers), "MCP server"}} {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.what)
		case c.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", c.n, c.what))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// Text lists the contents, as Markdown.
func (o Offer) Text() string {
	var b strings.Builder
	state := "not trusted"
	if o.Trusted {
		state = "trusted"
	}
	fmt.Fprintf(&b, "`%s` is %s.", o.Folder, state)
	if o.Empty() {
		b.WriteString(" It brings no skills, commands, agents or MCP servers.\n")
		return b.String()
	}
	fmt.Fprintf(&b, " It brings %s:\n\n", o.Summary())
	for _, s := range o.Skills {
		fmt.Fprintf(&b, "- skill **%s**: %s", cut(s.Name), cut(s.Description))
		if len(s.variables) > 0 {
			b.WriteString(" (wants " + names(s.variables) + ")")
		}
		b.WriteByte('\n')
		for _, f := range s.Findings {
			fmt.Fprintf(&b, "  - %s: %s\n", f.Level, cut(f.String()))
		}
	}
	for _, c := range o.Commands {
		fmt.Fprintf(&b, "- command **/%s**: %s\n", cut(c.Name), cut(c.Description))
	}
	for _, a := range o.Agents {
		fmt.Fprintf(&b, "- agent **%s**: %s\n", cut(a.Name), cut(a.Description))
	}
	for _, s := range o.Servers {
		if s.Problem != "" {
			fmt.Fprintf(&b, "- MCP server **%s** (%s): cannot be used: %s\n", orUnnamed(s.Name), cut(s.From), cut(s.Problem))
			continue
		}
		state := "not approved"
		if s.Approved {
			state = "approved"
		}
		fmt.Fprintf(&b, "- MCP server **%s** (%s), %s: `%s`", orUnnamed(s.Name), cut(s.From), state, escape.Line(tools.OneLine(s.line, 200)))
		if len(s.Variables) > 0 {
			b.WriteString(" (uses " + names(s.Variables) + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func orUnnamed(name string) string {
	if name == "" {
		return "(no name)"
	}
	return cut(name)
}

// names joins a list of names from a repository.
func names(list []string) string { return cut(strings.Join(list, ", ")) }

// cut returns a repository's text on a single line, with hidden characters as their numbers.
func cut(text string) string { return escape.Line(tools.OneLine(text, 160)) }
