package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Missed is changes of a turn missing from all checkpoints, so no restore can revert them.
type Missed struct {
	ID       string    `json:"id"`                 // of the checkpoint that could not be written
	Title    string    `json:"title"`              // of the turn
	At       time.Time `json:"at"`                 // of the first of them
	Why      string    `json:"why"`                // there is no checkpoint
	Files    []string  `json:"files,omitempty"`    // absolute
	Commands bool      `json:"commands,omitempty"` // commands ran, too; their changes are not known
	Accepted bool      `json:"accepted,omitempty"` // the user has accepted them, so they do not wait
}

// mostMissed limits the number of kept turns, and mostMissedFiles the files of each.
const mostMissed, mostMissedFiles = 50, 500

// Log keeps the missed changes of a session for the next process.
type Log interface {
	LoadMissed() []Missed
	SaveMissed([]Missed)
}

// miss records the change of a path as missing from the snapshot. If path is "", the changes of
// commands are missing.
func (p *snapshot) miss(path, why string) {
	k := p.k
	k.missedMu.Lock()
	defer k.missedMu.Unlock()
	i := slices.IndexFunc(k.missed, func(m Missed) bool { return m.ID == p.record.ID })
	if i < 0 {
		i = len(k.missed)
		k.missed = append(k.missed, Missed{ID: p.record.ID, Title: p.record.Title, At: time.Now().UTC(), Why: why})
	}
	m := &k.missed[i]
	switch {
	case path == "":
		m.Commands = true
	case !slices.Contains(m.Files, path) && len(m.Files) < mostMissedFiles:
		m.Files = append(m.Files, path)
	}
}

// Missed returns the changes since a time missing from all checkpoints, the oldest first. files
// select as in [Choice].
func (k *Keeper) Missed(since time.Time, files []string) (all []Missed) {
	for _, m := range k.allMissed() {
		if m, some := m.without(files, nil); some && !m.At.Before(since) {
			all = append(all, m)
		}
	}
	return all
}

func (k *Keeper) allMissed() (all []Missed) {
	k.loadEarlier()
	k.missedMu.Lock()
	defer k.missedMu.Unlock()
	for _, m := range slices.Concat(k.earlierMissed, k.missed) {
		m.Files = slices.Clone(m.Files)
		all = append(all, m)
	}
	return all[max(0, len(all)-mostMissed):]
}

// loadEarlier loads the changes missed in earlier processes.
func (k *Keeper) loadEarlier() {
	if k.Log != nil {
		k.loadMissed.Do(func() { k.earlierMissed = k.Log.LoadMissed() })
	}
}

// AcceptMissed marks the missed changes with an id as accepted. They stay in [Keeper.Missed], because
// no restore reverts them. It returns their files. If there are none with this id, it returns
// [ErrUnknown].
func (k *Keeper) AcceptMissed(id string) (files []string, err error) {
	k.loadEarlier()
	if files, err = k.markAccepted(id); err == nil && k.Log != nil {
		k.Log.SaveMissed(k.allMissed())
	}
	return files, err
}

func (k *Keeper) markAccepted(id string) ([]string, error) {
	k.missedMu.Lock()
	defer k.missedMu.Unlock()
	for _, list := range [][]Missed{k.earlierMissed, k.missed} {
		for i := range list {
			if list[i].ID == id && id != "" {
				list[i].Accepted = true
				return slices.Clone(list[i].Files), nil
			}
		}
	}
	return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
}

// MissedOf returns the missed changes of each session of this process whose first folder is in
// folders. It has those that could not be stored, too.
func (s *Store) MissedOf(folders []string) map[string][]Missed {
	s.mu.Lock()
	keepers := slices.Collect(maps.Keys(s.keepers))
	s.mu.Unlock()
	found := map[string][]Missed{}
	for _, k := range keepers {
		if first := k.Files.Folders(); len(first) == 0 || !slices.Contains(folders, first[0]) {
			continue
		}
		if all := k.allMissed(); len(all) > 0 {
			found[k.Session] = all
		}
	}
	return found
}

// keepMissed saves the missed changes if the snapshot missed any.
func (p *snapshot) keepMissed() {
	p.k.missedMu.Lock()
	none := !slices.ContainsFunc(p.k.missed, func(m Missed) bool { return m.ID == p.record.ID })
	p.k.missedMu.Unlock()
	if !none && p.k.Log != nil {
		p.k.Log.SaveMissed(p.k.allMissed())
	}
}

// without returns m without the restored files and the files not chosen. If nothing is left, it
// returns false.
func (m Missed) without(files, restored []string) (Missed, bool) {
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(path string) bool {
		return !chosen(path, files) || slices.Contains(restored, path)
	})
	return m, len(m.Files) > 0 || m.Commands
}

// keepMissed adds the chosen files whose changes are missing from all checkpoints to an outcome.
// The restore could not revert them.
func (o *Outcome) keepMissed(all []Missed, files []string) {
	for _, m := range all {
		m, some := m.without(files, o.Restored)
		if !some {
			continue
		}
		o.Missed = append(o.Missed, m)
		for _, path := range m.Files {
			i := slices.IndexFunc(o.Kept, func(k Kept) bool { return k.Path == path })
			if i < 0 {
				i = len(o.Kept)
				o.Kept = append(o.Kept, Kept{Path: path})
			}
			o.Kept[i].Why = "no checkpoint has its change: " + m.Why
		}
	}
}
