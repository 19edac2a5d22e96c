// Package prompt writes the system prompt: the rules of the agent, the use of the offered
// tools, the environment and the project's notes. The same [Config] always gives the same
// bytes, which the prompt cache requires. The package reads files only with functions of
// the caller.
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

// Config has all values that the prompt depends on.
type Config struct {
	Folders []string  // absolute; the first is the main one; none: the work is on another machine
	Git     bool      // the first folder is in a git repository
	OS      string    // such as "linux"
	Shell   string    // shell of the terminal tool, such as "bash"
	Date    time.Time // the prompt has only the day
	Tools   []string  // names of the offered tools
	Host    string    // the editor, such as "Neovim 0.12"; empty: unknown
	// Sections are additional texts. The sections of a slot keep their order.
	Sections []Section
}

// Section is a text of the system prompt in addition to the fixed text.
type Section struct {
	Slot Slot
	Text string // complete, with its heading
}

// Slot is the position of a section.
type Slot int

const (
	Persona Slot = iota // after the rules: how the agent behaves
	Project             // after the environment: data about the project
)

// System returns the whole system prompt.
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
	Context string // background for the subagent
	Answer  string // JSON Schema of the report; empty: the report is text
}

// Child returns the system prompt of a subagent. The text that all tasks share is first,
// so that the prompt cache applies to all of them.
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

// PersonaSection returns the section with the user's texts about the agent's behavior.
// They change its tone, not the rules. If all texts are empty, it returns none.
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

// conditions returns the conditions that hold for lines of the fixed text: the offered
// tools, and elsewhere if the work is on another machine.
func (c Config) conditions() []string {
	if len(c.Folders) > 0 {
		return c.Tools
	}
	return append(slices.Clone(c.Tools), elsewhere)
}

// about returns the fixed text without the lines whose conditions do not hold. A line that
// starts with {a b} requires both conditions. A line that starts with {!a} requires that a
// does not hold.
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

// oneLine returns a name in one line. If it has characters that are not printable, it is
// quoted.
func oneLine(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

// Fence returns a line of backquotes that is longer than each such line in text.
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
