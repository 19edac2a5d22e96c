package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// toldFile, in the state directory, has the texts that were shown on this machine: a line each.
const toldFile = "told"

// maxTold limits the size of the file in bytes.
const maxTold = 64 << 10

// toldTexts has the texts shown on this machine.
type toldTexts struct{ mu sync.Mutex }

// first reports whether a text about a subject was not the last one shown on this
// machine, and notes it in home. A home shared by machines has a line for each machine. If the file cannot
// be read or written, it returns true.
func (f *toldTexts) first(home, subject, text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	host, _ := os.Hostname() // an unknown name is a machine of its own
	key := host + "\t" + subject + "\t"
	path := filepath.Join(home, toldFile)
	data, _ := safefile.Read(path, maxTold) // a missing file has no lines
	lines := strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	if slices.Contains(lines, key+text) {
		return false
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, key) })
	lines = append(lines, key+text)
	_ = safefile.Replace(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600) // else the next session shows the text again
	return true
}
