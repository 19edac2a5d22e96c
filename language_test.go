package hermes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rare lists words for which a name is usually clearer. The rate is the limit in 1,000 words of a package's
// comments. A package with few words can use a word least times.
var rare = []struct {
	name   string
	word   *regexp.Regexp
	rate   float64
	least  int
	onlyGo bool // only comments in Go are counted
}{
	{"what", regexp.MustCompile(`(?i)\bwhat\b`), 3, 0, false},
	{"that", regexp.MustCompile(`(?i)\bthat\b`), 14, 2, true},
	{"one", regexp.MustCompile(`(?i)\bones?\b`), 3, 1, true},
	{"those", regexp.MustCompile(`(?i)\bthose\b`), 0.7, 1, true},
}

// avoided are expressions with a plain term in the project.
var avoided = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	"somebody", "nobody", "anybody", "whoever", "interject(s|ed)?", "unasked", "blacken(s|ed)?", "courtesy",
	"(take|takes|taken|took|taking) back", "(bring|brings|brought|bringing) back", "broken? off",
	"sa(y|ys|id) (yes|no)", "a yes", "needs a yes", "allowed for good", "nothing lifts it", "let(s)? pass",
	"let go of", "summed up", "moved on", "overtaken", "answer time", "summing up", "patien(ce|tly)", "persons?", "surveyed",
	"unsaved text", "was said", "let wait", "past conversations?", "humans", "place in line", "project notes", "manners?", "scrub(s|bed)?", "inquir(y|ies)",
	"takes? up again", "begins? again", "goes? back to before", "answer times?", "fixed text", "allowed? unasked",
	"what (asks|comes back|was said|a tool gave|nobody should see|is else|may be at most|others plug in|you have open|goes on by itself|is below it)",
}, "|") + `)\b`)

var inCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|<!--.*?-->")

// language counts the words of a folder's comments, and its uses of the rare words.
type language struct {
	words int
	rare  map[string]int
}

// storedText contains SQL whose comments are in the databases of users, so it does not change.
const storedText = "agent/store/migrations.go"

// TestLanguage limits expressions in comments, messages and documents.
func TestLanguage(t *testing.T) {
	t.Parallel()
	counts, places := map[string]*language{}, map[string][]string{}
	note := func(file, text string, comment bool) {
		dir := filepath.ToSlash(filepath.Dir(file))
		for _, found := range avoided.FindAllString(text, -1) {
			places[dir] = append(places[dir], fmt.Sprintf("%s: %q", file, found))
		}
		if counts[dir] == nil {
			counts[dir] = &language{rare: map[string]int{}}
		}
		if !comment {
			return
		}
		counts[dir].words += len(strings.Fields(text))
		for _, r := range rare {
			if !r.onlyGo || filepath.Ext(file) == ".go" {
				counts[dir].rare[r.name] += len(r.word.FindAllString(text, -1))
			}
		}
	}
	for file := range goFiles(t) {
		noteGo(t, file, note)
	}
	for _, file := range otherCode(t) {
		noteCode(t, file, note)
	}
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		note(file, inCode.ReplaceAllString(string(text), ""), false)
	}
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		l := counts[dir]
		if found := places[dir]; len(found) > 0 {
			t.Errorf("%s: %d expressions have a plain term in the glossary:\n\t%s", dir, len(found), strings.Join(found, "\n\t"))
		}
		for _, r := range rare {
			if n := l.rare[r.name]; n > r.least && float64(n)*1000 > r.rate*float64(l.words) {
				t.Errorf("%s: comments use %q %d times in %d words; the limit is %v in 1,000", dir, r.name, n, l.words, r.rate)
			}
		}
	}
	if len(counts) < 40 {
		t.Errorf("only %d folders were read: the walk is broken", len(counts))
	}
}

// noteGo collects the comments of a Go file and, outside of tests, its strings.
func noteGo(t *testing.T, file string, note func(file, text string, comment bool)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) || file == "language_test.go" {
		return
	}
	for _, group := range parsed.Comments {
		note(file, group.Text(), true)
	}
	if strings.HasSuffix(file, "_test.go") || file == storedText {
		return
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				note(file, text, false)
			}
		}
		return true
	})
}

// otherComments match the comments of languages other than Go.
var otherComments = map[string]*regexp.Regexp{
	".ts": slashComments, ".tsx": slashComments, ".mjs": slashComments,
	".lua": regexp.MustCompile(`--[^\n]*`),
	".py":  regexp.MustCompile(`(?s)#[^\n]*|""".*?"""`),
	".sh":  regexp.MustCompile(`(?m)(^|\s)#[^\n]*`),
}

var slashComments = regexp.MustCompile(`(?ms)(^|\s)//[^\n]*|/\*.*?\*/`)

// otherCode lists the files of the plugins, of tests in other languages, and of scripts. The demo's
// project is data.
func otherCode(t *testing.T) []string {
	t.Helper()
	files := filesOf(t, func(file string) bool { return otherComments[filepath.Ext(file)] != nil }, "dist", "bin", "project")
	if len(files) < 100 {
		t.Errorf("only %d files in other languages were found: the walk is broken", len(files))
	}
	return files
}

// noteCode collects the comments of a file, and its whole text if it is no test. The comments of a
// top folder are counted together.
func noteCode(t *testing.T, file string, note func(file, text string, comment bool)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	slashed := filepath.ToSlash(file)
	top, _, _ := strings.Cut(slashed, "/")
	comments := strings.Join(otherComments[filepath.Ext(file)].FindAllString(string(text), -1), "\n")
	note(top+"/"+filepath.Base(file), comments, true)
	if top != "e2e" && !strings.Contains(slashed, "/test/") && !strings.Contains(slashed, ".test.") {
		note(file, otherComments[filepath.Ext(file)].ReplaceAllString(string(text), ""), false)
	}
}

// maxErrorText is the maximum number of words in an error text. The rest of the 60 words, to which
// tools.BriefError cuts it, is for its data.
const maxErrorText = 45

// TestErrorTexts limits the texts with which errors are made.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	n := 0
	for file := range goFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			made, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Fail", "Failure", "Errorf", "New"}, made.Sel.Name) {
				return true
			}
			text := ""
			ast.Inspect(call.Args[0], func(node ast.Node) bool {
				if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					part, _ := strconv.Unquote(lit.Value)
					text += part
				}
				return true
			})
			if words := len(strings.Fields(text)); words > maxErrorText {
				t.Errorf("%s: %d words, the limit is %d: %s", file, words, maxErrorText, text)
			}
			n++
			return true
		})
	}
	if n < 1000 {
		t.Errorf("only %d errors were read: the walk is broken", n)
	}
}

// documents lists the Markdown files of the project, the help of the Neovim plugin, and the texts
// of the VS Code extension. The changelog is history.
func documents(t *testing.T) []string {
	t.Helper()
	return filesOf(t, func(file string) bool {
		return strings.HasSuffix(file, ".md") && file != "CHANGELOG.md" ||
			slices.Contains([]string{"nvim/doc/hermes.txt", "vscode/package.json"}, filepath.ToSlash(file))
	})
}
