package environment

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Limits of the tree.
const (
	mostEntries = 60
	mostTop     = 500 // stored names of the workspace folder
	mostFolder  = 12  // entries of a folder below it
	mostListed  = 20  // listed folders
	ignoreSize  = 256 << 10
)

// tree lists the files of a workspace.
type tree struct {
	top  []string // the names in the workspace folder, sorted
	text string   // an entry on each line; after a folder's name, a tab and its entries in braces
}

// readTree lists the first workspace folder and its folders. It leaves out hidden files and files
// ignored by git.
func readTree(ctx context.Context, files tools.Files) (t tree) {
	root := files.Folders()[0]
	if tools.Local(files) == nil {
		return t
	}
	w := walk{ctx, files, &ignore.Matcher{Global: ignore.UserGitConfig().Rules(), Base: filepath.ToSlash(root), Above: ignore.Above(root)}}
	entries, rules := w.list(root, w.rules.Above)
	for _, e := range entries[:min(len(entries), mostTop)] {
		t.top = append(t.top, nameOf(e))
	}
	shown := entries[:min(len(entries), mostEntries)]
	left := mostEntries - len(shown)
	listed := 0
	var lines []string
	for _, e := range shown {
		line := quoted(nameOf(e))
		if e.IsDir() && left > 0 && listed < mostListed {
			listed++
			inside, _ := w.list(filepath.Join(root, e.Name()), rules)
			n := min(len(inside), mostFolder, left)
			left -= n
			line += "\t" + braces(inside, n)
		}
		lines = append(lines, line)
	}
	if more := len(entries) - len(shown); more > 0 {
		lines = append(lines, "…")
	}
	t.text = strings.Join(lines, "\n")
	slices.Sort(t.top)
	return t
}

// braces lists the first n of entries.
func braces(entries []fs.DirEntry, n int) string {
	if n == 0 {
		return ""
	}
	var names []string
	for _, e := range entries[:n] {
		names = append(names, quoted(nameOf(e)))
	}
	if n < len(entries) {
		names = append(names, "…")
	}
	return "{" + strings.Join(names, " ") + "}"
}

func nameOf(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

type walk struct {
	ctx   context.Context
	files tools.Files
	rules *ignore.Matcher
}

// list returns the entries of a folder except ignored files, and the ignore rules in it.
func (w walk) list(path string, above *ignore.Dir) ([]fs.DirEntry, *ignore.Dir) {
	if w.ctx.Err() != nil {
		return nil, above
	}
	all, err := w.files.List(w.ctx, path)
	if err != nil {
		return nil, above
	}
	rules := above.EnterEntries(path, all, func(name string) []byte {
		text, err := safefile.Read(filepath.Join(path, filepath.FromSlash(name)), ignoreSize)
		if err != nil {
			return nil
		}
		return text
	})
	slashed := filepath.ToSlash(path)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		name := e.Name()
		return e.IsDir() && installed(name) || w.rules.Skips(rules, slashed+"/"+name, name, e.IsDir())
	}), rules
}

// installed reports whether a folder contains files installed by programs.
func installed(name string) bool {
	return slices.Contains([]string{"node_modules", "__pycache__", "site-packages", "venv"}, name)
}
