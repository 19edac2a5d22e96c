package environment

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/gitread"
	"github.com/hermes-ls/hermes-ls/internal/tokens"
)

// facts are the lines of the environment by their names.
type facts map[string]string

// The names of facts, in the order of the text.
const (
	factActive   = "active"
	factOpen     = "open"
	factProblems = "problems"
	factGit      = "git"
	factCommits  = "commits"
	factLimits   = "limits"
	factModel    = "model"
	factRemote   = "remote"
	factFiles    = "files" // the text of the tree
	factTop      = "top"   // the names in the workspace folder; is not in the text
)

var order = []string{factActive, factOpen, factProblems, factGit, factCommits, factLimits, factModel, factRemote}

// most limits the tokens of single facts.
var most = map[string]int{
	factActive: 45, factOpen: 50, factProblems: 45, factGit: 30, factCommits: 65, factLimits: 30, factModel: 20, factRemote: 30,
}

// facts returns all current facts.
func (x *instance) facts(ctx context.Context, g gathered) facts {
	f := facts{factFiles: g.tree.text, factTop: strings.Join(g.tree.top, "\n")}
	var state extension.EditorState
	if x.session.EditorState != nil {
		state = x.session.EditorState()
	}
	name := x.session.Editor.Name
	if state.UnsavedUnknown && len(state.Open) > 0 {
		unsaved := x.session.Editor.Unsaved(ctx)
		for i := range state.Open {
			state.Open[i].Unsaved = slices.Contains(unsaved, name(state.Open[i].Path))
		}
	}
	f[factActive] = active(state.Active, name)
	f[factOpen] = open(state.Open, name)
	f[factProblems] = problems(state.Problems, name)
	f[factGit], f[factCommits] = gitText(g.git), commitsText(g.git)
	b := x.session.Situation()
	f[factLimits] = limits(b)
	f[factModel], f[factRemote] = printable(b.Model), printable(b.Remote)
	return f
}

func active(a extension.ActiveFile, name func(string) string) string {
	if a.Path == "" {
		return ""
	}
	text := quoted(name(a.Path))
	if a.Line > 0 {
		text += ":" + strconv.Itoa(a.Line)
		if a.Column > 0 {
			text += ":" + strconv.Itoa(a.Column)
		}
	}
	if a.First > 0 {
		text += fmt.Sprintf(", selected lines %d-%d", a.First, a.Last)
	}
	if a.Top > 0 {
		text += fmt.Sprintf(", visible %d-%d", a.Top, a.Bottom)
	}
	return text
}

func open(files []extension.OpenFile, name func(string) string) string {
	var list []string
	for _, saved := range []bool{false, true} { // unsaved files first: a cut must not hide them
		for _, f := range files {
			if f.Unsaved == saved {
				continue
			}
			text := quoted(name(f.Path))
			if f.Unsaved {
				text += " (unsaved)"
			}
			list = append(list, text)
		}
	}
	return joined(list, most[factOpen])
}

func problems(files []extension.FileProblems, name func(string) string) string {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b extension.FileProblems) int { return b.Errors - a.Errors })
	var list []string
	for _, f := range files {
		var counts []string
		if f.Errors > 0 {
			counts = append(counts, counted(f.Errors, "error"))
		}
		if f.Warnings > 0 {
			counts = append(counts, counted(f.Warnings, "warning"))
		}
		if len(counts) > 0 {
			list = append(list, quoted(name(f.Path))+" "+strings.Join(counts, " "))
		}
	}
	return joined(list, most[factProblems])
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func limits(b extension.Situation) string {
	network := "off"
	if b.Network {
		network = "on"
	}
	return fmt.Sprintf("approval mode %s, sandbox %s, network %s", printable(b.Mode), printable(b.Sandbox), network)
}

// gitText returns the branch and the numbers of changed files.
func gitText(g gitread.State) string {
	if g.Branch == "" {
		return ""
	}
	parts := []string{"branch " + quoted(g.Branch)}
	for _, n := range []struct {
		count int
		what  string
	}{{g.Conflicts, "in conflict"}, {g.Staged, "staged"}, {g.Changed, "changed"}, {g.Untracked, "untracked"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if g.Known && len(parts) == 1 {
		parts = append(parts, "no changes")
	}
	return strings.Join(parts, ", ")
}

const longestSubject = 60 // characters of a commit's first line

func commitsText(g gitread.State) string {
	var list []string
	for _, c := range g.Commits {
		if r := []rune(printable(c)); len(r) > longestSubject {
			c = string(r[:longestSubject]) + "…"
		} else {
			c = string(r)
		}
		list = append(list, c)
	}
	return joined(list, most[factCommits])
}

// mostSmall limits the tokens of the facts in a small context window.
const mostSmall = 120

// withoutFiles returns the facts without the names of files and folders of the workspace.
func (f facts) withoutFiles() facts {
	few := maps.Clone(f)
	delete(few, factFiles)
	delete(few, factTop)
	return few
}

// text returns all facts, in at most limit tokens. The tree gets the remaining tokens.
func (f facts) text(limit int) string {
	var lines []string
	for _, name := range order {
		if value := f[name]; value != "" {
			lines = append(lines, name+": "+cut(value, most[name]))
		}
	}
	text := fitted(lines, limit)
	if tree := f[factFiles]; tree != "" {
		if room := limit - tokens.Estimate(text) - 4; room > 10 {
			text = strings.TrimPrefix(text+"\n"+factFiles+": "+filled(strings.Split(tree, "\n"), room), "\n")
		}
	}
	return text
}

// keep takes over the facts that could not be read in time from those that the model knows. Without them it
// would be told that there are none.
func (f facts) keep(known facts, g gathered) {
	if g.git.Branch != "" && !g.git.Known && len(g.git.Commits) == 0 {
		f[factCommits] = known[factCommits]
	}
	if len(g.tree.top) == 0 && g.tree.text == "" {
		f[factFiles], f[factTop] = known[factFiles], known[factTop]
	}
}

// since returns the facts that differ from before, in at most limit tokens. If there are none, it
// returns "".
func (f facts) since(before facts, limit int) string {
	var lines []string
	for _, name := range order {
		value := f[name]
		if value == before[name] {
			continue
		}
		if value == "" {
			value = "none"
		}
		lines = append(lines, name+": "+cut(value, most[name]))
	}
	if changes := f.files(before); changes != "" {
		lines = append(lines, changes)
	}
	return fitted(lines, limit)
}

// files lists new and removed names in the workspace folder.
func (f facts) files(before facts) string {
	was, is := before[factTop], f[factTop]
	if was == "" || is == "" || was == is {
		return ""
	}
	then, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	var list []string
	for _, name := range now {
		if _, known := slices.BinarySearch(then, name); !known {
			list = append(list, "+"+quoted(name))
		}
	}
	for _, name := range then {
		if _, left := slices.BinarySearch(now, name); !left {
			list = append(list, "-"+quoted(name))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return factFiles + ": " + joined(list, 40)
}

// fitted joins lines as far as they fit.
func fitted(lines []string, limit int) string {
	text := ""
	for _, line := range lines {
		longer := strings.TrimPrefix(text+"\n"+line, "\n")
		if tokens.Estimate(longer) <= limit {
			text = longer
		}
	}
	return text
}

// joined joins items as far as they fit, and counts the omitted items.
func joined(items []string, limit int) string {
	text := ""
	for i, item := range items {
		longer := item
		if text != "" {
			longer = text + ", " + item
		}
		rest := len(items) - i - 1
		need := tokens.Estimate(longer)
		if rest > 0 {
			need += 6
		}
		if need > limit && text != "" {
			return fmt.Sprintf("%s, and %d more", text, rest+1)
		}
		text = longer
	}
	return text
}

// filled joins the entries of a tree as far as they fit: first the names in the workspace folder,
// then the names in its folders.
func filled(tree []string, limit int) string {
	names, inside := make([]string, len(tree)), make([]string, len(tree))
	for i, line := range tree {
		names[i], inside[i], _ = strings.Cut(line, "\t")
	}
	used := tokens.Estimate(strings.Join(names, ", "))
	for i, more := range inside {
		if n := tokens.Estimate(more); more != "" && used+n <= limit {
			names[i] += more
			used += n
		}
	}
	return joined(names, limit)
}

// cut shortens a long value.
func cut(value string, limit int) string {
	if tokens.Estimate(value) <= limit {
		return value
	}
	for size := len(value); size > 0; size = size * 9 / 10 {
		if part := strings.ToValidUTF8(value[:size], ""); tokens.Estimate(part) < limit {
			return part + "…"
		}
	}
	return "…"
}

// longestName limits the characters of a path.
const longestName = 100

// quoted converts a path to a single printable word. Names come from a repository, which must not
// write lines of this text.
func quoted(path string) string {
	path = filepath.ToSlash(path)
	if utf8.RuneCountInString(path) > longestName {
		r := []rune(path)
		path = "…" + string(r[len(r)-longestName:])
	}
	return word(path)
}

// word converts a path to a single printable word.
func word(path string) string {
	special := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("\",:;`()", r) || r == utf8.RuneError
	}
	if strings.IndexFunc(path, special) >= 0 {
		return strconv.Quote(path)
	}
	return path
}

// printable converts a text to a single line without characters that affect its display.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
