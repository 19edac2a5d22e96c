package skills

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// cache holds the frontmatters of earlier calls by the paths of their files. It is a JSON file below $HERMES_HOME/cache.
type cache struct {
	path   string
	stored map[string]cached // read from the file
	used   map[string]cached // by this search
	added  int               // of used: not in the file
	head   [4 << 10]byte
	none   *Meta // of skills with an empty Meta; it is not in the cache, which would stay in memory with it
}

type cached struct {
	Time  int64  `json:"time"` // nanoseconds since 1970
	Size  int64  `json:"size"`
	Text  string `json:"text,omitempty"` // the description
	Error string `json:"error,omitempty"`
	Tags  string `json:"tags,omitempty"`
	Meta  *Meta  `json:"meta,omitempty"` // nil: it is empty
}

const (
	cacheName    = "skills-9.json"
	largestCache = 16 << 20
)

// newCache returns an empty cache, which is not stored.
func newCache() *cache { return &cache{used: map[string]cached{}, none: &Meta{}} }

// openCache opens the cache of a home directory. If the file is broken, it is made again.
func openCache(home string) *cache {
	c := newCache()
	c.path = filepath.Join(home, "cache", cacheName)
	if data, err := safefile.Read(c.path, largestCache); err == nil && utf8.Valid(data) && json.Unmarshal(data, &c.stored) != nil {
		c.stored = nil
	}
	return c
}

// skill returns the skill in a file, from the cache if the file has not changed.
func (c *cache) skill(file, dir string, info fs.FileInfo) *Skill {
	e, ok := c.stored[file]
	if changed := info.ModTime().UnixNano(); !ok || e.Time != changed || e.Size != info.Size() {
		e = c.read(file, dir)
		e.Time, e.Size = changed, info.Size()
		c.added++
	}
	c.used[file] = e
	return &Skill{Name: dir, Description: e.Text, Problem: e.Error, Tags: e.Tags, Meta: cmp.Or(e.Meta, c.none)}
}

// read reads a SKILL.md. If its frontmatter ends in the first 4 KB, it reads no more.
func (c *cache) read(file, dir string) cached {
	s, err := c.parseHead(file, dir)
	if err != nil {
		data, err := safefile.Read(file, largestSkill)
		if err != nil {
			return cached{Error: "it cannot be read: " + err.Error()}
		}
		if s, _, err = parse(data, dir); err != nil {
			return cached{Text: s.Description, Error: err.Error()}
		}
	}
	if reflect.ValueOf(s.Meta).Elem().IsZero() {
		s.Meta = nil
	}
	return cached{Text: s.Description, Tags: s.Tags, Meta: s.Meta}
}

// parseHead reads a SKILL.md whose frontmatter ends in the first 4 KB. For any other file, it returns an error, which is not for
// users: the caller reads the whole file.
func (c *cache) parseHead(file, dir string) (s Skill, err error) {
	f, info, err := safefile.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close() // only read
	if info.Size() > largestSkill {
		return s, safefile.ErrTooLarge
	}
	n, err := io.ReadFull(f, c.head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s, err
	}
	head := c.head[:n]
	line := bytes.Index(head, []byte("\n---")) + 1
	end := bytes.IndexByte(head[line:], '\n')
	if line == 0 || end < 0 {
		return s, io.ErrUnexpectedEOF
	}
	s, _, err = parse(head[:line+end+1], dir)
	return s, err
}

// save stores the used entries, if any is new, and those of other workspaces, if they are not too many. If it fails, the next
// process reads the files again.
func (c *cache) save(ctx context.Context) {
	if c.added == 0 {
		return
	}
	if len(c.stored)+c.added <= 2*maxSkills {
		for file, e := range c.stored {
			if _, ok := c.used[file]; !ok {
				c.used[file] = e
			}
		}
	}
	data, err := json.Marshal(c.used)
	if err != nil {
		return
	}
	unlock, err := filelock.Lock(ctx, c.path+".lock")
	if err != nil {
		return
	}
	defer unlock()
	dir, err := safefile.OpenFolder(filepath.Dir(c.path))
	if err != nil {
		return
	}
	defer dir.Close() // only read
	_ = dir.Write(cacheName, data, 0o600)
}
