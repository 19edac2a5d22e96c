package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Grant is the user's permission for a plugin, with the plugin's answer to initialize at that time.
// It is valid for a single content of the directory.
type Grant struct {
	Sum         string      `json:"sha256"`
	At          time.Time   `json:"granted_at"`
	Permissions Permissions `json:"permissions"`
	Offer       Offer       `json:"offer"`
}

// Offer is the answer to initialize.
type Offer struct {
	Tools    []ToolOffer    `json:"tools"`
	Hooks    []string       `json:"hooks"`
	Commands []CommandOffer `json:"commands"`
	Sections []SectionOffer `json:"prompt_sections"`
	Skills   []SkillOffer   `json:"skills,omitempty"`
}

// ToolOffer is a tool of a plugin.
type ToolOffer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Toolset     string          `json:"toolset,omitempty"`
}

// CommandOffer is a slash command of a plugin.
type CommandOffer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint,omitempty"`
}

// SectionOffer is a text of a plugin for the system prompt.
type SectionOffer struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// SkillOffer is a skill in the plugin's directory.
type SkillOffer struct {
	Name string `json:"name"`
	Path string `json:"path"` // of SKILL.md or of its directory, below the plugin's directory
}

// Limits of a plugin's directory.
const (
	mostFiles = 20_000
	mostBytes = 200 << 20
)

// Sum returns the sha256 of a plugin's directory: of the path, kind and content of each file.
// If a link leads out of the directory, it returns an error, because the content could change
// without the sum.
func Sum(dir string) (string, error) {
	h := sha256.New()
	files, total := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if files++; files > mostFiles {
			return fmt.Errorf("it has more than %d files", mostFiles)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case info.Mode().IsDir():
			fmt.Fprintf(h, "d %q\n", filepath.ToSlash(rel))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(rel), target)) {
				return fmt.Errorf("its link %s leads out of the directory", rel)
			}
			fmt.Fprintf(h, "l %q %q\n", filepath.ToSlash(rel), filepath.ToSlash(target))
		case info.Mode().IsRegular():
			if total += info.Size(); total > mostBytes {
				return fmt.Errorf("it has more than %d MB", mostBytes>>20)
			}
			data, err := safefile.Read(path, mostBytes)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "f %q %v %d\n", filepath.ToSlash(rel), info.Mode()&0o111 != 0, len(data))
			h.Write(data)
		default:
			return fmt.Errorf("%s is neither a file nor a directory", rel)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func grantsPath(home string) string { return filepath.Join(Dir(home), ".grants.json") }

// grantsFile is .grants.json.
type grantsFile struct {
	Version int              `json:"version"`
	Plugins map[string]Grant `json:"plugins"`
}

// Grants returns the grants of all plugins. If there is no file, there are none.
func Grants(home string) (map[string]Grant, error) {
	data, err := safefile.Read(grantsPath(home), 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Grant{}, nil
	}
	if err != nil {
		return nil, err
	}
	var f grantsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", grantsPath(home), err)
	}
	if f.Plugins == nil {
		f.Plugins = map[string]Grant{}
	}
	return f.Plugins, nil
}

// changeGrants edits the file under a lock.
func changeGrants(ctx context.Context, home string, edit func(map[string]Grant)) error {
	if err := os.MkdirAll(Dir(home), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, grantsPath(home)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := Grants(home)
	if err != nil {
		return err
	}
	edit(all)
	data, err := json.MarshalIndent(grantsFile{Version: 1, Plugins: all}, "", "  ")
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(Dir(home))
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return dir.Write(".grants.json", append(data, '\n'), 0o600)
}

// SaveGrant stores a grant.
func SaveGrant(ctx context.Context, home, name string, g Grant) error {
	return changeGrants(ctx, home, func(all map[string]Grant) { all[name] = g })
}

// RemoveGrant removes a grant. If there is none, it does nothing.
func RemoveGrant(ctx context.Context, home, name string) error {
	return changeGrants(ctx, home, func(all map[string]Grant) { delete(all, name) })
}

// State is the state of a plugin.
type State string

// States.
const (
	Enabled    State = "enabled"
	Disabled   State = "disabled"    // not in plugins.enabled, or in plugins.disabled
	NotGranted State = "not granted" // in plugins.enabled, and hermes-ls plugin enable was not run
	Changed    State = "changed"     // its directory or its permissions are not as they were when the user enabled it
	Failed     State = "failed"      // it cannot be read
)

// Listed is a plugin with its state.
type Listed struct {
	Plugin
	State State
	Grant Grant
	Err   error // of state Failed
}

// List returns all plugins of home with their states.
func List(home string, s Settings) ([]Listed, error) {
	grants, err := Grants(home)
	if err != nil {
		return nil, err
	}
	var all []Listed
	found, problems := All(home)
	for _, p := range found {
		l := Listed{Plugin: s.Widen(p), State: Disabled, Grant: grants[p.Name]}
		switch wanted := s.Enables(p.Name); {
		case problems[p.Name] != nil:
			l.State, l.Err = Failed, problems[p.Name]
		case !wanted:
		case l.Grant.Sum == "":
			l.State = NotGranted
		default:
			l.State = Enabled
			if sum, err := Sum(p.Dir); err != nil {
				l.State, l.Err = Failed, err
			} else if sum != l.Grant.Sum || !reflect.DeepEqual(l.Permissions.Complete(), l.Grant.Permissions.Complete()) {
				l.State = Changed
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// Tools returns the names of the tools, from the grant. Without a grant, they come from the
// manifest.
func (l Listed) Tools() []string {
	if l.Grant.Sum == "" {
		return l.tools
	}
	return l.offered().toolNames()
}

// HookNames returns the events of the hooks, from the same place as Tools.
func (l Listed) HookNames() []string {
	if l.Grant.Sum == "" || l.Kind == Agent {
		return l.Hooks
	}
	return l.Grant.Offer.Hooks
}

// SkillDirs returns the skill directories of enabled plugins, by the plugins' names. An unreadable
// plugin has none; the session reports it.
func SkillDirs(home string, s Settings) map[string]string {
	if len(s.Enabled) == 0 {
		return nil
	}
	all, _ := List(home, s)
	dirs := map[string]string{}
	for _, l := range all {
		switch {
		case l.State != Enabled:
		case l.Kind == Agent:
			dirs[l.Name] = filepath.Join(l.Dir, "skills")
		case len(l.Grant.Offer.Skills) > 0:
			dirs[l.Name] = l.Dir
		}
	}
	return dirs
}

// offered is the offer of a grant. If the manifest lists tools, others are removed.
func (l Listed) offered() Offer {
	o := l.Grant.Offer
	if !l.only {
		return o
	}
	var kept []ToolOffer
	for _, t := range o.Tools {
		if contains(l.tools, t.Name) {
			kept = append(kept, t)
		}
	}
	o.Tools = kept
	return o
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
