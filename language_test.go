package hermes

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateLanguage = flag.Bool("update-language", false, "write the counts of testdata/language.txt anew")

// languageFile has a line "folder avoided what" for each folder that is above the limits:
// how many avoided expressions it has, and how often its comments use "what". The counts
// may only shrink. If code moves to another folder, its counts move along.
const languageFile = "testdata/language.txt"

// maxWhat is how often comments may use "what" in 1,000 words.
const maxWhat = 3

// avoided are expressions for which the project has a plain term.
var avoided = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	"somebody", "nobody", "anybody", "whoever", "interject(s|ed)?", "unasked", "blacken(s|ed)?", "courtesy",
	"(take|takes|taken|took|taking) back", "(bring|brings|brought|bringing) back", "broken? off",
	"sa(y|ys|id) (yes|no)", "a yes", "needs a yes", "allowed for good", "nothing lifts it", "let(s)? pass",
	"let go of", "moved on", "overtaken", "answer time", "summing up",
	"what (asks|comes back|was said|a tool gave|nobody should see|is else|may be at most|others plug in|you have open|goes on by itself|is below it)",
}, "|") + `)\b`)

var (
	whatWord = regexp.MustCompile(`(?i)\bwhat\b`)
	inCode   = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|<!--.*?-->")
)

// language has the counts of a folder.
type language struct{ avoided, what, words int }

// above reports whether the counts are above the limits.
func (l language) above() bool { return l.avoided > 0 || l.tooMuchWhat() }

func (l language) tooMuchWhat() bool { return l.what*1000 > maxWhat*l.words }

// TestLanguage limits expressions in comments, messages and documents.
func TestLanguage(t *testing.T) {
	t.Parallel()
	counts, places := map[string]language{}, map[string][]string{}
	note := func(file, text string, comment bool) {
		dir := filepath.ToSlash(filepath.Dir(file))
		l := counts[dir]
		for _, found := range avoided.FindAllString(text, -1) {
			l.avoided++
			places[dir] = append(places[dir], fmt.Sprintf("%s: %q", file, found))
		}
		if comment {
			l.what += len(whatWord.FindAllString(text, -1))
			l.words += len(strings.Fields(text))
		}
		counts[dir] = l
	}
	for file := range goFiles(t) {
		noteGo(t, file, note)
	}
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		note(file, inCode.ReplaceAllString(string(text), ""), false)
	}
	if *updateLanguage {
		writeLanguage(t, counts)
	}
	bounds := readLanguage(t)
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		l, bound := counts[dir], bounds[dir]
		if l.avoided > bound.avoided {
			t.Errorf("%s: %d expressions have a plain term, %d are listed in %s:\n\t%s", dir, l.avoided, bound.avoided, languageFile, strings.Join(places[dir], "\n\t"))
		}
		if l.tooMuchWhat() && l.what > bound.what {
			t.Errorf("%s: comments use %q %d times in %d words; the limit is %d in 1,000, and %d are listed in %s", dir, "what", l.what, l.words, maxWhat, bound.what, languageFile)
		}
	}
	if len(counts) < 40 {
		t.Errorf("only %d folders were read: the walk is broken", len(counts))
	}
}

// noteGo notes the comments of a Go file and, outside of tests, its strings.
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
	if strings.HasSuffix(file, "_test.go") {
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

// documents lists the Markdown files of the project. The changelog is history.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(file, ".md") && file != "CHANGELOG.md":
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readLanguage(t *testing.T) map[string]language {
	t.Helper()
	f, err := os.Open(languageFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bounds := map[string]language{}
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var dir string
		var l language
		if _, err := fmt.Sscan(scan.Text(), &dir, &l.avoided, &l.what); err != nil {
			t.Fatalf("%s: %q: %v", languageFile, scan.Text(), err)
		}
		bounds[dir] = l
	}
	return bounds
}

func writeLanguage(t *testing.T, counts map[string]language) {
	t.Helper()
	var out strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		if l := counts[dir]; l.above() {
			fmt.Fprintln(&out, dir, l.avoided, l.what)
		}
	}
	if err := os.WriteFile(languageFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
