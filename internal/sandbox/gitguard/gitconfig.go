package gitguard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

type setting struct{ name, value string }

// runs reports whether git would run something because of the setting.
func (s setting) runs() bool { return gitrepo.Runs(s.name, s.value) }

// oneLine is a value without ends of lines, as it is part of an item: these are between several values. manyLines is its opposite.
var (
	oneLine   = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace
	manyLines = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace
)

// known are the settings of a file as it was.
type known struct {
	info fs.FileInfo
	all  []setting
	err  error
}

// settings returns the settings of a git configuration file. git itself reads the file, so the
// result is what git will see.
func (g *Guard) settings(path string) ([]setting, error) {
	g.readSettings([]string{path})
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.configs[path]
	if !ok {
		return nil, fmt.Errorf("%s could not be read", path)
	}
	return k.all, k.err
}

// readSettings reads the files changed since the last reading.
func (g *Guard) readSettings(paths []string) {
	var stale []string
	infos := map[string]fs.FileInfo{}
	for _, path := range paths {
		info, err := os.Lstat(path)
		g.mu.Lock()
		k, ok := g.configs[path]
		switch {
		case err != nil:
			delete(g.configs, path)
		case ok && (marked{info: k.info}).same(info) && g.review.lasts(info):
		case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0, info.Size() > safefile.Settings:
			g.configs[path] = known{info: info, err: fmt.Errorf("it is not a file of settings (%v, %d bytes)", info.Mode(), info.Size())}
		default:
			stale, infos[path] = append(stale, path), info
		}
		g.mu.Unlock()
	}
	if len(stale) == 0 {
		return
	}
	read := g.list(stale)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, path := range stale {
		k := read[i]
		k.info = infos[path]
		if !stampIsFinal(k.info) {
			k.info = changeable{k.info}
		}
		g.configs[path] = k
	}
}

// changeable is the information of a file whose next change may keep the stamp. It never equals
// another.
type changeable struct{ fs.FileInfo }

func (changeable) Size() int64 { return -1 }

// listing lists the settings of files with git. Each list follows a mark with the file's number; no
// setting can have such a name.
const listing = `git=$1; shift; i=0
for f do
	printf '\001%d\000' $i; "$git" config --file "$f" --no-includes --null --list 2>/dev/null; printf '\002%d\000' $?
	i=$((i+1))
done`

// list reads files in the sandbox.
func (g *Guard) list(paths []string) []known {
	all := make([]known, len(paths))
	for i := range all {
		all[i].err = errors.New("git could not read it")
	}
	git, err := g.git()
	if err != nil {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	out, err := g.cfg.Inside(context.Background(), listing, nil, nil, append([]string{git}, paths...)...)
	if err != nil {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	at := -1
	var read []setting
	for _, text := range strings.Split(out, "\x00") {
		switch {
		case strings.HasPrefix(text, "\x01"):
			at, read = at+1, nil
		case strings.HasPrefix(text, "\x02"):
			if at >= 0 && at < len(all) && text == "\x020" {
				all[at] = known{all: read}
			}
		case text != "":
			name, value, _ := strings.Cut(text, "\n")
			read = append(read, setting{name, value})
		}
	}
	return all
}

// git returns the git program, never a file from the workspace.
func (g *Guard) git() (string, error) { return program.Find("git", g.cfg.Roots()) }
