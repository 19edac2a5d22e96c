// Package prompt writes the system prompt: who the agent is, how it works well
// with the tools that are offered, where it works, and what the project's own notes
// say. The same [Config] always gives the same bytes, so that a provider's prompt
// cache holds; nothing is read but through functions of the caller's.
package prompt

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed prompt.md
var words string

//go:embed child.md
var childWords string

// Config has all that the prompt depends on.
type Config struct {
	Folders []string  // absolute; the first is the main one; none: the work is on another machine
	Git     bool      // the first folder is in a git repository
	OS      string    // such as "linux"
	Shell   string    // what terminal runs commands with, such as "bash"
	Date    time.Time // only the day is told
	Tools   []string  // names of the offered tools
	Host    string    // the editor, such as "Neovim 0.12"; empty: unknown
	// Sections are further texts; those of a slot stand in their order.
	Sections []Section
}

// Section is a text of the system prompt beside the fixed ones.
type Section struct {
	Slot Slot
	Text string // whole, with its heading
}

// Slot is the place of a section.
type Slot int

const (
	Persona Slot = iota // behind the rules: how the agent behaves
	Project             // behind the environment: data about the project
)

// System is the whole system prompt.
func System(c Config) string {
	var b strings.Builder
	b.WriteString(about(words, c.conditions()))
	writeSections(&b, c.Sections, Persona)
	writePlace(&b, c)
	writeSections(&b, c.Sections, Project)
	return b.String()
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
	Context string // what it has to know
	Answer  string // JSON Schema that its answer has to fit; empty: it answers in words
}

// Child is the system prompt of a subagent. What all tasks have in common stands
// first, so that a provider's prompt cache holds for their siblings.
func Child(c Config, t Task) string {
	var b strings.Builder
	b.WriteString(about(childWords, c.conditions()))
	writePlace(&b, c)
	writeSections(&b, c.Sections, Project)
	fmt.Fprintf(&b, "\n# Your task\n\n%s\n", strings.TrimSpace(t.Goal))
	if t.Context != "" {
		fmt.Fprintf(&b, "\n# What you have to know\n\n%s\n", strings.TrimSpace(t.Context))
	}
	if t.Answer != "" {
		fmt.Fprintf(&b, "\n# The form of your report\n\nYour last message is one JSON value that fits this schema, and nothing else:\n\n%s\n", t.Answer)
	}
	return b.String()
}

// PersonaSection is the section for texts in which the user says how the agent behaves.
// They change its tone and not the rules. If all are empty, it returns no section.
func PersonaSection(texts ...string) []Section {
	text := strings.TrimSpace(strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n\n"))
	if text == "" {
		return nil
	}
	text, _ = begin(text, personaLimit)
	return []Section{{Persona, fmt.Sprintf("\n# Your manner\n\nThe user wants you to be like this. It shapes how you speak and what you care about; the rules above stay.\n\n%s\n", text)}}
}

func writePlace(b *strings.Builder, c Config) {
	b.WriteString("\n# Where you are\n\n")
	for i, folder := range c.Folders {
		label := "Also open"
		if i == 0 {
			label = "Working folder"
		}
		fmt.Fprintf(b, "- %s: %s\n", label, oneLine(folder))
	}
	if len(c.Folders) > 0 && c.Git {
		b.WriteString("- It is a git repository.\n")
	} else if len(c.Folders) > 0 {
		b.WriteString("- It is not a git repository.\n")
	}
	if len(c.Folders) > 0 {
		fmt.Fprintf(b, "- System: %s\n", oneLine(c.OS))
	}
	if c.Shell != "" && slices.Contains(c.Tools, "terminal") {
		fmt.Fprintf(b, "- Shell: %s\n", oneLine(c.Shell))
	}
	if c.Host != "" {
		fmt.Fprintf(b, "- Editor: %s\n", oneLine(c.Host))
	}
	fmt.Fprintf(b, "- Date: %s\n", c.Date.Format("2006-01-02"))
}

// elsewhere is the condition of lines about work on another machine.
const elsewhere = "elsewhere"

// conditions are what lines of the fixed text may ask for: the tools offered, and
// whether the work is on another machine.
func (c Config) conditions() []string {
	if len(c.Folders) > 0 {
		return c.Tools
	}
	return append(slices.Clone(c.Tools), elsewhere)
}

// about is the fixed text less the lines whose conditions do not hold: a line
// that begins with {a b} needs both, one with {!a} stands in its place.
func about(words string, offered []string) string {
	var b strings.Builder
	for line := range strings.Lines(words) {
		if rest, ok := strings.CutPrefix(line, "{"); ok {
			names, text, _ := strings.Cut(rest, "} ")
			if !applies(names, offered) {
				continue
			}
			line = text
		}
		b.WriteString(line)
	}
	return b.String()
}

func applies(names string, offered []string) bool {
	for _, name := range strings.Fields(names) {
		name, without := strings.CutPrefix(name, "!")
		if slices.Contains(offered, name) == without {
			return false
		}
	}
	return true
}

// oneLine returns a name that cannot be read as more than a name.
func oneLine(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

// Fence is a line of backquotes that text does not contain, to put around it.
func Fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
