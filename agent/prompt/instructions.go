package prompt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// InstructionsLimit limits the project instructions of a session, personaLimit the user's own
// texts, in bytes.
const (
	InstructionsLimit = 32 << 10
	personaLimit      = 8 << 10
)

// instructionNames are the names of project instructions in a directory. If they disagree, the
// later one applies.
var instructionNames = [...]string{".github/copilot-instructions.md", "CLAUDE.md", "AGENTS.md", ".hermes.md"}

// Instruction is a file of project instructions.
type Instruction struct {
	Dir  string // the directory that it applies to
	Path string // absolute
	Text string // the start of the file, if it is cut
	Size int    // of the whole file, in bytes
	Next int    // the first line that is not whole in Text; 0: Text is the whole file
	// Outside says that file tools cannot read it, because it is above the workspace folder.
	Outside bool
}

// Cut says how to read on, for the model. If the text is whole, Cut returns "".
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

// ReadInstructions reads the project instructions in directories, which are in the order from
// outside to inside. Together they have at most limit bytes; the inner ones are whole first.
// A file that repeats another one is left out. If read returns an error, the file is skipped.
func ReadInstructions(dirs []string, limit int, read func(dir, path string) ([]byte, error)) []Instruction {
	var all []Instruction
	for _, dir := range slices.Backward(dirs) {
		for _, name := range slices.Backward(instructionNames[:]) {
			path := filepath.Join(dir, name)
			data, err := read(dir, path)
			text := strings.TrimRight(strings.ToValidUTF8(string(data), "\uFFFD"), " \t\r\n")
			if err != nil || strings.TrimSpace(text) == "" || slices.ContainsFunc(all, func(i Instruction) bool { return i.Text == text }) {
				continue
			}
			shown := begin(text, limit)
			limit -= len(shown)
			one := Instruction{Dir: dir, Path: path, Text: shown, Size: len(data)}
			if shown != text {
				one.Next = 1 + strings.Count(shown, "\n")
				if shown != "" && text[len(shown)] == '\n' {
					one.Next++
				}
			}
			all = append(all, one)
		}
	}
	slices.Reverse(all)
	return all
}

// begin returns the whole lines of text up to a limit. A first line that is longer is cut.
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

// InstructionsSection returns the section with project instructions. If there are none, it
// returns none.
func InstructionsSection(all []Instruction) []Section {
	if len(all) == 0 {
		return nil
	}
	return []Section{{Project, "\n# Project instructions\n\n" +
		"Follow them (rank 2 of Authority). If two disagree, the later one applies.\n" + InstructionsText(all, oneLine)}}
}

// InstructionsText returns the texts, each fenced below its name.
func InstructionsText(all []Instruction, name func(path string) string) string {
	var b strings.Builder
	for _, i := range all {
		fence := Fence(i.Text)
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n%s\n", oneLine(name(i.Path)), fence, i.Text, fence)
		if cut := i.Cut(); cut != "" {
			fmt.Fprintf(&b, "(%s)\n", cut)
		}
	}
	return b.String()
}
