package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// Temp is a folder of a session's own, which stands in for /tmp. It is locked while
// its server lives, so that others can tell when it is a dead one's.
type Temp struct {
	dir  string
	lock *os.File
}

const tempPrefix = "hermes-tmp-"

// NewTemp makes one, after it has removed those of servers that have died.
func NewTemp() (*Temp, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", tempPrefix) // 0700
	if err != nil {
		return nil, fmt.Errorf("making the session's folder for temporary files: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("making the session's folder for temporary files: %w", err)
	}
	t := &Temp{dir: dir}
	if err := t.fill(); err != nil {
		t.Remove()
		return nil, fmt.Errorf("making the session's folder for temporary files: %w", err)
	}
	return t, nil
}

func (t *Temp) fill() (err error) {
	if t.lock, err = os.OpenFile(filepath.Join(t.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := lock(t.lock); err != nil {
		return err
	}
	if err := os.Mkdir(t.Dir(), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(t.Dir(), 0o777|os.ModeSticky); err != nil { // as /tmp is; the folder around it is private
		return err
	}
	if err := os.WriteFile(t.blank(), nil, 0); err != nil {
		return err
	}
	return os.Mkdir(t.nothing(), 0o111)
}

// Dir is what commands see as /tmp.
func (t *Temp) Dir() string { return filepath.Join(t.dir, "tmp") }

// blank and nothing stand in for files and folders that are hidden.
func (t *Temp) blank() string   { return filepath.Join(t.dir, "blank") }
func (t *Temp) nothing() string { return filepath.Join(t.dir, "nothing") }

// keep is where what was taken back is kept, until the session ends.
func (t *Temp) keep() string { return filepath.Join(t.dir, "kept") }

// Remove removes it with all that is in it.
func (t *Temp) Remove() {
	removeAll(t.dir)
	if t.lock != nil {
		t.lock.Close() //nolint:errcheck // only a lock
	}
}

// removeAll also removes what a command has left without permission to be removed.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error { //nolint:errcheck // what cannot be entered stays
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700) //nolint:errcheck // as above
		}
		return nil
	})
	os.RemoveAll(dir) //nolint:errcheck // a temp folder
}

// sweep removes folders whose server has died without removing them.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ownedByUs(info) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue // just being made
		}
		if lock(f) == nil {
			removeAll(path)
		}
		f.Close() //nolint:errcheck // only a lock
	}
}
