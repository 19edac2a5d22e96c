package file

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

const (
	searchLimit      = 50
	searchLimitMax   = 1_000
	searchContextMax = 20
	searchLineChars  = 500    // characters shown of a matching line
	searchBytes      = 90_000 // of a page
)

//go:embed search.md
var searchWords string

type searchTarget string

func (searchTarget) Enum() []string { return []string{"content", "files"} }

type searchMode string

func (searchMode) Enum() []string { return []string{"content", "files_only", "count"} }

type searchIn struct {
	Pattern    string       `json:"pattern" jsonschema:"content: regular expression without look-around, such as func \\w+Page; files: glob, such as src/**/*_test.py"`
	Target     searchTarget `json:"target,omitempty" jsonschema:"default content"`
	Path       string       `json:"path,omitempty" jsonschema:"directory or file; default: the workspace folder"`
	FileGlob   string       `json:"file_glob,omitempty" jsonschema:"content: only files such as *.ts"`
	Limit      int          `json:"limit,omitempty" jsonschema:"maximum number of results; default 50"`
	Offset     int          `json:"offset,omitempty" jsonschema:"results to skip"`
	Context    int          `json:"context,omitempty" jsonschema:"content: lines before and after a match"`
	OutputMode searchMode   `json:"output_mode,omitempty" jsonschema:"content: lines (default), files_only: paths, count: matches per file"`
	literal    bool         // Pattern is a text, escaped
}

// searchMatch is a matching line, with the lines around it if requested.
type searchMatch struct {
	Path    string   `json:"path"`
	Line    int      `json:"line"`
	Content string   `json:"content"`
	Before  []string `json:"before,omitempty"`
	After   []string `json:"after,omitempty"`
}

// searchOut is a result: exactly one of the first three fields is set.
type searchOut struct {
	Matches    *[]searchMatch  `json:"matches,omitempty"`
	Files      *[]string       `json:"files,omitempty"`
	Counts     *map[string]int `json:"counts,omitempty"`
	TotalCount int             `json:"total_count"`
	Truncated  bool            `json:"truncated"`
	NextOffset int             `json:"next_offset,omitempty"`
	Note       string          `json:"note,omitempty"`
}

func searchTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "search_files", Toolset: "file", Replay: tools.Replayed, Kind: tools.KindSearch, ReadOnly: true,
		Description: strings.TrimSpace(searchWords),
		Brief:       "Search a regular expression in files (target=content), or find files by a glob such as **/*.go (target=files).",
		BriefParams: []string{"pattern", "target", "path"},
		Title:       tools.Titled(searchTitle),
		Script:      `(pattern, target="content", path=".", file_glob=None, limit=50) → matches [{path, line, content}], total_count; target="files" → files`,
	}, with(c, searchFiles))
}

func searchTitle(in searchIn) string {
	what := "Search"
	if in.Target == "files" {
		what = "Find files"
	}
	if in.Target == "files" && in.Pattern == "" {
		what, in.Pattern = "List files", "**"
	}
	title := fmt.Sprintf("%s “%s”", what, in.Pattern)
	if in.Path != "" && in.Path != "." {
		title += " in " + in.Path
	}
	return title
}

func searchFiles(ctx context.Context, env *callEnv, call tools.Call, in searchIn) (tools.Result, error) {
	if err := gate.CheckRead(ctx, env.Env, env.Bounds, call, tools.KindSearch, searchTitle(in), in.Path); err != nil {
		return tools.Result{}, err
	}
	if in.Pattern == "" && in.Target != "files" {
		return tools.Fail("pattern is empty, and would match every line. Nothing was searched. Send a regular expression as pattern, or target=files to list files"), nil
	}
	in, read, err := readPattern(in)
	if err != nil {
		return tools.Result{}, err
	}
	q := query(in)
	reads, done := onOutputs(env, q.Path)
	defer done()
	found, note, err := searchNames(ctx, reads.Files, q)
	if err != nil {
		return tools.Result{}, err
	}
	if found.Total == 0 && !env.Reader.Script {
		if other, instead, how := searchOtherwise(ctx, reads.Files, in, q); other != nil {
			found, q, note = other, instead, how
			in.Pattern = q.Pattern
		}
	}
	if reads != env { // names are of use only whole there
		found = inFolder(found, reads.Files.Folders()[0])
	}
	out := shownFound(found, in, q)
	if q.Files && q.Pattern == "" && found.Total > 0 {
		note = fmt.Sprintf("no pattern was given, so all files are listed, at most %d in a result", q.Limit)
	}
	if note != "" {
		out.Note = note
	}
	if read != "" {
		out.Note = strings.TrimSuffix(read+"; "+out.Note, "; ")
	}
	return tools.OK(out).Brief(out.brief()), nil
}

// lookAround and backReference match parts of regular expressions unknown to RE2.
var (
	lookAround    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?(<?[=!])`) })
	backReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[1-9]`) })
)

// readPattern returns the intended search of a pattern that is not a regular expression: a glob
// searches for names, other text is literal. note states it. If the pattern needs an unsupported
// feature, readPattern returns an error.
func readPattern(in searchIn) (_ searchIn, note string, err error) {
	if in.Target == "files" {
		return in, "", nil
	}
	_, wrong := syntax.Parse(in.Pattern, syntax.Perl)
	switch {
	case wrong == nil:
		return in, "", nil
	case lookAround().MatchString(in.Pattern):
		return in, "", fmt.Errorf("the pattern has look-around (%s), which does not exist here (RE2). Nothing was searched. Search for the text without it, and leave out the hits that you do not want", lookAround().FindString(in.Pattern))
	case backReference().MatchString(in.Pattern):
		return in, "", fmt.Errorf("the pattern has the backreference %s, which does not exist here (RE2). Nothing was searched. Search for the first part, and compare the hits yourself", backReference().FindString(in.Pattern))
	case strings.HasPrefix(in.Pattern, "*"):
		note = fmt.Sprintf("the pattern %s is a glob, so names were searched, as with target=files", in.Pattern)
		in.Target = "files"
	default:
		note = "the pattern is not a valid regular expression, so it was searched as it is"
		in.Pattern, in.literal = regexp.QuoteMeta(in.Pattern), true
	}
	return in, note, nil
}

// searchBrief is a searchOut for the model. MatchesText groups the matches by file: the path on a
// line, then the lines as read_file shows them, and context lines with - in place of |.
type searchBrief struct {
	MatchesText *string         `json:"matches_text,omitempty"`
	Files       *[]string       `json:"files,omitempty"`
	Counts      *map[string]int `json:"counts,omitempty"`
	TotalCount  int             `json:"total_count"`
	Truncated   bool            `json:"truncated,omitempty"`
	NextOffset  int             `json:"next_offset,omitempty"`
	Note        string          `json:"note,omitempty"`
}

func (out searchOut) brief() searchBrief {
	b := searchBrief{Files: out.Files, Counts: out.Counts, TotalCount: out.TotalCount, Truncated: out.Truncated, NextOffset: out.NextOffset, Note: out.Note}
	if out.Matches != nil {
		text := grouped(*out.Matches)
		b.MatchesText = &text
	}
	return b
}

// grouped returns matches as text. Lines around two matches appear once.
func grouped(matches []searchMatch) string {
	var b strings.Builder
	for len(matches) > 0 {
		n := 1
		for n < len(matches) && matches[n].Path == matches[0].Path {
			n++
		}
		lines, matching := map[int]string{}, map[int]bool{}
		for _, m := range matches[:n] {
			for i, line := range m.Before {
				lines[m.Line-len(m.Before)+i] = line
			}
			for i, line := range m.After {
				lines[m.Line+1+i] = line
			}
		}
		for _, m := range matches[:n] {
			lines[m.Line], matching[m.Line] = m.Content, true
		}
		b.WriteString(matches[0].Path + "\n")
		for _, number := range slices.Sorted(maps.Keys(lines)) {
			sign := "-"
			if matching[number] {
				sign = "|"
			}
			fmt.Fprintf(&b, "%d%s%s\n", number, sign, lines[number])
		}
		matches = matches[n:]
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// brackets have a meaning in a glob, and occur in names such as app/[id]/page.tsx.
var brackets = strings.NewReplacer("[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

// searchNames searches. If a glob with brackets matches no name, it searches for names with literal
// brackets, and note states it.
func searchNames(ctx context.Context, files tools.Files, q search.Query) (found *search.Found, note string, err error) {
	found, err = files.Search(ctx, q)
	if !q.Files || !strings.ContainsAny(q.Pattern, "[]{}") || err == nil && found.Total > 0 {
		return found, "", err
	}
	q.Pattern = brackets.Replace(q.Pattern)
	if named, failure := files.Search(ctx, q); failure == nil && named.Total > 0 {
		return named, "no name matches the pattern as a glob; its brackets were looked for as they are", nil
	}
	return found, "", err
}

// inFolder returns found with absolute paths.
func inFolder(found *search.Found, folder string) *search.Found {
	named := *found
	named.Matches, named.Files, named.Counts = nil, nil, map[string]int{}
	at := func(name string) string { return filepath.ToSlash(filepath.Join(folder, name)) }
	for _, m := range found.Matches {
		m.Path = at(m.Path)
		named.Matches = append(named.Matches, m)
	}
	for _, name := range found.Files {
		named.Files = append(named.Files, at(name))
	}
	for name, n := range found.Counts {
		named.Counts[at(name)] = n
	}
	return &named
}

// query replaces invalid numbers.
func query(in searchIn) search.Query {
	limit := in.Limit
	if limit <= 0 {
		limit = searchLimit
	}
	return search.Query{
		Pattern: in.Pattern,
		Files:   in.Target == "files",
		Path:    cmp.Or(in.Path, "."),
		Glob:    oneGlob(in.FileGlob),
		Limit:   min(limit, searchLimitMax),
		Offset:  max(in.Offset, 0),
		Context: min(max(in.Context, 0), searchContextMax),
		Mode:    cmp.Or(string(in.OutputMode), search.ModeContent),
	}
}

// oneGlob joins comma-separated globs.
func oneGlob(globs string) string {
	if !strings.Contains(globs, ",") || strings.ContainsAny(globs, "{[") {
		return globs
	}
	parts := strings.Split(globs, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// shownFound returns a page for the model. A page over the limit ends earlier.
func shownFound(found *search.Found, in searchIn, q search.Query) searchOut {
	out := searchOut{TotalCount: found.Total, Truncated: found.Truncated}
	shown, room := 0, searchBytes
	fits := func(entry any) bool {
		if room -= tools.Size(entry) + 1; room < 0 && shown > 0 {
			out.Truncated = true
			return false
		}
		shown++
		return true
	}
	switch {
	case q.Mode == search.ModeCount && !q.Files:
		counts := map[string]int{}
		for _, name := range slices.Sorted(maps.Keys(found.Counts)) {
			if !fits(map[string]int{tools.Visible(name): found.Counts[name]}) {
				break
			}
			counts[tools.Visible(name)] = found.Counts[name]
		}
		out.Counts = &counts
	case q.Files || q.Mode == search.ModeFiles:
		files := []string{}
		for _, name := range found.Files {
			if !fits(tools.Visible(name)) {
				break
			}
			files = append(files, tools.Visible(name))
		}
		out.Files = &files
	default:
		matches := []searchMatch{}
		around, _ := regexp.Compile(in.Pattern) // nil: a pattern of rg's own; lines are cut from their start
		for _, m := range found.Matches {
			match := searchMatch{
				Path: tools.Visible(m.Path), Line: m.Line, Content: cutAround(m.Content, around),
				Before: cutAll(m.Before), After: cutAll(m.After),
			}
			if !fits(match) {
				break
			}
			matches = append(matches, match)
		}
		out.Matches = &matches
	}
	if out.Truncated && shown > 0 {
		out.NextOffset = q.Offset + shown
	}
	if shown == 0 {
		out.Note = nothing(found, in, q)
	}
	return out
}

func cutAll(lines []string) []string {
	var cut []string
	for _, line := range lines {
		cut = append(cut, cutAround(line, nil))
	}
	return cut
}

// cutAround shortens a long line to the part around its first match.
func cutAround(line string, match *regexp.Regexp) string {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if utf8.RuneCountInString(line) <= searchLineChars {
		return line
	}
	at := 0
	if match != nil {
		if loc := match.FindStringIndex(line); loc != nil {
			at = utf8.RuneCountInString(line[:loc[0]])
		}
	}
	runes := []rune(line)
	start := min(max(at-searchLineChars/4, 0), len(runes)-searchLineChars)
	end := start + searchLineChars
	text := string(runes[start:end])
	if start > 0 {
		text = "…" + text
	}
	if end < len(runes) {
		text += "…"
	}
	return text
}

// nothing explains possible reasons for an empty result.
func nothing(found *search.Found, in searchIn, q search.Query) string {
	if found.Total > 0 {
		return fmt.Sprintf("there are only %d results; offset %d is past them", found.Total, q.Offset)
	}
	n := notes{"nothing found; ignored (.gitignore), hidden and binary files are not searched"}
	if !q.Files && !in.literal && regexp.QuoteMeta(in.Pattern) != in.Pattern {
		n.add("the pattern is a regular expression: put \\ before characters such as ( [ . * to find them as they are")
	}
	if p := in.Pattern; len(p) > 2 && strings.IndexByte("\"'`", p[0]) >= 0 && p[0] == p[len(p)-1] {
		n.add("the quotes around the pattern are searched, too: leave them out of pattern")
	}
	if q.Files && regexpSigns().MatchString(in.Pattern) {
		n.add("the pattern of names is a glob such as **/*_test.go, not a regular expression")
	}
	switch {
	case in.FileGlob != "" && !strings.ContainsAny(in.FileGlob, "*?[{"):
		n.add(fmt.Sprintf("file_glob matches whole names: for an ending, write *.%s", strings.TrimLeft(in.FileGlob, ".")))
	case in.FileGlob != "":
		n.add("file_glob may leave out too much")
	}
	return n.String()
}
