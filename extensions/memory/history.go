package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxHistory is the number of writes that can be undone.
const maxHistory = 50

// written is one write of a file, so that it can be undone.
type written struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Path   string    `json:"path"`
	Before string    `json:"before"`
	After  string    `json:"after"`
}

// history returns the file with the last writes of all files below home.
func history(home string) File {
	return File{Name: "the history of memory", Path: filepath.Join(dir(home), ".history.json")}
}

func readHistory(f File) (all []written, err error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s could not be read: %w", f.Name, err)
	}
	return all, nil
}

func writeHistory(f File, all []written) error {
	data, err := json.Marshal(all[max(0, len(all)-maxHistory):])
	if err != nil {
		return err
	}
	return f.write(string(data))
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
		return remember(ctx, home, written{time.Now().UTC(), f.Name, f.Path, c.raw, text})
	})
	return entries, err
}

func remember(ctx context.Context, home string, w written) error {
	h := history(home)
	return h.locked(ctx, func() error {
		all, err := readHistory(h)
		if err != nil {
			all = nil // a broken history must not keep memory from being written
		}
		return writeHistory(h, append(all, w))
	})
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
			return writeHistory(h, all[:len(all)-1])
		})
	})
}
