// Package prompt writes the system prompt: the rules of the agent, the use of the offered
// tools, the environment and the project's notes. Equal [Config] values always give equal
// bytes, as the prompt cache requires. The package reads files only through the caller's
// functions.
package prompt

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/render"
)

//go:embed *.md
var files embed.FS

// Config holds all values that affect the prompt.
type Config struct {
	Folders []string  // absolute; the first is the main folder; none: the work is on another machine
	Git     bool      // the first folder is in a git repository
	OS      string    // such as "linux"
	Shell   string    // shell of the terminal tool, such as "bash"
	Date    time.Time // the prompt contains only the day
	Tools   []Tool    // the offered tools
	Host    string    // the editor, such as "Neovim 0.12"; empty: unknown
	Model   string    // id of the model; empty: unknown
	Facts
	// Sections are additional texts. The sections of a slot keep their order.
	Sections []Section
}

// Facts are the limits of commands and scripts. The zero value adds nothing to the prompt.
type Facts struct {
	Approvals string // the mode, such as "ask"; empty: unknown
	Sandbox   string // the mode, such as "workspace-write"; empty: unknown
	Network   bool   // the sandbox or the container can use a network
	Remote    string // location of commands, such as "on build over ssh"; empty: on this machine
	Elsewhere bool   // files are on the commands' machine, not on this machine
}

// Tool holds the properties of an offered tool for the prompt. See [tools.Tool] for its
// properties.
type Tool struct {
	Name, Advice             string
	EditsFiles, RunsCommands bool
}

// runsCommands reports whether an offered tool runs commands.
func (c Config) runsCommands() bool {
	return slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.RunsCommands })
}

// editors returns the names of the offered edit tools, as "patch and write_file". If there are
// none, it returns "".
func (c Config) editors() string {
	var names []string
	for _, t := range c.Tools {
		if t.EditsFiles {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, " and ")
}

// Section is a text of the system prompt in addition to the built-in sections.
type Section struct {
	Slot Slot
	Text string // complete, with its heading
	// Always includes the section in the prompt for small context windows, too.
	Always bool
}

// Slot is the position of a section.
type Slot int

const (
	Persona Slot = iota // after the rules: how the agent behaves
	Project             // after the environment: data about the project
)

// System returns the whole system prompt.
func System(c Config) string { return c.write("prompt.md") }

// Small returns the system prompt for a small context window. It contains only the sections of
// the user's own texts and of project instructions.
func Small(c Config) string {
	var b strings.Builder
	c.run(&b, "small.md")
	for _, slot := range []Slot{Persona, Project} {
		for _, s := range c.Sections {
			if s.Slot == slot && s.Always {
				b.WriteString(s.Text)
			}
		}
	}
	return b.String()
}

// write writes a prompt, the environment, and the sections of both slots.
func (c Config) write(name string) string {
	var b strings.Builder
	c.run(&b, name)
	writeSections(&b, c.Sections, Persona)
	c.run(&b, "place.md")
	writeSections(&b, c.Sections, Project)
	return b.String()
}

// run writes a template.
func (c Config) run(b *strings.Builder, name string) {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	values := struct {
		Config
		RunsCommands bool
		Editors, Day string
	}{c, c.runsCommands(), c.editors(), c.Date.Format(time.DateOnly)}
	rendered, err := render.Text(string(text), render.Funcs{"line": func(v any) any { return oneLine(v.(string)) }}, values)
	if err != nil {
		panic(fmt.Sprintf("prompt: %s: %v", name, err)) // a mistake in the text
	}
	b.WriteString(rendered)
}

func writeSections(b *strings.Builder, all []Section, slot Slot) {
	for _, s := range all {
		if s.Slot == slot {
			b.WriteString(s.Text)
		}
	}
}

// Task is the work of a subagent. Goal is required.
type Task struct {
	Goal    string
	Context string // background for the subagent
	Role    string // instructions for its kind of work; empty: none
	Answer  string // JSON Schema of the report; empty: the report is text
}

// Child returns the system prompt of a subagent. The common text of all tasks comes first, so
// the prompt cache applies to all of them.
func Child(c Config, t Task) string {
	var b strings.Builder
	b.WriteString(c.write("child.md"))
	if t.Role != "" {
		fmt.Fprintf(&b, "\n# How you work\n\n%s\n", strings.TrimSpace(t.Role))
	}
	fmt.Fprintf(&b, "\n# Your task\n\n%s\n", strings.TrimSpace(t.Goal))
	if t.Context != "" {
		fmt.Fprintf(&b, "\n# Context\n\n%s\n", strings.TrimSpace(t.Context))
	}
	if t.Answer != "" {
		fmt.Fprintf(&b, "\n# Form of the report\n\nYour last message is one JSON value that fits this schema, and nothing else:\n\n%s\n", t.Answer)
	}
	return b.String()
}

// PersonaSection returns the section with the user's texts about the agent's behavior.
// They change its tone, not the rules. If all texts are empty, it returns none.
func PersonaSection(texts ...string) []Section {
	text := strings.TrimSpace(strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n\n"))
	if text == "" {
		return nil
	}
	return []Section{{Slot: Persona, Always: true, Text: fmt.Sprintf("\n# Persona\n\nThe user wants you to speak and behave like this. The rules above still apply.\n\n%s\n", begin(text, personaLimit))}}
}

// oneLine returns a name in a single line. A name with unprintable characters is quoted.
func oneLine(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}
