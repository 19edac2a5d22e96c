package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Entry is an installed skill in .hub/lock.json. The file is shared with Hermes Agent: unknown fields stay.
type Entry struct {
	Source      string         `json:"source"`
	Identifier  string         `json:"identifier"`
	TrustLevel  string         `json:"trust_level"`
	ScanVerdict string         `json:"scan_verdict"`
	ContentHash string         `json:"content_hash"` // "sha256:" and 16 hex digits
	InstallPath string         `json:"install_path"` // below skills/
	Files       []string       `json:"files"`
	Metadata    map[string]any `json:"metadata"` // ours: commit, sha256, ref
	InstalledAt string         `json:"installed_at"`
	UpdatedAt   string         `json:"updated_at"`

	rest map[string]json.RawMessage
}

// UnmarshalJSON keeps unknown fields.
func (e *Entry) UnmarshalJSON(data []byte) error {
	type plain Entry
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	return json.Unmarshal(data, &e.rest)
}

// MarshalJSON writes the unknown fields, too.
func (e Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	return withRest(plain(e), e.rest)
}

// withRest encodes an object and adds its missing fields from rest.
func withRest(known any, rest map[string]json.RawMessage) ([]byte, error) {
	data, err := json.Marshal(known)
	if err != nil || len(rest) == 0 {
		return data, err
	}
	all := maps.Clone(rest)
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func lockPath(home string) string { return filepath.Join(home, "skills", ".hub", "lock.json") }

// Installed returns the entries of the lock file by name. If there is no file, there are none.
func Installed(home string) (map[string]Entry, error) {
	_, entries, err := readLock(home)
	return entries, err
}

func readLock(home string) (file map[string]json.RawMessage, entries map[string]Entry, err error) {
	file, entries = map[string]json.RawMessage{}, map[string]Entry{}
	data, err := safefile.Read(lockPath(home), 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return file, entries, nil
	}
	if err != nil {
		return file, entries, err
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return file, entries, fmt.Errorf("%s: %w", lockPath(home), err)
	}
	if file["installed"] != nil {
		if err := json.Unmarshal(file["installed"], &entries); err != nil {
			return file, entries, fmt.Errorf("%s: %w", lockPath(home), err)
		}
	}
	if file == nil || entries == nil { // null
		return map[string]json.RawMessage{}, map[string]Entry{}, nil
	}
	return file, entries, nil
}

// Ref returns the git ref chosen by the user at the installation, or "".
func (e Entry) Ref() string {
	ref, _ := e.Metadata["ref"].(string)
	return ref
}

// audit appends a line to .hub/audit.log, in Hermes' form: time, action, name, source and trust, verdict, hash.
func audit(home, action, name string, e Entry) error {
	path := filepath.Join(filepath.Dir(lockPath(home)), "audit.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s %s %s:%s %s %s\n", time.Now().UTC().Format(time.RFC3339), action, name, e.Source, e.TrustLevel, e.ScanVerdict, e.ContentHash)
	return errors.Join(err, file.Close())
}

// changeLock edits the lock file under a lock. If edit returns an error, the file does not change. If the file cannot be
// written, undo is called; it may be nil.
func changeLock(ctx context.Context, home string, edit func(map[string]Entry) error, undo func()) error {
	hub := filepath.Dir(lockPath(home))
	if err := os.MkdirAll(hub, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(hub, "lock.json.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	file, entries, err := readLock(home)
	if err != nil {
		return err
	}
	if err := edit(entries); err != nil {
		return err
	}
	if err = writeLock(hub, file, entries); err != nil && undo != nil {
		undo()
	}
	return err
}

func writeLock(hub string, file map[string]json.RawMessage, entries map[string]Entry) (err error) {
	if file["version"] == nil {
		file["version"] = json.RawMessage("1")
	}
	if file["installed"], err = json.Marshal(entries); err != nil {
		return err
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(hub)
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return dir.Write("lock.json", append(data, '\n'), 0o600)
}

// filesOf returns the regular files below dir with slashes. They are sorted directory by directory, as Hermes sorts them:
// a/b stands before a-c.
func filesOf(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type().IsRegular() {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// Hash returns the sha256 of all files below dir, by Hermes' rule: path, NUL and content of the sorted files.
func Hash(dir string) (string, error) {
	files, err := filesOf(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range files {
		data, err := safefile.Read(filepath.Join(dir, filepath.FromSlash(name)), scanBytes)
		if err != nil {
			return "", err
		}
		_, _ = h.Write([]byte(name + "\x00"))
		_, _ = h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
