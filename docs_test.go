package hermes

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	mdFence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	mdCode    = regexp.MustCompile("`[^`\n]*`")
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that each relative link of the Markdown files leads to a file, and to a heading
// if it has a fragment.
func TestLinks(t *testing.T) {
	t.Parallel()
	links := 0
	for _, file := range markdownFiles(t) {
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(markdown(t, file), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			path, fragment, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads to no file", file, m[1])
			} else if fragment != "" && !slices.Contains(anchors(markdown(t, target)), fragment) {
				t.Errorf("%s: the link %s leads to no heading", file, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were checked: the search is broken", links)
	}
}

// TestNavigation wants each page of docs to be in the README and in the navigation of the site.
func TestNavigation(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, where := range []string{"README.md", "mkdocs.yml"} {
		text, err := os.ReadFile(where)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if page = filepath.ToSlash(page); !strings.Contains(string(text), page) {
				t.Errorf("%s does not lead to %s", where, page)
			}
		}
	}
}

// The maximum numbers of words, tables included: of a page about a task, and of all pages.
const (
	maxTaskWords = 900
	maxWords     = 35000
)

// references are the pages in which a reader looks things up: settings, commands, tools, mechanisms, and the parts of
// the view in VS Code. They have no limit of their own.
var references = []string{"cli", "commands", "configuration", "sandbox", "tools", "vscode"}

// TestLengths limits the words of the pages.
func TestLengths(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words := len(strings.Fields(string(text)))
		sum += words
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); words > maxTaskWords && !slices.Contains(references, name) {
			t.Errorf("%s has %d words; the limit is %d", page, words, maxTaskWords)
		}
	}
	if sum > maxWords {
		t.Errorf("the pages have %d words; the limit is %d", sum, maxWords)
	}
}

// markdownFiles returns the Markdown files for users and developers.
func markdownFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (path != "." && strings.HasPrefix(e.Name(), ".") && e.Name() != ".github" || slices.Contains([]string{"node_modules", "testdata", "dist", "bin"}, e.Name())):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// markdown returns the text of a file without its code blocks.
func markdown(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return mdFence.ReplaceAllString(string(text), "")
}

// anchors returns the fragments of the headings, as GitHub makes them.
func anchors(text string) (all []string) {
	for _, m := range mdHeading.FindAllStringSubmatch(text, -1) {
		plain := notAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// TestFilesOfArchitecture checks that the source files named in ARCHITECTURE.md exist.
func TestFilesOfArchitecture(t *testing.T) {
	t.Parallel()
	var files []string
	for file := range goFiles(t) {
		files = append(files, "/"+filepath.ToSlash(file))
	}
	named := regexp.MustCompile("`([\\w./-]+\\.go)`").FindAllStringSubmatch(markdown(t, "ARCHITECTURE.md"), -1)
	if len(named) < 10 {
		t.Errorf("only %d files are named", len(named))
	}
	for _, m := range named {
		if !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "/"+m[1]) }) {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
		}
	}
}
