// Package trust stores which folders the user trusts, and which MCP servers of them the user has approved.
//
// [Store] is the file trust.json in $HERMES_HOME. Trust belongs to the real path of a git repository's top directory,
// or of the folder itself if there is no repository. A nested repository and a worktree inherit nothing. An approval
// belongs to the exact content of a server: see [Server.Sum].
//
//	store := trust.Open(home)
//	if store.Trusted(folder) {
//		for _, s := range trust.Servers(folder) {
//			if store.Approved(s) { … }
//		}
//	}
//
// Only commands of the user change the store. All methods are safe for concurrent use by several processes.
package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Name is the file's name below $HERMES_HOME.
const Name = "trust.json"

// Store is the file of a $HERMES_HOME.
type Store struct {
	home string
	also []string
	none bool
}

// Open returns the store of home. It reads nothing yet. Folders in also are trusted, too.
func Open(home string, also ...string) Store { return Store{home: home, also: also} }

// None returns the store as if no folder were trusted.
func (s Store) None() Store {
	s.none = true
	return s
}

// Folder is a trusted folder.
type Folder struct {
	Path  string    `json:"path"`
	Since time.Time `json:"since"`
}

// approval is an approved server.
type approval struct {
	Folder string `json:"folder"`
	Name   string `json:"name"`
	Sum    string `json:"sha256"`
}

type content struct {
	Version int        `json:"version"`
	Folders []Folder   `json:"folders"`
	Servers []approval `json:"servers"`
}

// Root returns the folder to which trust in folder belongs: the real path of the top directory of the git repository, or
// of folder.
func Root(folder string) (string, error) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	if r, err := gitrepo.Find(real); err == nil {
		return r.Top, nil
	}
	return real, nil
}

// Trusted reports whether the user trusts the folder. If the file cannot be read, no folder is trusted.
func (s Store) Trusted(folder string) bool {
	root, err := Root(folder)
	if s.none || err != nil || never(root) != nil {
		return false
	}
	for _, path := range s.also {
		if real, err := filepath.EvalSymlinks(path); err == nil && real == root {
			return true
		}
	}
	c, err := s.read()
	return err == nil && c.trusts(root)
}

func (c content) trusts(root string) bool {
	return slices.ContainsFunc(c.Folders, func(f Folder) bool { return f.Path == root })
}

// Trust stores the user's trust in the folder, and returns the folder to which it applies. The root
// of the file system, the home directory and its parents are rejected.
func (s Store) Trust(ctx context.Context, folder string) (root string, err error) {
	if root, err = Root(folder); err != nil {
		return "", err
	}
	if err := never(root); err != nil {
		return "", err
	}
	return root, s.change(ctx, func(c *content) {
		if !c.trusts(root) {
			c.Folders = append(c.Folders, Folder{root, time.Now().UTC().Truncate(time.Second)})
		}
	})
}

// Revoke removes the trust in a folder and the approvals of its servers. If the folder no longer
// exists, folder must be the stored path.
func (s Store) Revoke(ctx context.Context, folder string) (root string, err error) {
	if root, err = Root(folder); err != nil {
		if root, err = filepath.Abs(folder); err != nil {
			return "", err
		}
	}
	return root, s.change(ctx, func(c *content) {
		c.Folders = slices.DeleteFunc(c.Folders, func(f Folder) bool { return f.Path == root })
		c.Servers = slices.DeleteFunc(c.Servers, func(a approval) bool { return a.Folder == root })
	})
}

// Folders returns the trusted folders, sorted by path.
func (s Store) Folders() ([]Folder, error) {
	c, err := s.read()
	slices.SortFunc(c.Folders, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	return c.Folders, err
}

// Approved reports whether the user has approved exactly this content of the server, in a trusted folder.
func (s Store) Approved(server Server) bool {
	c, err := s.read()
	return err == nil && server.Sum != "" && s.Trusted(server.Folder) && slices.Contains(c.Servers, server.approval())
}

// Approve stores the user's approval of a server's content. It replaces the server's earlier
// approval.
func (s Store) Approve(ctx context.Context, server Server) error {
	if server.Sum == "" {
		return fmt.Errorf("the MCP server %s cannot be approved: %s", server.Name, server.Problem)
	}
	if !s.Trusted(server.Folder) {
		return fmt.Errorf("%s is not trusted: trust the folder first", server.Folder)
	}
	return s.change(ctx, func(c *content) {
		c.forget(server.Folder, server.Name)
		c.Servers = append(c.Servers, server.approval())
	})
}

// Disapprove removes the approval of a server. If there is none, it changes nothing.
func (s Store) Disapprove(ctx context.Context, server Server) error {
	return s.change(ctx, func(c *content) { c.forget(server.Folder, server.Name) })
}

// Move moves the trust in a renamed folder, in folders below it, and the approvals of their
// servers. A server's approval still belongs to its exact content. It returns the number of folders
// trusted under new paths. The caller must act for the user.
func (s Store) Move(ctx context.Context, m folderpath.Move) (moved int, err error) {
	m.New = folderpath.Real(m.New)
	c, err := s.read()
	if err != nil || len(c.Folders) == 0 {
		return 0, err
	}
	err = s.change(ctx, func(c *content) {
		var kept []Folder
		for _, f := range c.Folders {
			path, ok := m.Path(f.Path)
			if !ok || path == f.Path {
				kept = append(kept, f)
			} else if never(path) == nil {
				moved++
				f.Path = path
				kept = append(kept, f)
			}
		}
		c.Folders = nil
		for _, f := range kept {
			if !c.trusts(f.Path) {
				c.Folders = append(c.Folders, f)
			}
		}
		var servers []approval
		for _, a := range c.Servers {
			a.Folder, _ = m.Path(a.Folder)
			if !slices.Contains(servers, a) {
				servers = append(servers, a)
			}
		}
		c.Servers = servers
	})
	return moved, err
}

func (c *content) forget(folder, name string) {
	c.Servers = slices.DeleteFunc(c.Servers, func(a approval) bool { return a.Folder == folder && a.Name == name })
}

// errUnreadable reports a file without valid content. Nothing is trusted then.
var errUnreadable = errors.New("it is not readable: repair or delete it")

func (s Store) read() (c content, err error) {
	path := filepath.Join(s.home, Name)
	data, err := safefile.Read(path, safefile.Settings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{}, nil
	case err != nil:
		return content{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if json.Unmarshal(data, &c) != nil || c.Version != 1 {
		return content{}, fmt.Errorf("%s: %w", path, errUnreadable)
	}
	return c, nil
}

// change replaces the file. If it is not readable, it stays as it is.
func (s Store) change(ctx context.Context, edit func(*content)) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	unlock, err := filelock.Lock(ctx, filepath.Join(s.home, Name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	c, err := s.read()
	if err != nil {
		return err
	}
	edit(&c)
	c.Version = 1
	c.Folders, c.Servers = append([]Folder{}, c.Folders...), append([]approval{}, c.Servers...)
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(s.home)
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return dir.Write(Name, append(data, '\n'), 0o600)
}

// never returns an error if a folder holds too much to be trusted.
func never(root string) error {
	homes := []string{}
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, filepath.Clean(home))
		if real, err := filepath.EvalSymlinks(home); err == nil {
			homes = append(homes, real)
		}
	}
	above := func(home string) bool {
		rel, err := filepath.Rel(root, home)
		return err == nil && filepath.IsLocal(rel)
	}
	if root == filepath.Dir(root) || slices.ContainsFunc(homes, above) {
		return fmt.Errorf("%s cannot be trusted: it is the home directory or has it inside. Trust the folder of a project", root)
	}
	return nil
}
