package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// header is the first line of a checkpoint's file.
type header struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Title   string    `json:"title"`
	Created time.Time `json:"created"` // just before the first change
	Folders []string  `json:"folders"`
	To      string    `json:"to,omitempty"` // of a restore: the checkpoint whose state it restored
	// Base names the initial tree. Owner names the recording process. Both are empty once the
	// checkpoint is complete.
	Base  string `json:"base,omitempty"`
	Owner string `json:"owner,omitempty"`
}

// record is a checkpoint. Its file contains the header and then a line for each change. If several
// lines have the same path, the last applies.
type record struct {
	header
	changes []*Change
	byPath  map[string]*Change
}

func newRecord(h header) *record { return &record{header: h, byPath: map[string]*Change{}} }

// change returns the recorded change of a path. If there is none, it adds an empty change and
// returns known = false.
func (r *record) change(path string) (c *Change, known bool) {
	if c, known = r.byPath[path]; !known {
		c = &Change{Path: path}
		r.byPath[path] = c
		r.changes = append(r.changes, c)
	}
	return c, known
}

// tidy removes changes without a difference.
func (r *record) tidy() {
	r.changes = slices.DeleteFunc(r.changes, func(c *Change) bool {
		same := c.none()
		if same {
			delete(r.byPath, c.Path)
		}
		return same
	})
}

func (r *record) info() Info {
	i := Info{ID: r.ID, Created: r.Created, Title: r.Title, Restore: r.Kind == kindRestore}
	for _, c := range r.changes {
		if c.Before.Kind != kindFolder && c.After.Kind != kindFolder {
			i.Files = append(i.Files, c.Path)
		}
	}
	slices.Sort(i.Files)
	return i
}

// worth reports whether the record is kept: it has changes, or the user named it.
func (r *record) worth() bool { return len(r.changes) > 0 || r.Kind == kindNamed }

const recordSuffix = ".jsonl"

func (s *Store) sessionDir(session string) string {
	return filepath.Join(s.dir, "sessions", safefile.NameOf(session))
}

func (s *Store) recordFile(session, id string) string {
	return filepath.Join(s.sessionDir(session), id+recordSuffix)
}

// write replaces the file of r with its current content.
func (s *Store) write(session string, r *record) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	if err := enc.Encode(r.header); err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	for _, c := range r.changes {
		if err := enc.Encode(c.encode()); err != nil {
			return fmt.Errorf("writing a checkpoint: %w", err)
		}
	}
	if err := writeAtomic(s.recordFile(session, r.ID), out.Bytes()); err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	return nil
}

// add appends a change to the file of a record.
func (s *Store) add(session, id string, c *Change) error {
	line, err := json.Marshal(c.encode())
	if err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	f, err := os.OpenFile(s.recordFile(session, id), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	return nil
}

func (s *Store) removeRecord(session, id string) error {
	if err := os.Remove(s.recordFile(session, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a checkpoint: %w", err)
	}
	if !s.Has(session) {
		_ = os.Remove(filepath.Join(s.sessionDir(session), acceptedFile)) // of removed records
	}
	_ = os.Remove(s.sessionDir(session)) // fails unless the folder is empty
	return nil
}

// read reads the file of a checkpoint. It skips incomplete lines, such as the last line of a
// process killed before the announced change.
func (s *Store) read(session, id string) (*record, error) {
	data, err := os.ReadFile(s.recordFile(session, id))
	if err != nil {
		return nil, err
	}
	first, rest, _ := bytes.Cut(data, []byte{'\n'})
	r := newRecord(header{})
	if err := json.Unmarshal(first, &r.header); err != nil {
		return nil, fmt.Errorf("reading the checkpoint %s: %w", id, err)
	}
	r.ID = id
	lines := bufio.NewScanner(bytes.NewReader(rest))
	lines.Buffer(nil, len(rest)+1)
	for lines.Scan() {
		var c Change
		if json.Unmarshal(lines.Bytes(), &c) != nil || c.Path == "" {
			continue
		}
		c.decode()
		known, _ := r.change(c.Path)
		*known = c
	}
	return r, nil
}

// records returns the checkpoints of a session, oldest first. It skips unreadable files, because
// another process may have removed them.
func (s *Store) records(session string) ([]*record, error) {
	entries, err := os.ReadDir(s.sessionDir(session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing checkpoints: %w", err)
	}
	var all []*record
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		if r, err := s.read(session, id); err == nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// newID returns an id sorted after all earlier ids.
func newID() string {
	return uuid.Must(uuid.NewV7()).String() // fails only without a source of randomness
}

// Has reports whether a session has checkpoints.
func (s *Store) Has(session string) bool {
	entries, err := os.ReadDir(s.sessionDir(session))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), recordSuffix) && !isUnfinished(e.Name())
	})
}
