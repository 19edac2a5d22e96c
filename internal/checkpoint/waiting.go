package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Waiting is a checkpoint of a session with waiting changes after it: the user has neither accepted
// nor reverted them. Its Files are the files of these changes.
type Waiting struct {
	Info
	Session string
}

// mostLooks limits how many files Waiting compares with their earlier state. Further files count as
// changed.
const mostLooks = 2000

// Waiting returns the checkpoints with waiting changes of all sessions whose first folder is a
// folder of c.Files, the newest first. It completes the records of killed processes. c.Session is
// not used.
func (s *Store) Waiting(ctx context.Context, c Config) ([]Waiting, error) {
	if err := s.waitForKeepers(ctx, c.Files.Folders()); err != nil {
		return nil, err
	}
	sessions, err := s.sessionsOf(c.Files.Folders())
	if err != nil {
		return nil, err
	}
	found, looks := []Waiting{}, 0
	for _, session := range sessions {
		records, err := s.completed(session, c)
		if err != nil {
			return nil, err
		}
		w := waiting{accepted: s.accepted(session), stale: map[string]string{}}
		for _, r := range slices.Backward(records) {
			info := r.info()
			info.Files = slices.DeleteFunc(w.of(r), func(change *Change) bool {
				looks++
				return looks <= mostLooks && restoredByHand(ctx, c.Files, change)
			}).paths()
			if len(info.Files) > 0 {
				found = append(found, Waiting{info, session})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Waiting) int { return strings.Compare(b.ID, a.ID) })
	return found, nil
}

// restoredByHand reports whether the path of a change is back in its earlier state.
func restoredByHand(ctx context.Context, files *workspace.Workspace, change *Change) bool {
	now, err := files.Look(ctx, change.Path)
	return err == nil && stateOf(now).same(change.Before)
}

type changes []*Change

// paths returns the paths in order.
func (c changes) paths() []string {
	paths := make([]string, len(c))
	for i, change := range c {
		paths[i] = change.Path
	}
	slices.Sort(paths)
	return paths
}

// waiting goes through the records of a session, the newest first.
type waiting struct {
	accepted map[acceptedKey]State
	// stale holds, for a restored path, the oldest record whose change was reverted.
	stale map[string]string
}

// of returns the waiting changes of a record. Changes of folders, and changes possibly made by the
// user, do not wait.
func (w *waiting) of(r *record) (found changes) {
	var restored []string
	for _, c := range r.changes {
		oldest, reverted := w.stale[c.Path]
		switch {
		case reverted && r.ID >= oldest:
		case r.Kind == kindRestore:
			restored = append(restored, c.Path)
		case c.Unsure, c.Before.Kind == kindFolder, c.After.Kind == kindFolder, c.Before.same(c.After):
		default:
			if after, ok := w.accepted[acceptedKey{r.ID, c.Path}]; !ok || !after.same(c.After) {
				found = append(found, c)
			}
		}
	}
	for _, path := range restored {
		if r.To != "" { // else an earlier version has made the record
			w.stale[path] = r.To
		}
	}
	return found
}

// completed returns the records of a session, oldest first. It completes the records of killed
// processes.
func (s *Store) completed(session string, c Config) ([]*record, error) {
	records, err := s.records(session)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(records, func(r *record) bool { return r.Owner != "" && !s.lives(r.Owner) }) {
		return records, nil
	}
	c.Session = session
	k := s.Keeper(c)
	err = k.recoverDead()
	if err = errors.Join(err, k.Close(context.WithoutCancel(k.ctx))); err != nil {
		return nil, err
	}
	return s.records(session)
}

// waitForKeepers waits until this process's ended turns are recorded.
func (s *Store) waitForKeepers(ctx context.Context, folders []string) error {
	s.mu.Lock()
	var keepers []*Keeper
	for k := range s.keepers {
		keepers = append(keepers, k)
	}
	s.mu.Unlock()
	for _, k := range keepers {
		if first := k.Files.Folders(); len(first) == 0 || !slices.Contains(folders, first[0]) {
			continue
		}
		if err := k.waitWritten(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sessionsOf returns the sessions with checkpoints whose first folder is in folders.
func (s *Store) sessionsOf(folders []string) ([]string, error) {
	return s.sessionsWith(func(of []string) bool { return len(of) > 0 && slices.Contains(folders, of[0]) })
}

// sessionsWith returns the sessions whose newest checkpoint has fitting folders.
func (s *Store) sessionsWith(fits func(folders []string) bool) (sessions []string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing checkpoints: %w", err)
	}
	for _, e := range entries {
		if h, ok := s.newestHeader(e.Name()); ok && fits(h.Folders) {
			sessions = append(sessions, e.Name())
		}
	}
	return sessions, nil
}

// SessionsIn returns the sessions with checkpoints whose folders, at the newest checkpoint, include
// dir, whatever path names it.
func (s *Store) SessionsIn(dir string) ([]string, error) {
	return s.sessionsWith(func(folders []string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return folderpath.Same(folder, dir) })
	})
}

// newestHeader returns the header of the newest record of a session. If there is none, ok is false.
func (s *Store) newestHeader(session string) (h header, ok bool) {
	entries, _ := os.ReadDir(s.sessionDir(session))
	for _, e := range slices.Backward(entries) { // the names of records are in the order of time
		if !strings.HasSuffix(e.Name(), recordSuffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := os.Open(filepath.Join(s.sessionDir(session), e.Name()))
		if err != nil {
			continue // it was removed meanwhile
		}
		line, _ := bufio.NewReader(f).ReadBytes('\n')
		_ = f.Close()
		if json.Unmarshal(line, &h) == nil {
			h.ID = strings.TrimSuffix(e.Name(), recordSuffix)
			return h, true
		}
	}
	return h, false
}

// Holder returns the session, with a folder of folders, of the checkpoint with an id. If id is
// empty, it returns the session with the newest checkpoint. If there is none, it returns "".
func (s *Store) Holder(folders []string, id string) (session string, err error) {
	sessions, err := s.sessionsOf(folders)
	if err != nil {
		return "", err
	}
	newest := ""
	for _, x := range sessions {
		if id != "" {
			if _, err := os.Lstat(s.recordFile(x, safeID(id))); err == nil {
				return x, nil
			}
		} else if h, ok := s.newestHeader(x); ok && h.ID > newest {
			session, newest = x, h.ID
		}
	}
	return session, nil
}

// safeID returns an id that cannot lead out of a session's directory.
func safeID(id string) string {
	if !isName(id) {
		return "none"
	}
	return id
}

// Accepted changes are lines of a file beside the records of their session. A line names the
// checkpoint, the path and its state after the change. A later change of the same turn waits again.
const acceptedFile = "accepted"

type acceptedLine struct {
	Checkpoint string `json:"checkpoint"`
	Change
}

type acceptedKey struct{ checkpoint, path string }

// accepted returns the accepted changes of a session.
func (s *Store) accepted(session string) map[acceptedKey]State {
	data, err := os.ReadFile(filepath.Join(s.sessionDir(session), acceptedFile))
	if err != nil {
		return nil
	}
	all := map[acceptedKey]State{}
	for line := range bytes.Lines(data) {
		var a acceptedLine
		if json.Unmarshal(line, &a) == nil {
			a.decode()
			all[acceptedKey{a.Checkpoint, a.Path}] = a.After
		}
	}
	return all
}

// Accept records the user's acceptance of a session's changes between a checkpoint and the next.
// files selects the changes; none selects all. A folder selects all files in it. Accept returns the
// paths, which no longer wait. If there is no such checkpoint, it returns [ErrUnknown]. A running
// turn does not prevent it.
func (s *Store) Accept(session, id string, files []string) (paths []string, err error) {
	if !isName(session) || !isName(id) {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	r, err := s.read(session, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	for _, c := range r.changes {
		if !chosen(c.Path, files) {
			continue
		}
		line, err := json.Marshal(acceptedLine{id, Change{Path: c.Path, After: c.After}.encode()})
		if err != nil {
			return nil, fmt.Errorf("accepting a change: %w", err)
		}
		lines.Write(append(line, '\n'))
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	return paths, s.addAccepted(session, lines.Bytes())
}

func (s *Store) addAccepted(session string, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	done, err := s.writing()
	if err != nil {
		return err
	}
	defer done()
	f, err := os.OpenFile(filepath.Join(s.sessionDir(session), acceptedFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("accepting a change: %w", err)
	}
	_, err = f.Write(lines)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("accepting a change: %w", err)
	}
	return nil
}
