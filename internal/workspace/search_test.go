package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// rg returns a runner for the real ripgrep, which these tests need.
func rg(t testing.TB) search.Runner {
	t.Helper()
	path := testneed.Program(t, "rg", "ripgrep")
	home := t.TempDir()
	return func(ctx context.Context, args []string, dir string, stdout io.Writer) (int, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir, cmd.Stdout = dir, stdout
		cmd.Env = []string{"HOME=" + home}
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		return cmd.ProcessState.ExitCode(), err
	}
}

// engines runs check with each engine.
func engines(t *testing.T, w *Workspace, check func(t *testing.T)) {
	t.Helper()
	runners := map[string]search.Runner{"in-process": nil}
	if !testing.Short() {
		runners["rg"] = rg(t)
	}
	for name, runner := range runners {
		w.Ripgrep = runner
		if !t.Run(name, check) {
			return
		}
	}
}

func searchTree(t *testing.T) map[string]string {
	t.Helper()
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("wide needle\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	return map[string]string{
		"a.go":              "package a\n\nfunc Needle() {}\n// needle\n",
		"b/b.go":            "needle needle\nNEEDLE\n\tneedle()",
		"b/b.txt":           "no\nneedle\n",
		"b-c.txt":           "needle\n",
		"crlf.txt":          "one\r\nneedle\r\nthree\r\n",
		"bom.txt":           "\xef\xbb\xbfneedle first\n",
		"utf16.txt":         string(utf16le),
		"binary.bin":        "needle\x00needle\n",
		"latebin.dat":       "needle\n" + strings.Repeat("x\n", 100_000) + "\x00",
		"latin.txt":         "caf\xe9 needle\n",
		"empty":             "",
		"-dash/x.txt":       "needle\n",
		"sp ace/y é.txt":    "needle\n",
		"long.txt":          strings.Repeat("x", 300_000) + "needle\nneedle\n",
		"many.txt":          strings.Repeat("filler line\n", 50_000) + "needle at the end\n",
		".hidden/z.txt":     "needle\n",
		".dot":              "needle\n",
		".shown":            "needle\n",
		".git/config":       "needle\n",
		".gitignore":        "*.log\n/out/\n!.shown\nkeep/*\n!keep/yes.txt\n",
		"x.log":             "needle\n",
		"out/x.txt":         "needle\n",
		"sub/out/x.txt":     "needle\n",
		"keep/no.txt":       "needle\n",
		"keep/yes.txt":      "needle\n",
		"sub/.ignore":       "private\n!important.log\n",
		"sub/private/p":     "needle\n",
		"sub/important.log": "needle\n",
		"sub/.rgignore":     "rgskip\n",
		"sub/rgskip":        "needle\n",
		"vendor/.git":       "gitdir: ../elsewhere\n",
		"vendor/x.log":      "needle\n",
		"vendor/.gitignore": "y.txt\n",
		"vendor/y.txt":      "needle\n",
	}
}

// shownByRg asks the real program, the way a user would.
func shownByRg(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	exit, err := rg(t)(t.Context(), append([]string{"--no-config", "--crlf"}, args...), dir, &out)
	if err != nil || exit > 1 {
		t.Fatalf("rg %q: exit %d, %v", args, exit, err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(lines)
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" || strings.Contains(l, "latebin") })
}

func flat(found *search.Found) []string {
	var lines []string
	for _, m := range found.Matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Content))
	}
	lines = append(lines, found.Files...)
	slices.Sort(lines)
	return lines
}

// Both engines find the results of rg.
func TestSearchAgainstRg(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	w, dir := open(t, searchTree(t), nil)
	must(t, os.Symlink("a.go", filepath.Join(dir, "link.go")))
	must(t, os.Symlink("b", filepath.Join(dir, "linkdir")))
	engines(t, w, func(t *testing.T) {
		for _, pattern := range []string{
			"needle", "Needle", "(?i)needle", "^needle", "needle$", `n\w+e\b`, "needle|first", "(one|three)$", "^$", `\(\)`, "e{2}d", `n.edle`, "[n]eedl[e]", "xneedle", "nothing at all", ".*",
		} {
			for _, glob := range []string{"", "*.txt", "!*.txt", "b/*", "**/*.go", "*.{go,log}", "/a.go", "sub/**", ".dot", "keep/*"} {
				args := []string{"--no-heading", "--line-number", "--with-filename", "--regexp=" + pattern}
				if glob != "" {
					args = append(args, "--glob="+glob)
				}
				found, err := w.Search(t.Context(), search.Query{Pattern: pattern, Glob: glob, Limit: 1_000_000})
				if pattern == ".*" {
					// Too many to show: only the numbers.
					args = append(args, "--count")
					found, err = w.Search(t.Context(), search.Query{Pattern: pattern, Glob: glob, Limit: 1_000_000, Mode: search.ModeCount})
				}
				if err != nil {
					t.Errorf("Search(%q, %q): %v", pattern, glob, err)
					continue
				}
				want := shownByRg(t, dir, args...)
				got := flat(found)
				for path, n := range found.Counts {
					got = append(got, fmt.Sprintf("%s:%d", path, n))
				}
				slices.Sort(got)
				for i := range want {
					want[i] = strings.TrimSuffix(strings.Replace(want[i], "caf\xe9", "café", 1), "\r")
				}
				for _, lines := range [][]string{got, want} {
					for i, line := range lines { // another test covers which part of a long line is shown
						lines[i] = line[:min(len(line), len("long.txt:1:")+40)]
					}
				}
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("Search(%q, %q):\ngot  %.600q\nwant %.600q", pattern, glob, got, want)
				}
				if found.Total != len(want) && pattern != ".*" {
					t.Errorf("Search(%q, %q): total %d, want %d", pattern, glob, found.Total, len(want))
				}
			}
		}
		for _, glob := range []string{"", "*.txt", "!sub", ".dot", ".hidden", "b/"} {
			found, err := w.Search(t.Context(), search.Query{Files: true, Glob: glob, Limit: 1000})
			args := []string{"--files"}
			if glob != "" {
				args = append(args, "--glob="+glob)
			}
			want := shownByRg(t, dir, args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.DeleteFunc(flat(found), func(s string) bool { return s == "latebin.dat" }); !slices.Equal(got, want) {
				t.Errorf("files %q:\ngot  %q\nwant %q", glob, got, want)
			}
		}
	})
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"b.txt": "x1\nx2\nx3\n", "a.txt": "0\nx4\n", "a/c.txt": "x5\n", "a-b": "none\n"}, nil)
	all := []string{"a.txt:2:x4", "a/c.txt:1:x5", "b.txt:1:x1", "b.txt:2:x2", "b.txt:3:x3"}
	engines(t, w, func(t *testing.T) {
		for _, test := range []struct{ offset, limit int }{{0, 0}, {0, 5}, {0, 2}, {1, 2}, {2, 2}, {3, 9}, {5, 1}, {9, 9}, {-1, 1}} {
			found, err := w.Search(t.Context(), search.Query{Pattern: "x", Offset: test.offset, Limit: test.limit})
			must(t, err)
			limit := test.limit
			if limit == 0 {
				limit = 50
			}
			from := min(max(test.offset, 0), len(all))
			want := all[from:min(from+limit, len(all))]
			var got []string
			for _, m := range found.Matches {
				got = append(got, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Content))
			}
			if !slices.Equal(got, want) || found.Total != 5 || found.Truncated != (from+limit < 5) {
				t.Errorf("%v: %q of %d, %v", test, got, found.Total, found.Truncated)
			}
		}
		files, err := w.Search(t.Context(), search.Query{Pattern: "x", Mode: search.ModeFiles, Limit: 2})
		if err != nil || !slices.Equal(files.Files, []string{"a.txt", "a/c.txt"}) || files.Total != 3 || !files.Truncated {
			t.Errorf("files: %+v, %v", files, err)
		}
		counts, err := w.Search(t.Context(), search.Query{Pattern: "x", Mode: search.ModeCount, Offset: 2})
		if err != nil || len(counts.Counts) != 1 || counts.Counts["b.txt"] != 3 || counts.Total != 5 || counts.Truncated {
			t.Errorf("counts: %+v, %v", counts, err)
		}
		around, err := w.Search(t.Context(), search.Query{Pattern: "x2", Context: 1})
		if err != nil || len(around.Matches) != 1 || !slices.Equal(around.Matches[0].Before, []string{"x1"}) || !slices.Equal(around.Matches[0].After, []string{"x3"}) {
			t.Errorf("context: %+v, %v", around, err)
		}
		edge, err := w.Search(t.Context(), search.Query{Pattern: "x[14]", Context: 5})
		if err != nil || len(edge.Matches) != 2 || len(edge.Matches[0].Before) != 1 || len(edge.Matches[0].After) != 0 || len(edge.Matches[1].After) != 2 {
			t.Errorf("context at the ends: %+v, %v", edge, err)
		}
	})
}

// Above the limit of kept matches, the rest is counted, and the pages are still the first by path.
func TestSearchManyMatches(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("f%02d", i)] = strings.Repeat("x\n", 1000)
	}
	files["zz"] = strings.Repeat("x\n", 30_000)
	w, _ := open(t, files, nil)
	engines(t, w, func(t *testing.T) {
		found, err := w.Search(t.Context(), search.Query{Pattern: "x", Offset: 9_999, Limit: 10})
		if err != nil || found.Total != 90_000 || !found.Truncated || len(found.Matches) == 0 ||
			found.Matches[0].Path != "f09" || found.Matches[0].Line != 1000 {
			t.Errorf("found %+v, %v", found, err)
		}
		found, err = w.Search(t.Context(), search.Query{Pattern: "x", Path: "zz"})
		if err != nil || found.Total != 30_000 || len(found.Matches) != 50 {
			t.Errorf("in one file: %d of %d, %v", len(found.Matches), found.Total, err)
		}
	})
}

func TestSearchFileNames(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"main.go": "", "main_test.go": "", "cmd/main.go": "", "cmd/tool/x.txt": "", "Makefile": "", ".env": "", ".ignore": "*.tmp\n", "main.tmp": ""}, nil)
	engines(t, w, func(t *testing.T) {
		for pattern, want := range map[string][]string{
			"*.go":        {"cmd/main.go", "main.go", "main_test.go"},
			"main.go":     {"cmd/main.go", "main.go"},
			"cmd/main":    {"cmd/main.go"},
			"cmd/*.go":    {"cmd/main.go"},
			"/main.go":    {"cmd/main.go", "main.go"},
			"**/*.txt":    {"cmd/tool/x.txt"},
			"cmd/**":      {"cmd/main.go", "cmd/tool/x.txt"},
			"*.{go,txt}":  {"cmd/main.go", "cmd/tool/x.txt", "main.go", "main_test.go"},
			"[M]akefile":  {"Makefile"},
			"*.tmp":       {},
			"nothing":     {},
			"main?test.*": {"main_test.go"},
		} {
			found, err := w.Search(t.Context(), search.Query{Pattern: pattern, Files: true})
			if err != nil || !slices.Equal(found.Files, want) || found.Total != len(want) || found.Truncated {
				t.Errorf("%q: %+v, %v; want %q", pattern, found, err, want)
			}
		}
		found, err := w.Search(t.Context(), search.Query{Files: true, Path: "cmd", Limit: 1, Offset: 1})
		if err != nil || !slices.Equal(found.Files, []string{"cmd/tool/x.txt"}) || found.Total != 2 {
			t.Errorf("in cmd: %+v, %v", found, err)
		}
	})
}

// TestSearchNamesInOtherForms: names and globs are found in each Unicode form.
func TestSearchNamesInOtherForms(t *testing.T) {
	t.Parallel()
	forms := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD}
	for of, file := range forms {
		for as, asked := range forms {
			t.Run(of+" as "+as, func(t *testing.T) {
				t.Parallel()
				name := file.String("Käse/Größe.txt")
				w, _ := open(t, map[string]string{name: "needle\n", "other.txt": "needle\n"}, nil)
				engines(t, w, func(t *testing.T) {
					for _, q := range []search.Query{
						{Pattern: "*Größe*", Files: true}, {Pattern: "Grö", Files: true}, {Pattern: "Käse/*", Files: true}, {Pattern: "*.txt", Glob: "*öß*", Files: true},
						{Pattern: "needle", Glob: "Gr[öo]*", Mode: search.ModeFiles}, {Pattern: "needle", Glob: "Käse/**", Mode: search.ModeFiles}, {Pattern: "needle", Glob: "!other.txt", Mode: search.ModeFiles},
					} {
						q.Pattern, q.Glob = asked.String(q.Pattern), asked.String(q.Glob)
						found, err := w.Search(t.Context(), q)
						if err != nil || !slices.Equal(found.Files, []string{name}) {
							t.Errorf("%+v finds %v, %v", q, found, err)
						}
					}
				})
			})
		}
	}
}

func TestSearchOpenDocuments(t *testing.T) {
	t.Parallel()
	e := newEditor()
	w, dir := open(t, map[string]string{
		"gone.txt": "needle\n", "same.txt": "needle\n", "sub/moved.txt": "needle\nx\n", ".git/HEAD": "", ".gitignore": "ignored.txt\n", "ignored.txt": "",
	}, e)
	e.Open(filepath.Join(dir, "gone.txt"), 1, "nothing\n")
	e.Open(filepath.Join(dir, "sub/moved.txt"), 1, "x\nunsaved needle\n")
	e.Open(filepath.Join(dir, "new.txt"), 1, "needle, never saved\n")
	e.Open(filepath.Join(dir, "ignored.txt"), 1, "needle\n")
	e.Open("/elsewhere/x", 1, "needle\n")
	engines(t, w, func(t *testing.T) {
		for q, want := range map[search.Query][]string{
			{Pattern: "needle"}:                                            {"new.txt:1:needle, never saved", "same.txt:1:needle", "sub/moved.txt:2:unsaved needle"},
			{Pattern: "needle", Path: "sub"}:                               {"sub/moved.txt:2:unsaved needle"},
			{Pattern: "needle", Glob: "m*"}:                                {"sub/moved.txt:2:unsaved needle"},
			{Pattern: "needle", Path: "gone.txt"}:                          nil,
			{Pattern: "needle", Path: "new.txt"}:                           {"new.txt:1:needle, never saved"},
			{Pattern: "needle", Path: "ignored.txt"}:                       {"ignored.txt:1:needle"},
			{Pattern: "needle", Path: filepath.Join(dir, "sub/moved.txt")}: {"sub/moved.txt:2:unsaved needle"},
		} {
			found, err := w.Search(t.Context(), q)
			if err != nil || !slices.Equal(flat(found), want) || found.Total != len(want) {
				t.Errorf("%+v: %q, %v; want %q", q, flat(found), err, want)
			}
		}
	})
}

func TestSearchSeveralFolders(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	writeFiles(t, base, map[string]string{
		"one/a": "needle\n", "one/inner/b": "needle\n", "one/.ignore": "inner\n", "two/c": "needle\n", "three/d": "needle\n",
	})
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	w := openDirs(t, nil, one, two, filepath.Join(one, "inner"))
	engines(t, w, func(t *testing.T) {
		for path, want := range map[string][]string{
			"": {filepath.ToSlash(two) + "/c", "a", "inner/b"}, ".": {filepath.ToSlash(two) + "/c", "a", "inner/b"},
			one: {"a"}, two: {filepath.ToSlash(two) + "/c"}, "inner": {"inner/b"},
		} {
			found, err := w.Search(t.Context(), search.Query{Pattern: "needle", Path: path, Mode: search.ModeFiles})
			if err != nil || !slices.Equal(found.Files, want) || found.Total != len(want) {
				t.Errorf("in %q: %+v, %v; want %q", path, found, err, want)
			}
		}
	})
}

func TestSearchErrors(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"a.txt": "f(x\n"}, nil)
	engines(t, w, func(t *testing.T) {
		for _, test := range []struct {
			q    search.Query
			want string
		}{
			{search.Query{Pattern: "f(x"}, `escape it: f\(x`},
			{search.Query{Pattern: "a\nb"}, "line break"},
			{search.Query{Pattern: `a\nb`}, "line break"},
			{search.Query{}, "empty"},
			{search.Query{Pattern: "x", Glob: "[a"}, "glob"},
			{search.Query{Pattern: "[a", Files: true}, "glob"},
			{search.Query{Pattern: "x", Mode: "yaml"}, "files_only"},
			{search.Query{Pattern: "x", Path: "a.tx"}, "did you mean a.txt?"},
		} {
			if found, err := w.Search(t.Context(), test.q); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Search(%+v) = %v, %v; want …%s", test.q, found, err, test.want)
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Search(cancelled, search.Query{Pattern: "f"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled search = %v", err)
		}
	})
}

// If rg is missing, dies, or prints nonsense, the other engine replaces it, and its output so far
// is dropped.
func TestSearchWithBrokenRg(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"a.txt": "needle\n", "b.txt": "x\n"}, nil)
	say := func(text string, exit int, err error) search.Runner {
		return func(_ context.Context, _ []string, _ string, out io.Writer) (int, error) {
			if _, err := io.WriteString(out, text); err != nil {
				return -1, err
			}
			return exit, err
		}
	}
	const begun = `{"type":"begin","data":{"path":{"text":"./a.txt"}}}` + "\n" +
		`{"type":"match","data":{"path":{"text":"./a.txt"},"lines":{"text":"needle\n"},"line_number":1,"absolute_offset":0,"submatches":[]}}` + "\n" +
		`{"type":"end","data":{"path":{"text":"./a.txt"},"binary_offset":null}}` + "\n"
	for name, runner := range map[string]search.Runner{
		"missing":  say("", -1, exec.ErrNotFound),
		"died":     say(begun, 137, nil),
		"nonsense": say("{]\n", 0, nil),
		"long":     say(strings.Repeat("x", (64<<20)+1), 0, nil),
	} {
		w.Ripgrep = runner
		if found, err := w.Search(t.Context(), search.Query{Pattern: "needle"}); err != nil || found.Total != 1 || len(found.Matches) != 1 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if found, err := w.Search(t.Context(), search.Query{Files: true}); name != "nonsense" && (err != nil || found.Total != 2) {
			t.Errorf("%s: files %+v, %v", name, found, err)
		}
	}
}

// A result of rg is shown only if the folder's root shows it, too: rg may have
// been led outside by a folder swapped for a link.
func TestSearchOutsideByRg(t *testing.T) {
	t.Parallel()
	w, dir, outside := scopeTree(t)
	if _, err := os.Stat(filepath.Join(dir, "outdir/secret.txt")); err != nil {
		t.Fatal(outside, err)
	}
	w.Ripgrep = func(_ context.Context, args []string, at string, out io.Writer) (int, error) {
		said := "outdir/secret.txt\x00"
		if slices.Contains(args, "--json") {
			said = `{"type":"begin","data":{"path":{"text":"outdir/secret.txt"}}}` + "\n" +
				`{"type":"match","data":{"path":{"text":"outdir/secret.txt"},"lines":{"text":"secret\n"},"line_number":1,"absolute_offset":0,"submatches":[]}}` + "\n" +
				`{"type":"end","data":{"path":{"text":"outdir/secret.txt"},"binary_offset":null}}` + "\n" + `{"type":"summary","data":{}}` + "\n"
		}
		if at != dir {
			said = `{"type":"summary","data":{}}` + "\n"
		}
		_, err := io.WriteString(out, said)
		return 0, err
	}
	for _, q := range []search.Query{{Pattern: "secret"}, {Pattern: "secret", Mode: search.ModeFiles}, {Pattern: "secret", Mode: search.ModeCount}, {Pattern: "secret", Files: true}} {
		q.Path = dir
		found, err := w.Search(t.Context(), q)
		if err != nil || found.Total != 1 { // it was reported …
			t.Errorf("%+v: %+v, %v", q, found, err)
		} else if len(found.Matches)+len(found.Files)+len(found.Counts) > 0 { // … but is not shown
			t.Errorf("%+v shows %+v", q, found)
		}
	}
}

// A pattern only rg understands works with rg; without it, the error mentions rg.
func TestSearchRustPattern(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"a.txt": "foo\nbar\n"}, nil)
	engines(t, w, func(t *testing.T) {
		found, err := w.Search(t.Context(), search.Query{Pattern: `(?x) b a r # a comment`})
		if w.Ripgrep != nil && (err != nil || found.Total != 1) {
			t.Errorf("with rg: %+v, %v", found, err)
		}
		if w.Ripgrep == nil && (err == nil || !strings.Contains(err.Error(), "no valid regular expression")) {
			t.Errorf("in-process: %+v, %v", found, err)
		}
	})
}

// Of a line too long to be shown, the part about the match is.
func TestSearchShowsMatchOfLongLine(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{"min.js": "x\n" + strings.Repeat("é", textenc.MaxLine) + "needle" + strings.Repeat("b", textenc.MaxLine) + "\ny\n"}, nil)
	engines(t, w, func(t *testing.T) {
		found, err := w.Search(t.Context(), search.Query{Pattern: "need.e", Context: 1})
		must(t, err)
		if len(found.Matches) != 1 {
			t.Fatalf("found %+v", found)
		}
		m := found.Matches[0]
		if !strings.Contains(m.Content, "éneedleb") || len(m.Content) > textenc.MaxLine || !utf8.ValidString(m.Content) || m.Line != 2 || !slices.Equal(m.After, []string{"y"}) {
			t.Errorf("line %d, %d bytes: %.20q…, after it %q", m.Line, len(m.Content), m.Content, m.After)
		}
	})
}

// The tree is the Go standard library. Compare the times with rg itself.
func BenchmarkSearch(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	run := rg(b)
	w, err := Open([]string{dir}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for name, pattern := range map[string]string{"literal": "ReadAtLeast", "suffix": `\w+AtLeast\(`, "fold": "(?i)readatleast", "class": `[0-9a-f]{12}`} {
		b.Run(name+"/bare-rg", func(b *testing.B) {
			for b.Loop() {
				if _, err := run(b.Context(), []string{"--no-config", "-n", "-e", pattern, "."}, dir, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
		for engine, runner := range map[string]search.Runner{"rg": run, "in-process": nil} {
			b.Run(name+"/"+engine, func(b *testing.B) {
				w.Ripgrep = runner
				for b.Loop() {
					if found, err := w.Search(b.Context(), search.Query{Pattern: pattern}); err != nil || found.Total == 0 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A match of rg in another file than the folder's root shows is dropped.
func TestSearchLedOutside(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"work/f.txt": "inside\nwörd\nOUTSIDE\n", "out/work/f.txt": "OUTSIDE\nOUTSIDE\nOUTSIDE\n"})
	w := openDirs(t, nil, filepath.Join(dir, "work"))
	real := rg(t)
	w.Ripgrep = func(ctx context.Context, args []string, _ string, out io.Writer) (int, error) {
		return real(ctx, args, filepath.Join(dir, "out", "work"), out)
	}
	found, err := w.Search(t.Context(), search.Query{Pattern: "OUTSIDE"})
	must(t, err)
	var got []string
	for _, m := range found.Matches {
		got = append(got, m.Content)
	}
	if want := []string{"wörd", "OUTSIDE"}; !slices.Equal(got, want) { // only rg may accept the first as a word
		t.Errorf("%q, want %q", got, want)
	}
}

// Both engines know the letters, digits and space of all scripts.
func TestSearchBeyondASCII(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a.txt": "plain = 1\né\ncafé au\u00a0lait\n٣٤٥ x\nnaïve_wörd=12\n\u3000\nἄλφα beta\n", "b.txt": "ascii only = 22\n"})
	for _, pattern := range []string{`^\w$`, `\w+é`, `\d{3}`, `^\s$`, `au\slait`, `^[\w=]+$`, `\w\w\w\w\s\w`, `^\W`, `[^\w\s]`, `^\D+$`, `[\p{Greek}]\S`, `\w+ = \d+`, `=\s?\d\d`, `.\w_w`, `-?-\w*|é`, `--\d|=`} {
		counts := map[bool]string{}
		for _, ripgrep := range []bool{true, false} {
			w := openDirs(t, nil, dir)
			if ripgrep {
				w.Ripgrep = rg(t)
			}
			found, err := w.Search(t.Context(), search.Query{Pattern: pattern})
			must(t, err)
			for _, m := range found.Matches {
				counts[ripgrep] += fmt.Sprintf("%s:%d ", filepath.Base(m.Path), m.Line)
			}
		}
		if counts[true] != counts[false] || counts[true] == "" {
			t.Errorf("%s: rg found %s, we %s", pattern, counts[true], counts[false])
		}
	}
}

// A text of another language is found in the encoding of each file, with either engine, and shown
// as text.
func TestSearchInOtherEncodings(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	want, files := map[string]string{}, map[string]string{}
	for c, text := range map[textenc.Charset]string{
		textenc.CharsetGBK: "// 这个函数计算总和 Ziel\n", textenc.CharsetBig5: "// 這個函數計算總和 Ziel\n", textenc.CharsetShiftJIS: "# 設定ファイルが見つかりません Ziel\n",
		textenc.CharsetEUCJP: "# 設定ファイルが見つかりません Ziel\n", textenc.CharsetISO2022JP: "# 設定ファイルが見つかりません Ziel\n", textenc.CharsetEUCKR: "// 이 함수는 합계를 계산합니다 Ziel\n",
		textenc.CharsetKOI8R: "# Ошибка: не удалось открыть файл Ziel\n", textenc.CharsetWindows1251: "# Ошибка: не удалось открыть файл Ziel\n", textenc.CharsetLatin1: "# Größe des Maßes Ziel\n",
		textenc.CharsetUTF8: "// 这个函数計算 ファイル 함수 файл Größe Ziel\n",
	} {
		raw, err := c.Encode([]byte("x = 1\n" + text))
		must(t, err)
		name, _, _ := strings.Cut(c.String(), " ")
		files[name], want[name] = string(raw), strings.TrimSuffix(text, "\n")
	}
	writeFiles(t, dir, files)
	w, err := Open([]string{dir}, nil)
	must(t, err)
	defer w.Close()
	engines(t, w, func(t *testing.T) {
		for pattern, names := range map[string]string{
			"函数": "GBK UTF-8", "函數": "Big5", "ファイル": "EUC-JP ISO-2022-JP Shift_JIS UTF-8", "함수": "EUC-KR UTF-8", "файл": "KOI8-R UTF-8 windows-1251", "Größe": "Latin-1 UTF-8",
			"Ziel": "Big5 EUC-JP EUC-KR GBK ISO-2022-JP KOI8-R Latin-1 Shift_JIS UTF-8 windows-1251",
		} {
			found, err := w.Search(t.Context(), search.Query{Pattern: pattern})
			must(t, err)
			var got []string
			for _, m := range found.Matches {
				got = append(got, m.Path)
				if m.Content != want[m.Path] || m.Line != 2 {
					t.Errorf("%s: %s:%d is %q", pattern, m.Path, m.Line, m.Content)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != names {
				t.Errorf("%s is in %q, want %q", pattern, got, names)
			}
		}
	})
}
