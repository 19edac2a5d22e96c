package references

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// bed is a session in a folder with some files.
type bed struct {
	t       *testing.T
	dir     string
	window  int
	notices []string
	x       *instance
}

func newBed(t *testing.T, files map[string]string) *bed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dir: dir}
	for name, text := range files {
		b.write(name, text)
	}
	ws, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	x, err := New().Open(t.Context(), &extension.Session{
		Files: ws, Editor: ws, Folders: ws.Folders,
		Situation: func() extension.Situation { return extension.Situation{Window: b.window} },
		Emit:      func(e extension.Event) { b.notices = append(b.notices, e.Title) },
		Host: extension.Host{Problems: func(context.Context) ([]extension.Problem, error) {
			return []extension.Problem{{Path: filepath.Join(dir, "a.go"), Line: 3, Column: 1, Severity: "error", Message: "bad\nthing", Source: "vet x"}}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.x = x.(*instance)
	b.x.web = func(_ context.Context, address string) (string, string, error) {
		if !strings.HasSuffix(address, "/ok") {
			return "", "", errors.New("not reached")
		}
		return "Title", "Text of " + address, nil
	}
	t.Cleanup(func() { _ = x.Close(context.Background()) })
	return b
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) git(args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// expand returns a prompt's attachments: name, then text.
func (b *bed) expand(prompt string) (all []string) {
	b.t.Helper()
	b.notices = nil
	d, err := b.x.expand(b.t.Context(), extension.Prompt{Text: prompt})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range d.Attached {
		all = append(all, a.Name+"\n"+a.Text)
	}
	return all
}

func (b *bed) check(prompt string, want ...string) {
	b.t.Helper()
	if got := b.expand(prompt); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		b.t.Errorf("%s:\n%q\nwant\n%q", prompt, got, want)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	long := ""
	for i := 1; i <= 40; i++ {
		long += fmt.Sprintf("line %d\n", i)
	}
	b := newBed(t, map[string]string{"a.txt": "one\ntwo\nthree", "my dir/b.txt": "b\n", "long.txt": long, "bin": "a\x00b"})
	b.check("@file:a.txt", "a.txt\n1|one\n2|two\n3|three")
	b.check("@file:a.txt:2-9", "a.txt, lines 2-3\n2|two\n3|three")
	b.check(`@file:"my dir/b.txt"`, "my dir/b.txt\n1|b\n")
	b.check(`@folder:"my dir"`, "files in my dir\nmy dir/b.txt")
	if got := b.expand("@file:long.txt:20")[0]; !strings.HasPrefix(got, "long.txt, lines 10-30\n10|line 10\n") || !strings.HasSuffix(got, "\n30|line 30\n") {
		t.Errorf("around a place: %s", got)
	}
	b.check("@url:https://x.dev/ok", "https://x.dev/ok\nTitle\n\nText of https://x.dev/ok")
	b.check("@problems", "problems that the editor shows\na.go:3:1: error: bad thing (vet x)\n")
	b.check("nothing here")
	for prompt, want := range map[string]string{
		"@file:none.txt": "none.txt", "@file:bin": "not a text file", "@file:a.txt:9-12": "only 3 lines", "@file:../x": "outside",
		"@folder:a.txt": "not a folder", "@git:x": "1 to 10", "@url:https://x.dev/no": "not reached", "@symbol:Missing": "no definition of Missing",
	} {
		got := b.expand(prompt)
		if len(got) != 1 || !strings.Contains(got[0], "\nNot attached: ") || !strings.Contains(got[0], want) || len(b.notices) != 1 || !strings.Contains(b.notices[0], want) {
			t.Errorf("%s: %q, %q", prompt, got, b.notices)
		}
	}
}

// A reference matches a file name in the other Unicode form, and uses the name on disk. A path
// after an @ alone is attached. An ambiguous word stays text.
func TestMentions(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"docs/a.md": "one\ntwo\n", "Makefile": "all:\n", "my docs/b.md": "b\n", ".env": "K=1", "wide.txt": "\xff\xfeh\x00i\x00"})
	b.check("Read @docs/a.md, please.", "docs/a.md\n1|one\n2|two\n")
	b.check("@./docs/a.md:2-2", "docs/a.md, lines 2-2\n2|two\n")
	b.check("@docs/a.md#L1-L1 @Makefile", "docs/a.md, lines 1-1\n1|one\n", "Makefile\n1|all:\n")
	b.check(`@"my docs/b.md"`, "my docs/b.md\n1|b\n")
	b.check("@docs/", "files in docs\ndocs/a.md")
	b.check("@wide.txt", "wide.txt\n1|hi")
	b.check("@ann @types/node @angular/core me@docs/a.md @Override `@docs/a.md` @app.get('/')")
	b.check(`@"my docs/b.md":1-1`, "my docs/b.md, lines 1-1\n1|b\n")
	for prompt, want := range map[string]string{
		"@docs/b.md": "docs/b.md", "@docs/none": "docs/none", "@none.md": "none.md", "@../x.md": "outside", "@.env": "secrets", "@~/x": "~/x", "@none/": "none",
	} {
		got := b.expand(prompt)
		if len(got) != 1 || !strings.Contains(got[0], "\nNot attached: ") || !strings.Contains(got[0], want) || len(b.notices) != 1 || !strings.Contains(b.notices[0], want) {
			t.Errorf("%s: %q, %q", prompt, got, b.notices)
		}
	}
}

// A client's link to a file is attached by its address, whatever its name is, and only if the client
// has not sent the text.
func TestLinksOfClients(t *testing.T) {
	t.Parallel()
	const name = `docs/a "note" [1](ü).md`
	b := newBed(t, map[string]string{name: "one\n", "docs/a": "wrong\n"})
	address := "file://" + filepath.ToSlash(b.dir) + "/docs/a%20%22note%22%20[1]%28%C3%BC%29.md"
	link := "[@" + name + "](" + address + ")"
	b.check("Read "+link+" and [@a](file:///elsewhere/x.go#L3).", name+"\n1|one\n")
	if b.notices != nil {
		t.Errorf("notices: %q", b.notices)
	}
	b.check(`@"docs/a \"note\" [1](ü).md"`, name+"\n1|one\n")
	got := b.expand("[@my note.md](file://" + filepath.ToSlash(b.dir) + "/my%20note.md)")
	if len(got) != 1 || !strings.HasPrefix(got[0], "@my note.md\nNot attached: ") || len(b.notices) != 1 || !strings.HasPrefix(b.notices[0], "@my note.md is not attached: ") {
		t.Errorf("a missing file: %q, %q", got, b.notices)
	}
	d, err := b.x.expand(t.Context(), extension.Prompt{Text: link, Given: []string{address}})
	if err != nil || len(d.Attached) != 0 {
		t.Errorf("with its text: %v, %v", d.Attached, err)
	}
}

func TestNamesInTheOtherUnicodeForm(t *testing.T) {
	t.Parallel()
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	for _, names := range [][2]string{{nfc, nfd}, {nfd, nfc}} {
		disk, typed := names[0], names[1]
		b := newBed(t, map[string]string{disk + "/" + disk + ".txt": "one\ntwo\n", disk + "/a b/" + disk + ".txt": "three\n"})
		b.check("@file:"+typed+"/"+typed+".txt", disk+"/"+disk+".txt\n1|one\n2|two\n")
		b.check("@file:"+typed+"/"+typed+".txt:2-2", disk+"/"+disk+".txt, lines 2-2\n2|two\n")
		b.check(`@file:"`+typed+"/a b/"+typed+`.txt"`, disk+"/a b/"+disk+".txt\n1|three\n")
		b.check("@folder:\""+typed+"/a b\"", "files in "+disk+"/a b\n"+disk+"/a b/"+disk+".txt")
	}
}

// Places of secrets are not attached, whole or as a part of a diff.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "K3Y"
	files := map[string]string{}
	for _, name := range []string{".env", ".env.local", "sub/.ENV", ".ssh/config", "deploy/id_rsa", "server.pem", ".npmrc", ".aws/credentials"} {
		files[name] = secret + "\n"
	}
	b := newBed(t, files)
	for name := range files {
		got := strings.Join(b.expand("@file:"+name), "")
		if strings.Contains(got, secret) || !strings.Contains(got, "place of secrets") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := os.Symlink(".env", filepath.Join(b.dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.expand("@file:link.txt"), ""); strings.Contains(got, secret) {
		t.Error(got)
	}
	b.write(".env.example", "NAME=\n")
	b.check("@file:.env.example", ".env.example\n1|NAME=\n")
	b.git("init", "-q", "-b", "main")
	b.write("a.txt", "one\n")
	b.git("add", "-f", ".")
	if got := strings.Join(b.expand("@staged"), ""); strings.Contains(got, secret) || !strings.Contains(got, "+one") {
		t.Error(got)
	}
	b.git("commit", "-qm", "all")
	if got := strings.Join(b.expand("@git:1"), ""); strings.Contains(got, secret) || !strings.Contains(got, "+one") {
		t.Error(got)
	}
	b.write("a.txt", "two\n")
	if got := strings.Join(b.expand("@diff"), ""); !strings.Contains(got, "-one\n+two") {
		t.Error(got)
	}
	b.check("@staged", "staged changes (git diff --cached)\nThere are none.")
}

// All references of a prompt use at most half of the context window.
func TestWindow(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"big.txt": strings.Repeat("word word\n", 400), "small.txt": "x\n"})
	b.window = 2000
	got := b.expand("@file:big.txt @file:small.txt")
	if len(got) != 2 || !strings.Contains(got[0], "half of the context window") || !strings.HasSuffix(got[1], "1|x\n") || len(b.notices) != 1 {
		t.Errorf("%.300q %q", got, b.notices)
	}
	b.window = 0
	if got := b.expand("@file:big.txt"); strings.Contains(got[0], "Not attached") {
		t.Errorf("%.300q", got)
	}
}

func TestSymbols(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{
		"a.go":  "package a\n\n// Start starts.\nfunc (s *Session) Start(x int) {\n\tif x > 0 {\n\t\treturn\n\t}\n}\n\nfunc other() { Start() }\n",
		"b.py":  "class Start:\n    def run(self):\n        pass\n\nx = 1\n",
		"c.ts":  "export async function begin<T>(x: T) {\n  return x;\n}\nexport const Later = 1;\n",
		"d.txt": "Start is a word\n",
	})
	b.check("@symbol:Session.Start", "definitions of Session.Start\na.go, lines 4-8:\n4|func (s *Session) Start(x int) {\n5|\tif x > 0 {\n6|\t\treturn\n7|\t}\n8|}\nb.py, lines 1-3:\n1|class Start:\n2|    def run(self):\n3|        pass\n")
	b.check("@symbol:begin", "definitions of begin\nc.ts, lines 1-3:\n1|export async function begin<T>(x: T) {\n2|  return x;\n3|}\n")
	b.check("@symbol:Later", "definitions of Later\nc.ts, lines 4-4:\n4|export const Later = 1;\n")
}
