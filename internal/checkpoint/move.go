package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// Move gives the checkpoints of sessions the new paths of a renamed folder. No process may use the
// sessions meanwhile. It returns the number of changed checkpoints.
func (s *Store) Move(sessions []string, m folderpath.Move) (moved int, err error) {
	m = folderpath.Move{Old: folderpath.Real(m.Old), New: folderpath.Real(m.New)}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	done, err := s.writing()
	if err != nil {
		return 0, err
	}
	defer done()
	for _, session := range sessions {
		if !isName(session) {
			continue
		}
		records, err := s.records(session)
		if err != nil {
			return moved, err
		}
		for _, r := range records {
			changed, err := s.moveRecord(session, r, m)
			if err != nil {
				return moved, err
			}
			if changed {
				moved++
			}
		}
		if err := s.moveAccepted(session, m); err != nil {
			return moved, err
		}
	}
	return moved, nil
}

func (s *Store) moveRecord(session string, r *record, m folderpath.Move) (changed bool, err error) {
	move := func(path *string) {
		if next, ok := m.Below(*path); ok && next != *path {
			*path, changed = next, true
		}
	}
	for i := range r.Folders {
		move(&r.Folders[i])
	}
	for _, c := range r.changes {
		move(&c.Path)
	}
	if !changed {
		return false, nil
	}
	if r.Base != "" {
		if err := s.moveTree(r.Base, m); err != nil {
			return false, fmt.Errorf("moving the checkpoint %s: %w", r.ID, err)
		}
	}
	return true, s.write(session, r)
}

// moveAccepted also accepts the moved paths, so their changes do not wait again.
func (s *Store) moveAccepted(session string, m folderpath.Move) error {
	var lines bytes.Buffer
	for key, after := range s.accepted(session) {
		path, ok := m.Below(key.path)
		if !ok {
			continue
		}
		line, err := json.Marshal(acceptedLine{key.checkpoint, Change{Path: path, After: after}.encode()})
		if err != nil {
			return fmt.Errorf("moving accepted changes: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	return s.addAccepted(session, lines.Bytes())
}

// moveTree changes the paths of a record's initial tree. If there is none, the record is completed
// without it.
func (s *Store) moveTree(name string, m folderpath.Move) error {
	t, err := s.load(name)
	if err != nil {
		return nil
	}
	entries := make(map[string]entry, len(t.entries))
	for path, e := range t.entries {
		path, _ = m.Below(path)
		entries[path] = e
	}
	for i := range t.repos {
		t.repos[i].Folder, _ = m.Below(t.repos[i].Folder)
		t.repos[i].Objects, _ = m.Below(t.repos[i].Objects)
	}
	t.entries = entries
	return s.save(t, name)
}
