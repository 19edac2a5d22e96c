package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Origin is where an installed plugin comes from.
type Origin struct {
	Source     string    `json:"source,omitempty"` // git, directory, url or well-known
	Identifier string    `json:"identifier"`       // its address; of a directory, the absolute path
	Ref        string    `json:"ref,omitempty"`    // of git, as the user named it; update fetches it again
	Commit     string    `json:"commit,omitempty"`
	Sum        string    `json:"sha256"` // of the directory as it was installed
	At         time.Time `json:"installed_at"`
}

// Candidate is a plugin in quarantine: it was fetched, and is not installed.
type Candidate struct {
	Plugin
	Origin
	Files    []string
	Findings []skills.Finding
	work     string
}

// Fetch copies a plugin into quarantine, from the places from which skills are installed. Nothing
// of it runs. Discard removes it.
func Fetch(ctx context.Context, home string, from skills.Source, ref string) (c Candidate, err error) {
	work, err := skills.Quarantine(filepath.Join(Dir(home), ".quarantine"))
	if err != nil {
		return c, err
	}
	c.work = work
	defer func() {
		if err != nil {
			c.Discard()
		}
	}()
	dir, sub, commit, err := skills.Download(ctx, work, from, ref)
	if err != nil {
		return c, err
	}
	if dir, err = skills.Below(dir, filepath.Join(dir, filepath.FromSlash(sub))); err != nil {
		return c, err
	}
	name := skills.NameOf(from.Address)
	if !ValidName(name) {
		return c, fmt.Errorf("%q cannot be the name of a plugin", name)
	}
	target := filepath.Join(work, "new", name)
	if c.Files, err = skills.CopyFiles(dir, target, mostFiles, mostBytes); err != nil {
		return c, err
	}
	if c.Plugin, err = Load(target); err != nil {
		return c, fmt.Errorf("it cannot be used: %w", err)
	}
	if c.Findings, err = skills.Scan(target); err != nil {
		return c, err
	}
	sum, err := Sum(target)
	c.Origin = Origin{from.Kind, from.Address, ref, commit, sum, time.Now().UTC()}
	return c, err
}

// Discard removes a candidate from quarantine.
func (c Candidate) Discard() {
	if c.work != "" {
		_ = os.RemoveAll(c.work) // the next run uses another directory
	}
}

// Install moves a candidate to the plugins. It does not enable it. It replaces a plugin of the same
// name only if it was installed from here and not edited since.
func Install(ctx context.Context, home string, c Candidate) (dir string, err error) {
	dir = filepath.Join(Dir(home), c.Name)
	if _, err := os.Lstat(dir); err == nil {
		if err := unedited(home, c.Name); err != nil {
			return "", err
		}
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	if err := os.Rename(c.Dir, dir); err != nil {
		return "", err
	}
	return dir, changeOrigins(ctx, home, func(all map[string]Origin) { all[c.Name] = c.Origin })
}

// unedited returns an error if a plugin was not installed from here, or was edited.
func unedited(home, name string) error {
	all, err := Origins(home)
	if err != nil {
		return err
	}
	o, ok := all[name]
	if !ok {
		return fmt.Errorf("%s exists and was not installed from here. Nothing was changed", filepath.Join(Dir(home), name))
	}
	sum, err := Sum(filepath.Join(Dir(home), name))
	if err != nil {
		return err
	}
	if sum != o.Sum {
		return fmt.Errorf("the plugin %s was edited here and is not changed", name)
	}
	return nil
}

// Uninstall moves a plugin to .archive, and removes its grant.
func Uninstall(ctx context.Context, home, name string) error {
	dir := filepath.Join(Dir(home), name)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !ValidName(name) {
		return fmt.Errorf("there is no plugin %q", name)
	}
	archive := filepath.Join(Dir(home), ".archive")
	if err := os.MkdirAll(archive, 0o700); err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(archive, name+"-"+time.Now().UTC().Format("20060102-150405.000"))); err != nil {
		return err
	}
	return errors.Join(RemoveGrant(ctx, home, name), changeOrigins(ctx, home, func(all map[string]Origin) { delete(all, name) }))
}

func originsPath(home string) string { return filepath.Join(Dir(home), ".lock.json") }

// Origins returns where installed plugins come from, by name.
func Origins(home string) (map[string]Origin, error) {
	all := map[string]Origin{}
	data, err := safefile.Read(originsPath(home), 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", originsPath(home), err)
	}
	return all, nil
}

func changeOrigins(ctx context.Context, home string, edit func(map[string]Origin)) error {
	unlock, err := filelock.Lock(ctx, originsPath(home)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := Origins(home)
	if err != nil {
		return err
	}
	edit(all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(Dir(home))
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return dir.Write(".lock.json", append(data, '\n'), 0o600)
}
