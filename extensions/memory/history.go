package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// maxHistory is the number of undoable writes; up to twice as many are kept.
const maxHistory = 50

// written is an undoable write of a file.
type written struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Path   string    `json:"path"`
	Before string    `json:"before"`
	After  string    `json:"after"`
}

// history returns the file with the last writes of all files below home, a JSON object per line.
func history(home string) File {
	return File{Name: "the history of memory", Path: filepath.Join(dir(home), ".history.jsonl")}
}

// readHistory returns the writes of the history. It leaves out lines cut by a crash.
func readHistory(f File) (all []written, err error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s could not be read: %w", f.Name, err)
	}
	for line := range bytes.Lines(data) {
		var w written
		if json.Unmarshal(line, &w) == nil {
			all = append(all, w)
		}
	}
	return all, nil
}

// encode returns the lines of writes.
func encode(all ...written) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	for _, w := range all {
		if err := e.Encode(w); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// change applies edits to a file and remembers the write. It returns the entries after it.
func change(ctx context.Context, home string, f File, edits []edit) (entries []string, err error) {
	err = f.locked(ctx, func() error {
		c, err := f.read()
		if err != nil {
			return err
		}
		if c.drifted {
			if err := f.backUp(c); err != nil {
				return err
			}
		}
		var text string
		entries, text, err = f.apply(c, edits)
		if err != nil || text == c.raw {
			return err
		}
		if err := f.write(text); err != nil {
			return err
		}
		if !utf8.ValidString(c.raw) { // JSON would change it; the copy keeps it
			return nil
		}
		return remember(ctx, home, written{time.Now().UTC(), f.Name, f.Path, c.raw, text})
	})
	return entries, err
}

// remember appends a write to the history. If the history reaches twice the number of undoable
// writes, the older half is dropped. A power failure can lose the last writes of the history, but
// not of memory.
func remember(ctx context.Context, home string, w written) error {
	h := history(home)
	return h.locked(ctx, func() error {
		f, err := os.OpenFile(h.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		lines, whole, err := count(f)
		if err != nil {
			return err
		}
		line, err := encode(w)
		if err != nil {
			return err
		}
		if !whole {
			line = "\n" + line
		}
		if lines < 2*maxHistory {
			_, err = f.WriteString(line)
			return err
		}
		all, err := readHistory(h)
		if err != nil {
			return err
		}
		text, err := encode(append(all[max(0, len(all)-maxHistory+1):], w)...)
		if err != nil {
			return err
		}
		return h.write(text)
	})
}

// count returns the number of lines, and whether the last is whole.
func count(r io.Reader) (lines int, whole bool, err error) {
	buffer := make([]byte, 64<<10)
	whole = true
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			lines, whole = lines+bytes.Count(buffer[:n], []byte{'\n'}), buffer[n-1] == '\n'
		}
		if err == io.EOF {
			return lines, whole, nil
		}
		if err != nil {
			return 0, false, err
		}
	}
}

// Undo reverts the last write below home, and returns the name of the file. If the file was
// changed since, it returns an error and changes nothing.
func Undo(ctx context.Context, home string) (name string, err error) {
	h := history(home)
	all, err := readHistory(h)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", errors.New("there is no write to undo")
	}
	last := all[len(all)-1]
	f := File{Name: last.Name, Path: last.Path, Limit: maxFile}
	return last.Name, f.locked(ctx, func() error { // as in change, the history is locked last
		c, err := f.read()
		if err != nil {
			return err
		}
		if c.raw != last.After {
			return fmt.Errorf("%s was changed after its last write. Nothing was undone; edit the file by hand: %s", f.Name, f.Path)
		}
		return h.locked(ctx, func() error {
			all, err := readHistory(h)
			if err != nil {
				return err
			}
			if len(all) == 0 || all[len(all)-1] != last {
				return errors.New("another program has written memory. Nothing was undone; try again")
			}
			if err := f.write(last.Before); err != nil {
				return err
			}
			text, err := encode(all[:len(all)-1]...)
			if err != nil {
				return err
			}
			return h.write(text)
		})
	})
}
