package prompt

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/protected"
)

// InstructionsLimit limits the project instructions of a session, personaLimit the user's own
// texts, in bytes.
const (
	InstructionsLimit = 32 << 10
	personaLimit      = 8 << 10
)

// overrideName is the name of the file to use instead of AGENTS.md.
const overrideName = "AGENTS.override.md"

// instructionNames are the names of project instructions in a directory. If they disagree, the
// later applies.
var instructionNames = [...]string{".github/copilot-instructions.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", overrideName, ".hermes.md"}

// InstructionNames returns the names of project instructions in a directory.
func InstructionNames() []string { return instructionNames[:] }

// Instruction is a file of project instructions.
type Instruction struct {
	Dir  string // the directory to which it applies
	Path string // absolute
	Text string // the start of the file, if it is cut
	Size int    // of the whole file, in bytes
	Next int    // the first line not completely in Text; 0: Text is the whole file
	// Outside means file tools cannot read it, because it is above the workspace folder.
	Outside bool
}

// Cut tells the model how to read on. If the text is whole, Cut returns "".
func (i Instruction) Cut() string {
	if i.Next == 0 {
		return ""
	}
	how := "offset=%d"
	if i.Outside {
		how = "tail -n +%d"
	}
	return fmt.Sprintf("The file has %d bytes; %d are shown. Read on before you change files that it applies to: "+how+".", i.Size, len(i.Text), i.Next)
}

// InstructionReader reads project instructions.
type InstructionReader struct {
	Read   func(dir, path string) ([]byte, error) // reads a file that applies to dir; an error: there is none
	Import func(dir, path string) ([]byte, error) // reads a file named in a Claude Code file; nil: none is read
	// Missing is called for each unreadable import with the file and line of its name. It may
	// be nil.
	Missing func(from string, line int, name string, err error)
}

// ReadInstructions reads the project instructions in directories, ordered from outside to
// inside. Together they are at most limit bytes long; inner files take precedence. It omits a
// file that repeats another. Files imported by CLAUDE.md come before it.
func ReadInstructions(dirs []string, limit int, r InstructionReader) []Instruction {
	c := collector{InstructionReader: r, left: limit, seen: map[string]bool{}}
	for _, dir := range slices.Backward(dirs) {
		instead := false
		for _, name := range slices.Backward(instructionNames[:]) {
			if name == "AGENTS.md" && instead {
				continue
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			data, err := r.Read(dir, path)
			if err != nil {
				continue
			}
			text := c.add(dir, path, data)
			instead = instead || name == overrideName && text != ""
			if strings.Contains(name, "CLAUDE") {
				c.imports(dir, path, text, 1)
			}
		}
	}
	slices.Reverse(c.all)
	return c.all
}

// collector collects instructions. The first to apply are at the start.
type collector struct {
	InstructionReader
	all  []Instruction
	left int
	seen map[string]bool // paths
}

// add adds a file, and returns its text. It omits an empty file, a file that repeats another,
// and invisible characters.
func (c *collector) add(dir, path string, data []byte) (text string) {
	c.seen[path] = true
	text = strings.TrimRight(escape.Visible(strings.ToValidUTF8(string(data), "\uFFFD")), " \t\r\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if slices.ContainsFunc(c.all, func(i Instruction) bool { return i.Text == text }) {
		return text
	}
	shown := begin(text, c.left)
	c.left -= len(shown)
	one := Instruction{Dir: dir, Path: path, Text: shown, Size: len(data)}
	if shown != text {
		one.Next = 1 + strings.Count(shown, "\n")
		if shown != "" && text[len(shown)] == '\n' {
			one.Next++
		}
	}
	c.all = append(c.all, one)
	return text
}

// likeFile matches a name that looks like the path of a file.
var likeFile = lazyregexp.New(`^(\.{0,2}/|~)|\.(md|mdc|markdown|txt|rst|adoc|json|jsonc|ya?ml|toml)$`)

// imports adds the files named after @ in the text of a file, outside of code.
func (c *collector) imports(dir, from, text string, depth int) {
	for _, one := range protected.ImportsIn(text) {
		c.importFile(dir, from, one.Name, one.Line, depth)
	}
}

// importFile adds an imported file, and its imports.
func (c *collector) importFile(dir, from, name string, line, depth int) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	if c.Import == nil || c.seen[path] {
		return
	}
	var data []byte
	err := errors.New("imports can be 5 levels deep")
	if depth <= protected.MostImports {
		err = errors.New("it is outside of the workspace")
		if !strings.HasPrefix(name, "~") {
			data, err = c.Import(dir, path)
		}
	}
	if err != nil {
		if c.Missing != nil && likeFile.MatchString(name) {
			c.Missing(from, line, name, err)
		}
		return
	}
	c.imports(dir, path, c.add(dir, path, data), depth+1)
}

// begin returns the whole lines of text up to a limit. It cuts a first line longer than the
// limit.
func begin(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	if i := strings.LastIndexByte(text[:limit+1], '\n'); i > 0 {
		limit = i
	}
	return text[:limit]
}

// InstructionsSection returns the section with project instructions, and with the user's
// instructions for all projects. If there are none, it returns none.
func InstructionsSection(own, all []Instruction) []Section {
	text := ""
	if len(all) > 0 {
		text = "\n# Project instructions\n\n" +
			"Follow them (rank 2 of Authority). If two disagree, the later one applies.\n" + InstructionsText(all, oneLine)
	}
	if len(own) > 0 {
		text += "\n# Instructions of the user for all projects\n\n" +
			"The user has written them: they have the rank of the user's messages (rank 1 of Authority).\n" + InstructionsText(own, oneLine)
	}
	if text == "" {
		return nil
	}
	return []Section{{Slot: Project, Always: true, Text: text}}
}

// InstructionsText returns the texts, each fenced below its name.
func InstructionsText(all []Instruction, name func(path string) string) string {
	var b strings.Builder
	for _, i := range all {
		fence := markup.Fence(i.Text)
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n%s\n", oneLine(name(i.Path)), fence, i.Text, fence)
		if cut := i.Cut(); cut != "" {
			fmt.Fprintf(&b, "(%s)\n", cut)
		}
	}
	return b.String()
}
