package workspace

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Ignore files longer than this are not read.
const maxIgnoreFile = 4 << 20

// verdict is what rules say about a path.
type verdict int

const (
	silent verdict = iota
	ignored
	wanted
)

// rules is one ignore file; the last rule that matches counts.
type rules []rule

func parseRules(text []byte) rules {
	var rs rules
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if r, ok := parseRule(strings.TrimSuffix(string(line), "\r")); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

func (rs rules) verdict(rel, name string, isFolder bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		if !rs[i].matches(rel, name, isFolder) {
			continue
		}
		if rs[i].negated {
			return wanted
		}
		return ignored
	}
	return silent
}

// The kinds of ignore files, the stronger first, as ripgrep has them.
const (
	fromRgignore = iota
	fromIgnore
	fromGitignore
	fromExclude
	sources
)

var ignoreNames = [...]string{fromRgignore: ".rgignore", fromIgnore: ".ignore", fromGitignore: ".gitignore"}

// ignoreFolder is the ignore rules of one folder, above it those of its parents.
// Folders without rules are left out of the chain.
type ignoreFolder struct {
	parent *ignoreFolder
	path   string // absolute, with slashes
	rules  [sources]rules
	isRepo bool // git's rules of the folders above do not count here
}

// ignorer decides for one search.
type ignorer struct {
	only    *globs // nil: all files
	global  rules  // git's core.excludesFile
	base    string // the folder to which global and only are relative
	asGit   bool   // only git's rules count, and without a repository too
	parents *ignoreFolder
}

// skips reports whether the walk leaves out path, which lies in dir. It decides
// exactly as ripgrep does: the search's own globs first, then ignore rules, then
// whether the name is hidden.
func (g *ignorer) skips(dir *ignoreFolder, path, name string, isFolder bool) bool {
	if v := g.only.verdict(relative(g.base, path), name, isFolder); v != silent {
		return v == ignored
	}
	switch g.verdict(dir, path, name, isFolder) {
	case ignored:
		return true
	case wanted:
		return false
	}
	return name[0] == '.'
}

func (g *ignorer) verdict(dir *ignoreFolder, path, name string, isFolder bool) verdict {
	var found [sources]verdict
	inRepo, pastRepo := false, false
	for at := dir; at != nil; at = at.parent {
		rel := relative(at.path, path)
		for source := range found {
			if pastRepo && source >= fromGitignore || found[source] != silent || g.asGit && source < fromGitignore {
				continue
			}
			found[source] = at.rules[source].verdict(rel, name, isFolder)
		}
		inRepo = inRepo || at.isRepo
		pastRepo = pastRepo || at.isRepo
	}
	for source, v := range found {
		if v != silent && (inRepo || g.asGit || source < fromGitignore) {
			return v
		}
	}
	if inRepo {
		return g.global.verdict(relative(g.base, path), name, isFolder)
	}
	return silent
}

func relative(dir, path string) string {
	return strings.TrimPrefix(path[min(len(dir), len(path)):], "/")
}

// enter reads the rules of the folder at path. read returns a file in it; has
// says which entries it has.
func (dir *ignoreFolder) enter(path string, has func(name string) bool, read func(name string) []byte) *ignoreFolder {
	here := &ignoreFolder{parent: dir, path: path}
	some := false
	for source, name := range ignoreNames {
		if has(name) {
			here.rules[source] = parseRules(read(name))
			some = true
		}
	}
	if has(".git") {
		here.isRepo, some = true, true
		here.rules[fromExclude] = parseRules(gitExclude(path, read))
	}
	if !some {
		return dir
	}
	return here
}

// gitExclude reads the repository's own rules, for a linked worktree too, whose
// .git is a file that names the place.
func gitExclude(path string, read func(name string) []byte) []byte {
	if text := read(".git/info/exclude"); text != nil {
		return text
	}
	dir, ok := strings.CutPrefix(string(read(".git")), "gitdir:")
	if !ok {
		return nil
	}
	dir = inFolder(path, strings.TrimSpace(dir))
	if common := strings.TrimSpace(string(readRules(filepath.Join(dir, "commondir")))); common != "" {
		dir = inFolder(dir, common)
	}
	return readRules(filepath.Join(dir, "info", "exclude"))
}

func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// ignoreAbove reads the rules of the folders above path, up to the root of the disk.
func ignoreAbove(path string) *ignoreFolder {
	parent := filepath.Dir(path)
	if parent == path {
		return nil
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(parent, name))
		return err == nil
	}
	read := func(name string) []byte { return readRules(filepath.Join(parent, filepath.FromSlash(name))) }
	return ignoreAbove(parent).enter(filepath.ToSlash(parent), has, read)
}

// readRules reads a file of rules; none, or none that can be read, is no rules.
func readRules(path string) []byte {
	text, err := safefile.Read(path, maxIgnoreFile)
	if err != nil {
		return nil
	}
	return text
}

// readRulesIn is readRules for a file below dir, whose links are not followed out.
func readRulesIn(dir *os.Root, name string) []byte {
	text, err := safefile.ReadIn(dir, filepath.FromSlash(name), maxIgnoreFile)
	if err != nil {
		return nil
	}
	return text
}

// gitConfig is where git keeps a user's settings.
type gitConfig struct{ home, xdg string }

func userGitConfig() gitConfig {
	home, _ := os.UserHomeDir() // none: no settings
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	return gitConfig{home, xdg}
}

// globalRules reads the file that core.excludesFile names, or git's default one.
func (c gitConfig) globalRules() rules {
	if name := c.excludes(); name != "" {
		return parseRules(readRules(name))
	}
	if c.xdg == "" {
		return nil
	}
	return parseRules(readRules(filepath.Join(c.xdg, "git", "ignore")))
}

// excludesFile finds core.excludesFile in a git configuration.
func excludesFile(config []byte) string {
	found, section := "", ""
	for scan := bufio.NewScanner(bytes.NewReader(config)); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}

// globs narrow a search, as rg -g does: a file must match one, or, when it
// begins with "!", none. They are stronger than ignore rules.
type globs struct {
	rules  rules
	choose bool // some glob is not negated
}

// newGlobs reads a glob of a search; empty is none.
func newGlobs(glob string) (*globs, error) {
	if glob == "" {
		return nil, nil
	}
	var r rule
	text, negated := strings.CutPrefix(glob, "!")
	r.negated = !negated // a glob says what is wanted, a rule what is ignored
	text, r.folder = strings.CutSuffix(text, "/")
	r.whole = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return nil, fmt.Errorf("the file glob %q is empty", glob)
	}
	if err := r.compile(text, true); err != nil {
		return nil, fmt.Errorf("the file glob %q cannot be used: %w", glob, err)
	}
	r.matchable = true
	return &globs{rules: rules{r}, choose: !negated}, nil
}

func (g *globs) verdict(rel, name string, isFolder bool) verdict {
	if g == nil {
		return silent
	}
	v := g.rules.verdict(rel, name, isFolder)
	if v == silent && g.choose && !isFolder {
		return ignored
	}
	return v
}

// ExcludesFile returns the path that the user's core.excludesFile names: the list of what
// all repositories ignore. If the user names none, it is empty; git has a default then.
func ExcludesFile() string { return userGitConfig().excludes() }

func (c gitConfig) excludes() string {
	for _, file := range []string{filepath.Join(c.home, ".gitconfig"), filepath.Join(c.xdg, "git", "config")} {
		if name := excludesFile(readRules(file)); name != "" {
			if rest, ok := strings.CutPrefix(name, "~/"); ok {
				name = filepath.Join(c.home, rest)
			}
			return name
		}
	}
	return ""
}
