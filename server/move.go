package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// Move is a renamed folder.
type Move struct {
	folderpath.Move
	Folders  []string // the old folder, and the sessions' folders below it, by their old paths
	Sessions []string // the ids of its sessions
}

// MoveSessions gives everything that belongs to a folder its new path: its sessions, the sessions
// of folders below it, and the data of features. Only the user may cause it, because trust moves,
// too. It returns the number of sessions and the moved features. If it fails or is killed, it can
// be repeated.
func (s *Service) MoveSessions(ctx context.Context, from folderpath.Move) (sessions int, parts []string, err error) {
	m := Move{Move: folderpath.Move{Old: filepath.Clean(from.Old), New: filepath.Clean(from.New)}}
	if info, err := os.Stat(m.New); err != nil || !info.IsDir() {
		return 0, nil, fmt.Errorf("%s is not a folder. Nothing was moved. Rename the folder first, or correct the path", m.New)
	}
	st := s.theStore(s.synchronous())
	heads, err := sessionsOf(ctx, st, m.Move)
	if err != nil {
		return 0, nil, err
	}
	if len(heads) == 0 {
		return 0, nil, fmt.Errorf("%s has no sessions. Nothing was moved. See hermes-ls sessions list for the folders that have some", m.Old)
	}
	m.Folders = []string{m.Old}
	for _, x := range heads {
		release, err := st.Claim(x.ID)
		if err != nil {
			return 0, nil, fmt.Errorf("%w. Nothing was moved", err)
		}
		defer release()
		m.Sessions = append(m.Sessions, x.ID)
		for _, folder := range append([]string{x.Cwd}, x.Folders...) {
			if _, ok := m.Path(folder); ok && !slices.Contains(m.Folders, folder) {
				m.Folders = append(m.Folders, folder)
			}
		}
	}
	for _, f := range s.features {
		if f.Moved == nil {
			continue
		}
		part, err := f.Moved(ctx, m)
		if err != nil {
			return 0, parts, fmt.Errorf("%w. The sessions were not moved. Run the command again", err)
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	for _, x := range heads {
		if err := st.Update(ctx, x.ID, func(head *store.Session) {
			head.Cwd, _ = m.Path(head.Cwd)
			for i, folder := range head.Folders {
				head.Folders[i], _ = m.Path(folder)
			}
		}); err != nil && !errors.Is(err, store.ErrNotFound) {
			return sessions, parts, fmt.Errorf("%w. Run the command again for the other sessions", err)
		}
		sessions++
	}
	return sessions, parts, nil
}

// sessionsOf returns the sessions of the old folder and of folders below it.
func sessionsOf(ctx context.Context, st *store.Store, m folderpath.Move) (all []store.Session, err error) {
	known := map[string]bool{} // of each folder, whether it moves
	moves := func(folder string) bool {
		is, ok := known[folder]
		if !ok {
			_, is = m.Path(folder)
			known[folder] = is
		}
		return is
	}
	for cursor := ""; ; {
		page, next, err := st.List(ctx, store.Filter{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			if moves(x.Cwd) || slices.ContainsFunc(x.Folders, moves) {
				all = append(all, x)
			}
		}
		if cursor = next; cursor == "" {
			return all, nil
		}
	}
}

// FolderGone returns an error if the folder of a session does not exist. The error names the
// command for moving the session. now is the folder for that command; empty: unknown.
func FolderGone(old, now string) error {
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if now == "" || filepath.Clean(now) == filepath.Clean(old) {
		now = "NEW"
	} else {
		now = folderpath.Shell(now)
	}
	return fmt.Errorf("the folder of the session, %q, does not exist. If it was renamed, move its sessions: hermes-ls sessions move %s %s", old, folderpath.Shell(old), now)
}

// folderGone is FolderGone for an answer to a client.
func folderGone(old, now string) error {
	if err := FolderGone(old, now); err != nil {
		return badInput("cwd", "%v", err)
	}
	return nil
}

// belongs returns an error if a stored session cannot be opened at a place.
func belongs(head store.Session, p *Place, verb string) error {
	if err := folderGone(head.Cwd, p.Cwd); err != nil {
		return err
	}
	for _, folder := range p.Folders {
		if err := folderGone(folder, ""); err != nil && slices.Contains(head.Folders, folder) {
			return err
		}
	}
	if err := p.check(); err != nil {
		return err
	}
	if !folderpath.Same(p.Cwd, head.Cwd) {
		return badInput("cwd", verb, head.Cwd, p.Cwd)
	}
	return nil
}
