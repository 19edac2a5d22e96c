package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// separator stands between the entries of a file. Hermes Agent reads and writes the same form.
const separator = "\n§\n"

const maxFile = 1 << 20 // bytes of a readable file

// File is a file with entries.
type File struct {
	Name  string // for people, such as "MEMORY.md"
	Path  string
	Limit int // in characters, separators included
}

// content is the text of a file on disk.
type content struct {
	raw     string
	entries []string
	drifted bool // by being read and written back, it would change or lose an entry
}

// read reads the file. If it does not exist, there are no entries.
func (f File) read() (content, error) {
	data, err := safefile.Read(f.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("%s could not be read: %w", f.Name, err)
	}
	if _, err := textfile.Decode(data); err != nil {
		return content{}, fmt.Errorf("%s could not be read: %w", f.Path, err)
	}
	return f.parse(data), nil
}

// parse finds the entries of a text. Equal entries count once.
func (f File) parse(data []byte) content {
	c := content{raw: string(data)}
	decoded, err := textfile.Decode(data)
	if err != nil { // a version used only to find changes
		decoded = data
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(decoded), "\uFFFD"), "\r\n", "\n")
	c.drifted = text != c.raw
	seen := map[string]bool{"": true}
	for _, e := range strings.Split(text, separator) {
		if e = strings.TrimSpace(e); !seen[e] {
			seen[e] = true
			c.entries = append(c.entries, e)
		}
		c.drifted = c.drifted || utf8.RuneCountInString(e) > f.Limit || hasSeparator(e)
	}
	c.drifted = c.drifted || joined(c.entries) != strings.TrimSpace(text)
	return c
}

// hasSeparator reports whether a line of an entry looks like the separator.
func hasSeparator(entry string) bool {
	for line := range strings.Lines(entry) {
		if strings.TrimSpace(line) == "§" {
			return true
		}
	}
	return false
}

func joined(entries []string) string { return strings.Join(entries, separator) }

// usage returns how full the file is, such as "67 %, 1474/2200".
func (f File) usage(entries []string) string {
	n := utf8.RuneCountInString(joined(entries))
	return fmt.Sprintf("%d %%, %d/%d", 100*n/max(f.Limit, 1), n, f.Limit)
}

// locked runs do while no other process changes the file. Hermes Agent takes the same lock.
func (f File) locked(ctx context.Context, do func() error) error {
	unlock, err := filelock.Lock(ctx, f.Path+".lock")
	if err != nil {
		return fmt.Errorf("%s is in use by another program: %w", f.Name, err)
	}
	defer unlock()
	return do()
}

// write replaces the text of the file as a whole. If the path is a link, its target is replaced.
func (f File) write(text string) error { return safefile.Save(f.Path, []byte(text), 0o600) }

// backUp copies the text of a file that cannot be written back unchanged.
func (f File) backUp(c content) error {
	return os.WriteFile(f.Path+".bak", []byte(c.raw), 0o600)
}

// edit is a single change of the entries.
type edit struct {
	Action  action `json:"action"`
	Content string `json:"content,omitempty"`
	OldText string `json:"old_text,omitempty"`
}

type action string

func (action) Enum() []string { return []string{"add", "replace", "remove"} }

// apply returns the text of the file after all edits. If any is impossible, it returns an error,
// and no edit applies.
func (f File) apply(c content, edits []edit) (entries []string, text string, err error) {
	entries, text = slices.Clone(c.entries), c.raw
	for _, e := range edits {
		if c.drifted && e.Action != "add" {
			return nil, "", fmt.Errorf("%s was edited by hand in a form that cannot be kept, so only action add works. The file was copied to %s.bak. Tell the user to put a line with § between entries", f.Name, f.Name)
		}
		if entries, err = e.apply(entries); err != nil {
			return nil, "", err
		}
	}
	counted := entries
	if c.drifted { // an entry over the limit stays until the user shortens it, and must not block others
		counted = slices.DeleteFunc(slices.Clone(entries), func(e string) bool { return utf8.RuneCountInString(e) > f.Limit && slices.Contains(c.entries, e) })
	}
	if n := utf8.RuneCountInString(joined(counted)); n > f.Limit {
		return nil, "", fmt.Errorf("%s would have %s of %s characters. Nothing was saved. Send one call with operations that shortens or removes other entries first", f.Name, thousands(n), thousands(f.Limit))
	}
	if !c.drifted {
		return entries, joined(entries), nil
	}
	for _, e := range edits { // the text is kept as it is
		if !slices.Contains(c.entries, e.Content) {
			text = strings.TrimRight(text, "\n") + separator + e.Content
		}
	}
	return entries, text, nil
}

func (e edit) apply(entries []string) ([]string, error) {
	if e.Action == "add" {
		if slices.Contains(entries, e.Content) {
			return entries, nil
		}
		return append(entries, e.Content), nil
	}
	i, err := find(entries, e.OldText)
	if err != nil {
		return nil, err
	}
	if e.Action == "remove" {
		return slices.Delete(entries, i, i+1), nil
	}
	if at := slices.Index(entries, e.Content); at >= 0 && at != i {
		return slices.Delete(entries, i, i+1), nil
	}
	entries[i] = e.Content
	return entries, nil
}

// resolved returns edits, which must be possible, with the whole replaced or removed entries. A
// replacement by an existing entry is a removal.
func resolved(entries []string, edits []edit) (all []edit, err error) {
	entries = slices.Clone(entries)
	for _, e := range edits {
		if e.Action != "add" {
			i, err := find(entries, e.OldText)
			if err != nil {
				return nil, err
			}
			e.OldText = entries[i]
			if at := slices.Index(entries, e.Content); e.Action == "replace" && at >= 0 && at != i {
				e = edit{Action: "remove", OldText: e.OldText}
			}
		}
		if entries, err = e.apply(entries); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// cut returns the entries for the model, up to the limit. The user may have written more by hand.
func (f File) cut(entries []string) (all []string) {
	left := f.Limit
	for i, e := range entries {
		if i > 0 {
			left -= utf8.RuneCountInString(separator)
		}
		if left <= 0 {
			return all
		}
		r := []rune(e)
		if len(r) > left {
			return append(all, string(r[:left])+"…")
		}
		all, left = append(all, e), left-len(r)
	}
	return all
}

// find returns the entry equal to old, else the only entry that contains it.
func find(entries []string, old string) (int, error) {
	if i := slices.Index(entries, old); i >= 0 {
		return i, nil
	}
	found, n := -1, 0
	for i, e := range entries {
		if strings.Contains(e, old) {
			found, n = i, n+1
		}
	}
	switch n {
	case 0:
		return -1, errors.New("no entry contains old_text. Nothing was saved. Copy it from the entries")
	case 1:
		return found, nil
	}
	return -1, fmt.Errorf("%d entries contain old_text. Nothing was saved. Give more of the entry that you mean", n)
}

// thousands returns a number with commas, such as "2,390".
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
