package instructions

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Limits of the paths of a command.
const (
	mostPaths    = 100
	mostBases    = 8
	deepestShell = 3
	longestPath  = 1000
)

// pathsIn returns the paths that a command may name: files, directories, patterns, options with a
// path, directories it changes to, and scripts in its arguments. Some are not paths: the caller
// checks which exist. base is the command's start directory.
func pathsIn(command, base string) []string {
	n := &namer{bases: []string{base}, seen: map[string]bool{}}
	n.script(command, 0)
	return n.found
}

type namer struct {
	bases []string // directories in which the command can be
	found []string
	seen  map[string]bool
}

// script adds the paths of a text in the language of the shell. If it is in no such language, its words are taken.
func (n *namer) script(text string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		n.words(text)
		return
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			n.call(node, depth)
		case *syntax.Word: // also of redirections, loops and tests
			n.word(node, depth)
		}
		return len(n.found) < mostPaths
	})
}

// changes are commands and options after which the next word is the directory of the command.
var changes = []string{"cd", "pushd", "chdir", "-C", "--directory", "--cwd", "--dir", "--prefix", "--git-dir", "--work-tree", "--project", "--root", "-D", "--chdir"}

func (n *namer) call(c *syntax.CallExpr, depth int) {
	before := ""
	for _, w := range c.Args {
		split := &syntax.Word{Parts: slices.Clone(w.Parts)} // the walk goes on in w
		syntax.SplitBraces(split)
		for one, err := range expand.BracesSeq(nil, split) {
			if err != nil || len(n.found) >= mostPaths {
				break
			}
			text := n.text(one.Parts)
			if name, value, ok := strings.Cut(text, "="); ok && slices.Contains(changes, name) {
				before, text = name, value
			}
			dirs := n.add(text)
			if slices.Contains(changes, before) {
				n.bases = append(n.bases, dirs[:min(len(dirs), max(mostBases-len(n.bases), 0))]...)
			}
			if strings.ContainsAny(text, " \t\n'\"(") && depth < deepestShell {
				n.script(text, depth+1)
			}
			before = text
		}
	}
}

func (n *namer) word(w *syntax.Word, depth int) {
	text := n.text(w.Parts)
	if n.add(text); strings.ContainsAny(text, " \t\n'\"(") && depth < deepestShell {
		n.words(text)
	}
}

// text returns the text of a word. A variable or an output stands for the directory if possible,
// else it ends a path like a pattern.
func (n *namer) text(parts []syntax.WordPart) string {
	var b strings.Builder
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(n.text(part.Parts))
		default:
			if i == 0 && len(parts) > 1 {
				b.WriteString(".")
			} else {
				b.WriteString("*")
			}
		}
	}
	return b.String()
}

var pathWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^\\s'\"`()\\[\\]{}<>|;&,]+") })

// words adds the words of a text other than a command, such as a program in another language.
func (n *namer) words(text string) {
	for _, word := range pathWord().FindAllString(text, mostPaths) {
		if strings.ContainsAny(word, "/.") {
			n.add(word)
		}
	}
}

// add adds a word as a path in each directory, and returns these paths.
func (n *namer) add(text string) (paths []string) {
	forms := []string{text}
	if _, value, ok := strings.Cut(text, "="); ok {
		forms = append(forms, value)
	}
	if strings.HasPrefix(text, "-") && len(text) > 2 && text[1] != '-' { // -Cdir
		forms = append(forms, text[2:])
	}
	for part := range strings.SplitSeq(text, ":") { // host:path, path:line, a list of paths
		if part != text {
			forms = append(forms, part)
		}
	}
	for _, form := range forms {
		form = strings.TrimSuffix(strings.TrimPrefix(form, "file://"), "/...")
		if at := strings.IndexAny(form, "*?["); at >= 0 {
			form = path.Dir(form[:at] + "x")
		}
		if form == "" || form == "." || form == "/" || len(form) > longestPath || strings.ContainsAny(form, "\x00\n") || strings.HasPrefix(form, "-") {
			continue
		}
		for _, base := range n.bases {
			abs := filepath.FromSlash(form)
			if !filepath.IsAbs(abs) {
				abs = filepath.Join(base, abs)
			}
			paths = append(paths, abs)
			if !n.seen[abs] && len(n.found) < mostPaths {
				n.seen[abs] = true
				n.found = append(n.found, abs)
			}
		}
	}
	return paths
}
