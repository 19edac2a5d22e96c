package ignore

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// git runs git in dir with only the given settings.
func git(t testing.TB, dir, home string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() != 1 { // 1: nothing is ignored
		t.Fatalf("git %s: %v: %s", args, err, exit.Stderr)
	}
	return string(out)
}

// gitIgnored asks git which of the paths are ignored.
func gitIgnored(t testing.TB, dir, home string, paths []string) []string {
	t.Helper()
	out := git(t, dir, home, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "--no-index", "-z", "--stdin")
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// ours returns the paths that a walk would leave out because of git's rules.
func ours(dir string, config GitConfig, paths []string) []string {
	m := &Matcher{Global: config.Rules(), Base: filepath.ToSlash(dir), Above: Above(dir)}
	var got []string
	for _, path := range paths {
		if !m.Visible(dir, path) {
			got = append(got, path)
		}
	}
	return got
}

func TestIgnoreAgainstGit(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	for i, files := range []map[string]string{
		{".gitignore": "*.log\n!keep.log\n/top\nbuild/\ndoc/*.txt\n**/deep\na/**/z\nfoo/**\n"},
		{".gitignore": "# comment\n\\#hash\n\\!bang\ntrail \\ \nspace  \n\n!\n/\n"},
		{".gitignore": "*.[oa]\n[!a-c].x\n[^a-c].y\n[]-].z\n[[:digit:]]*.n\n\\*.star\nq?estion\n[a\n{x,y}\nback\\\n"},
		{".gitignore": "*\n!*/\n!*.go\n!.gitignore\n"},
		{".gitignore": "x\n", "sub/.gitignore": "!x\n/y\n", "sub/deep/.gitignore": "*.go\n"},
		{".gitignore": "\xef\xbb\xbffirst\r\nsecond\r\n"},
		{".gitignore": "a/b\nsub/*\n!sub/keep\nvendor\n!vendor/keep\n"},
		{".gitignore": "foo**\n**foo\nb**r/x\n**\n!*.go\n"},
		{".gitignore": "b**/x\na/foo**\ns?b**/n.go\n***/deep\n"},
		{".gitignore": "[.-0]x\na[/]b\n*.*\n!n.go\n"},
		{".gitignore": "[[:]1\n[[:a]2\n[[:a]b:]3\n[[:alpha:]:]4\n[[::]5\n[[:alpha]6\n[[:none:]7\n"},
	} {
		dir := filepath.Join(tempDir(t), fmt.Sprint(i))
		writeFiles(t, dir, files)
		git(t, dir, home, nil, "init", "-q")
		must(t, os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte("excluded\n!included\n"), 0o644))
		paths := []string{
			"a.log", "keep.log", "sub/a.log", "top", "sub/top", "build/x", "sub/build/x", "build", "doc/a.txt", "doc/b/a.txt",
			"deep", "s/deep/f", "a/z", "a/b/z", "a/b/c/z", "foo/x", "foo", "#hash", "!bang", "trail  ", "space", "space ",
			"x.o", "x.c", "a.x", "d.x", "a.y", "d.y", "-.z", "].z", "1a.n", "a1.n", "*.star", "b.star", "question", "qestion",
			"[a", "{x,y}", "x", "y", "back\\", "back", "n.go", "sub/n.go", "sub/x", "sub/y", "sub/deep/n.go", "sub/deep/y",
			"first", "second", "second\r", "a/b", "b/a/b", "sub/keep", "sub/lose", "vendor/keep", "vendor/lose", "vendor",
			"excluded", "included", "sub/excluded", "foobar", "afoo", "b/r/x", "bar/x", "/x"[1:], "0x", ".x", "a/b",
			"[1", "a1", "[2", "a2", "ab:]3", "b:]3", "[b:]3", "a4", "14", "a5", "[5", "a6", "[6", "n7",
		}
		paths = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(paths))), func(p string) bool { return p[0] == '.' })
		want, got := gitIgnored(t, dir, home, paths), ours(dir, GitConfig{}, paths)
		if !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", files, got, want)
		}
	}
}

func TestIgnoreRandomAgainstGit(t *testing.T) {
	t.Parallel()
	home, dir := tempDir(t), tempDir(t)
	git(t, dir, home, nil, "init", "-q")
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "?", "/", "/", "[ab]", "[!a]", "!", "a*", `\a`, "x.go", "*.go", "-", "[a-", "[[:alpha:]]", " "})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "x.go", "a-b", "ba", "!a"})
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.Map(rapid.SliceOfN(piece, 1, 6), func(p []string) string { return strings.Join(p, "") })
		text := strings.Join(rapid.SliceOfN(line, 1, 4).Draw(rt, "rules"), "\n")
		set := map[string]bool{}
		for _, p := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 1, 12).Draw(rt, "paths") {
			set[strings.Join(p, "/")] = true
		}
		paths := slices.Sorted(maps.Keys(set))
		must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o644))
		if want, got := gitIgnored(t, dir, home, paths), ours(dir, GitConfig{}, paths); !slices.Equal(got, want) {
			rt.Fatalf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	})
}

// Rules from elsewhere: in the parents, in the user's settings, beside a linked worktree.
func TestIgnoreElsewhere(t *testing.T) {
	t.Parallel()
	home, repo := tempDir(t), tempDir(t)
	writeFiles(t, home, map[string]string{
		".gitconfig":         "[user]\n\tname = x\n[core]\n\texcludesFile = ~/my ignore\n",
		"my ignore":          "*.mine\n",
		"other/git/ignore":   "*.xdg\n",
		".config/git/ignore": "*.unused\n",
	})
	writeFiles(t, repo, map[string]string{
		".gitignore": "*.log\n/part/top\n", "part/.gitignore": "own\n", "part/x.go": "", "part/top": "", "part/own": "", "part/a.log": "", "part/a.mine": "", "part/a.xdg": "",
	})
	git(t, repo, home, nil, "init", "-q")
	paths := []string{"a.log", "a.mine", "a.xdg", "own", "top", "x.go"}
	part := filepath.Join(repo, "part")
	if got, want := ours(part, GitConfig{home, filepath.Join(home, ".config")}, paths), gitIgnored(t, part, home, paths); !slices.Equal(got, want) || len(got) != 4 {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ours(part, GitConfig{tempDir(t), filepath.Join(home, "other")}, paths); !slices.Equal(got, []string{"a.log", "a.xdg", "own", "top"}) {
		t.Errorf("with git's default file: %q", got)
	}

	git(t, repo, home, nil, "-c", "user.email=x@x", "-c", "user.name=x", "commit", "-q", "--allow-empty", "-m", "x")
	linked := filepath.Join(tempDir(t), "linked")
	git(t, repo, home, nil, "worktree", "add", "-q", linked)
	must(t, os.WriteFile(filepath.Join(repo, ".git/info/exclude"), []byte("secret\n"), 0o644))
	if got := ours(linked, GitConfig{}, []string{"secret", "x"}); !slices.Equal(got, []string{"secret"}) {
		t.Errorf("in a linked worktree: %q", got)
	}
}

func FuzzIgnoreRule(f *testing.F) {
	for _, seed := range []string{"*.go", "a/**/b", "[a-z]?", "[[:alpha:]", "!x/", `\`, "{a,b", "**/", "[]", "[!]", "a[/-]b"} {
		f.Add(seed, "a/b/c.go")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		path = strings.Trim(path, "/")
		if path == "" {
			return
		}
		name := path[strings.LastIndex(path, "/")+1:]
		for _, r := range ParseRules([]byte(text)) {
			r.matches(path, name, true) // must neither panic nor hang
		}
		if g, err := ParseGlob(text); err == nil {
			g.verdict(path, name, false)
		}
		// A name spelled with every special character escaped matches itself.
		var escaped strings.Builder
		for _, c := range []byte(name) {
			if strings.IndexByte(`*?[]\{}!# `, c) >= 0 {
				escaped.WriteByte('\\')
			}
			escaped.WriteByte(c)
		}
		if r, ok := parseRule(escaped.String()); name != "" && !strings.ContainsAny(name, "\r\n") && (!ok || !r.matches(path, name, false)) {
			t.Fatalf("%q does not match %q", escaped.String(), name)
		}
	})
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
