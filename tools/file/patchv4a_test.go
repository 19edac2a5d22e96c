package file

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// filesIn reads the files below a directory.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// If the line after @@ is not in the file, and the place is found without it, the result reports
// it.
func TestPatchTellsOfALineThatIsNotThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "x = 1\ny = 2\n"})
	r := p.call(t, "patch", map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Update File: a\n@@ class C:\n-y = 2\n+y = 3\n*** End Patch"})
	if want := `the line \"class C:\" after @@ is not in the file`; !strings.Contains(string(r.JSON), want) || !strings.Contains(string(r.JSON), "at line 2") {
		t.Errorf("got %s; want %s", r.JSON, want)
	}
	if p.text(t, "a") != "x = 1\ny = 3\n" {
		t.Error("the change was not made")
	}
}

// gitApply lets git make the changes of a diff.
func gitApply(t *testing.T, files map[string]string, diff string) map[string]string {
	t.Helper()
	p := newPlace(t, files)
	cmd := exec.Command("git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.dir))
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git apply: %v\n%s\n%s", err, out, diff)
	}
	return filesIn(t, p.dir)
}

const manyLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

func TestPatchFiles(t *testing.T) {
	t.Parallel()
	code := "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"
	for _, c := range []struct {
		name, patch   string
		before, after map[string]string // "" in after: gone. Other files stay.
		failure       string
	}{
		{"update", "*** Update File: a\n one\n-two\n+2\n three\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.Replace(manyLines, "two", "2", 1)}, ""},
		{"two places", "*** Update File: a\n@@\n one\n-two\n+2\n@@\n six\n-seven\n+7\n+8\n", map[string]string{"a": manyLines}, map[string]string{"a": "one\n2\nthree\nfour\nfive\nsix\n7\n8\n"}, ""},
		{"places that share a line", "*** Update File: a\n@@\n-one\n+1\n two\n@@\n two\n-three\n+3\n", map[string]string{"a": manyLines}, map[string]string{"a": "1\ntwo\n3\nfour\nfive\nsix\nseven\n"}, ""},
		{"places in another order", "*** Update File: a\n@@\n-six\n+6\n@@\n-two\n+2\n", map[string]string{"a": manyLines}, map[string]string{"a": "one\n2\nthree\nfour\nfive\n6\nseven\n"}, ""},
		{"add", "*** Add File: new/b\n+hello\n+\n+world\n", nil, map[string]string{"new/b": "hello\n\nworld\n"}, ""},
		{"add an empty file", "*** Add File: b\n", nil, map[string]string{"b": ""}, ""},
		{"delete", "*** Delete File: a\n", map[string]string{"a": "x\n", "b": "y\n"}, map[string]string{"a": "\x00gone"}, ""},
		{"move", "*** Update File: a\n*** Move to: sub/b\n@@\n-two\n+2\n", map[string]string{"a": manyLines}, map[string]string{"a": "\x00gone", "sub/b": strings.Replace(manyLines, "two", "2", 1)}, ""},
		{"move alone", "*** Move File: a -> b c\n", map[string]string{"a": "x\n"}, map[string]string{"a": "\x00gone", "b c": "x\n"}, ""},
		{"several files", "*** Update File: a\n-x\n+y\n\n*** Add File: b\n+b\n\n*** Delete File: c\n", map[string]string{"a": "x\n", "c": "c\n"}, map[string]string{"a": "y\n", "b": "b\n", "c": "\x00gone"}, ""},
		{"delete, then add", "*** Delete File: a\n*** Add File: a\n+new\n", map[string]string{"a": "old\n"}, map[string]string{"a": "new\n"}, ""},
		{"the end inside a text", "*** Add File: a\n+*** Begin Patch\n+*** End Patch\n+*** Add File: x\n+after\n", nil, map[string]string{"a": "*** Begin Patch\n*** End Patch\n*** Add File: x\nafter\n"}, ""},
		{"the end inside a context", "*** Update File: a\n *** End Patch\n-x\n+y\n", map[string]string{"a": "*** End Patch\nx\n"}, map[string]string{"a": "*** End Patch\ny\n"}, ""},
		{"signs inside lines", "*** Update File: a\n--x\n++y\n  z\n", map[string]string{"a": "-x\n z\n"}, map[string]string{"a": "+y\n z\n"}, ""},
		{"after a line", "*** Update File: a\n@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2\n", map[string]string{"a": code}, map[string]string{"a": code[:len(code)-2] + "2\n"}, ""},
		{"after a line that stands in it too", "*** Update File: a\n@@ def g(self):\n     def g(self):\n-        return 1\n+        return 2\n", map[string]string{"a": code}, map[string]string{"a": strings.Replace(code, "g(self):\n        return 1", "g(self):\n        return 2", 1)}, ""},
		{"within the block of the line", "*** Update File: a\n@@ def g(self):\n-        return 1\n+        return 2\n", map[string]string{"a": code}, map[string]string{"a": strings.Replace(code, "g(self):\n        return 1", "g(self):\n        return 2", 1)}, ""},
		{"with the numbers of a diff", "*** Update File: a\n@@ -2,1 +2,1 @@\n-two\n+2\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.Replace(manyLines, "two", "2", 1)}, ""},
		{"insert after a line", "*** Update File: a\n@@ two\n+2.5\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.Replace(manyLines, "two\n", "two\n2.5\n", 1)}, ""},
		{"insert at the end", "*** Update File: a\n@@\n+eight\n", map[string]string{"a": "seven"}, map[string]string{"a": "seven\neight"}, ""},
		{"insert before", "*** Update File: a\n+zero\n one\n", map[string]string{"a": manyLines}, map[string]string{"a": "zero\n" + manyLines}, ""},
		{"at the end of the file", "*** Update File: a\n@@\n-x\n+y\n*** End of File\n", map[string]string{"a": "x\n1\nx\n"}, map[string]string{"a": "x\n1\ny\n"}, ""},
		{"the last line, deleted", "*** Update File: a\n six\n-seven\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.TrimSuffix(manyLines, "seven\n")}, ""},
		{"only deleted", "*** Update File: a\n-two\n-three\n", map[string]string{"a": manyLines}, map[string]string{"a": "one\nfour\nfive\nsix\nseven\n"}, ""},
		{"no final line end", "*** Update File: a\n one\n-two\n+2\n", map[string]string{"a": "one\ntwo"}, map[string]string{"a": "one\n2"}, ""},
		{"empty lines without a space", "*** Update File: a\n one\n\n-two\n+2\n", map[string]string{"a": "one\n\ntwo\n"}, map[string]string{"a": "one\n\n2\n"}, ""},
		{"CRLF", "*** Update File: a\n one\n-two\n+2\n+2.5\n", map[string]string{"a": "one\r\ntwo\r\nthree\r\n"}, map[string]string{"a": "one\r\n2\r\n2.5\r\nthree\r\n"}, ""},
		{"CRLF, appended", "*** Update File: a\n@@\n+x\n", map[string]string{"a": "one\r\n"}, map[string]string{"a": "one\r\nx\r\n"}, ""},
		{"CRLF, after a line", "*** Update File: a\n@@ one\n+x\n", map[string]string{"a": "one\r\ntwo\r\n"}, map[string]string{"a": "one\r\nx\r\ntwo\r\n"}, ""},
		{"mixed ends", "*** Update File: a\n one\n-two\n+2\n three\n", map[string]string{"a": "one\ntwo\r\nthree\n"}, map[string]string{"a": "one\n2\r\nthree\n"}, ""},
		{"other indentation", "*** Update File: a\n def f():\n-    return 1\n+    x = 1\n+    return x\n", map[string]string{"a": "class A:\n  def f():\n    return 1\n"}, map[string]string{"a": "class A:\n  def f():\n    x = 1\n    return x\n"}, ""},
		{"blanks at line ends stay", "*** Update File: a\n one\n-two\n+2\n", map[string]string{"a": "one  \ntwo\t\n"}, map[string]string{"a": "one  \n2\n"}, ""},
		{"quotes", "*** Update File: a\n say \"x\"\n-and \"y\"\n+and \"z\"\n", map[string]string{"a": "say “x”\nand “y”\n"}, map[string]string{"a": "say “x”\nand “z”\n"}, ""},
		{"in a fence", "*** Update File: a\n-x\n+y\n*** End Patch\n```", map[string]string{"a": "x\n"}, map[string]string{"a": "y\n"}, ""},
		{"already there", "*** Update File: a\n-two things\n+2 things are\n", map[string]string{"a": "2 things are\n"}, nil, ""},

		{"nothing of it when one fails", "*** Update File: a\n-x\n+y\n*** Add File: b\n+b\n*** Update File: c\n-nowhere\n+z\n", map[string]string{"a": "x\n", "c": "c\n"}, nil, "c: the place at line 8 of the patch: its old text is not in the file"},
		{"no such file", "*** Update File: nope\n-x\n+y\n", map[string]string{"a": "x\n"}, nil, "nope does not exist"},
		{"add what is there", "*** Add File: a\n+y\n", map[string]string{"a": "x\n"}, nil, "a exists already"},
		{"delete what is not", "*** Delete File: nope\n", nil, nil, "nope does not exist"},
		{"move onto another", "*** Move File: a -> b\n", map[string]string{"a": "x", "b": "y"}, nil, "b exists already"},
		{"outside", "*** Add File: ../a\n+y\n", nil, nil, "outside"},
		{"ambiguous", "*** Update File: a\n-        return 1\n+        return 2\n", map[string]string{"a": code}, nil, "its lines occur 3 times (at lines 3, 6, 10). Add lines around it, or name a line above it after @@"},
		{"ambiguous line", "*** Update File: a\n@@ def f(self):\n-        return 1\n+        return 2\n", map[string]string{"a": code}, nil, `the line "def f(self):" after @@ occurs 2 times (at lines 2, 9)`},
		{"not in the block", "*** Update File: a\n@@ class A:\n-two\n+2\n", map[string]string{"a": code + "two\n"}, nil, "is not in the file"},
		{"no such line", "*** Update File: a\n@@ class C:\n-        return 1\n+        return 2\n", map[string]string{"a": code}, nil, `the line "class C:" after @@ is not in the file`},
		{"half a line", "*** Update File: a\n-wo\n+x\n", map[string]string{"a": manyLines}, nil, "is not in the file"},
		{"overlap", "*** Update File: a\n@@\n-one\n-two\n+1\n@@\n-two\n+2\n", map[string]string{"a": manyLines}, nil, "overlap at line 2"},
		{"a line of no kind", "*** Update File: a\n one\ntwo\n", map[string]string{"a": manyLines}, nil, `line 4 of the patch: "two" begins with neither`},
		{"a new file without +", "*** Add File: b\nhello\n", nil, nil, `each line of a new file begins with +`},
		{"no change", "*** Update File: a\n one\n", map[string]string{"a": manyLines}, nil, "changes nothing"},
		{"no change in one place", "*** Update File: a\n@@\n one\n two\n@@\n six\n-seven\n+7\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.Replace(manyLines, "seven", "7", 1)}, ""},
		{"no change in one place, which is not there", "*** Update File: a\n@@ two\n nowhere\n@@\n six\n-seven\n+7\n", map[string]string{"a": manyLines}, map[string]string{"a": strings.Replace(manyLines, "seven", "7", 1)}, ""},
		{"no change in one file", "*** Update File: a\n@@\n one\n*** Update File: b\n-x\n+y\n", map[string]string{"a": manyLines, "b": "x\n"}, map[string]string{"b": "y\n"}, ""},
		{"blanks around the patch's lines", "  *** Update File: a  \n@@  \n-x\n+y\n\t*** Delete File: b \n  *** Add File: c\n+c\n  *** Add File: d\n+d\n", map[string]string{"a": "x\n", "b": "b\n"}, map[string]string{"a": "y\n", "b": "\x00gone", "c": "c\n", "d": "d\n"}, ""},
		{"blanks around the second update", "*** Update File: a\n@@\n-x\n+y\n  *** Update File: b\n@@\n-x\n+y\n", map[string]string{"a": "x\n", "b": "x\n"}, map[string]string{"a": "y\n", "b": "y\n"}, ""},
		{"blanks around a move", " *** Update File: a\n *** Move to: b\n@@\n-x\n+y\n", map[string]string{"a": "x\n"}, map[string]string{"a": "\x00gone", "b": "y\n"}, ""},
		{"a line of the file that reads as one of a patch", "*** Update File: a\n *** Update File: b\n-x\n+y\n", map[string]string{"a": "*** Update File: b\nx\n", "b": "x\n"}, map[string]string{"a": "*** Update File: b\ny\n"}, ""},
		{"CRLF in the patch", "*** Update File: a\r\n@@\r\n-x\r\n+y\r\n*** End of File\r\n", map[string]string{"a": "x\n"}, map[string]string{"a": "y\n"}, ""},
		{"a here-document", "*** Update File: a\n-x\n+y\n", map[string]string{"a": "x\n"}, map[string]string{"a": "y\n"}, ""},
		{"an indented end", "*** Update File: a\n-x\n+y\n", map[string]string{"a": "x\n"}, map[string]string{"a": "y\n"}, ""},
		{"an indented end in a here-document", "*** Update File: a\n-x\n+y\n", map[string]string{"a": "x\n"}, map[string]string{"a": "y\n"}, ""},
		{"an indented end, and one in the text", "*** Update File: a\n-x\n+*** End Patch\n *** End Patch\n+y\n", map[string]string{"a": "x\n*** End Patch\n"}, map[string]string{"a": "*** End Patch\n*** End Patch\ny\n"}, ""},
		{"the first of two", "*** Update File: a\n-same\n same\n", map[string]string{"a": "same\r\nsame\n"}, map[string]string{"a": "same\n"}, ""},
		{"the second of two", "*** Update File: a\n same\n-same\n", map[string]string{"a": "same\r\nsame\n"}, map[string]string{"a": "same\r\n"}, ""},
		{"the middle one", "*** Update File: a\n same\n-same\n+new\n same\n", map[string]string{"a": "same\r\nsame\nsame\r\n"}, map[string]string{"a": "same\r\nnew\nsame\r\n"}, ""},
		{"the first of two, with blanks", "*** Update File: a\n-same\n same\n", map[string]string{"a": "same  \nsame\n"}, map[string]string{"a": "same\n"}, ""},
		{"no file", "", nil, nil, "the patch holds no file"},
		{"another format", "--- a/a\n+++ b/a\n", map[string]string{"a": "x"}, nil, "is not the beginning of a file. A patch reads:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, c.before)
			text := "*** Begin Patch\n" + c.patch + "*** End Patch\n"
			switch c.name {
			case "in a fence":
				text = "```\n*** Begin Patch\n" + c.patch
			case "a here-document":
				text = "<<'EOF'\n" + text + "EOF\n"
			case "an indented end in a here-document":
				text = "apply_patch <<\"EOF\"\n *** Begin Patch\n" + c.patch + "  *** End Patch \nEOF\n"
			case "an indented end", "an indented end, and one in the text":
				text = "*** Begin Patch \n" + c.patch + " *** End Patch"
			}
			got := p.call(t, "patch", map[string]string{"mode": "patch", "patch": text})
			want := maps.Clone(c.before)
			if want == nil {
				want = map[string]string{}
			}
			for name, text := range c.after {
				want[name] = text
				if text == "\x00gone" {
					delete(want, name)
				}
			}
			if now := filesIn(t, p.dir); !maps.Equal(now, want) {
				t.Errorf("now  %q\nwant %q\n%s", now, want, got.JSON)
			}
			if c.failure != "" {
				if said := failureOf(t, got); !strings.Contains(said, c.failure) || strings.Count(said, "nothing was changed") > 1 {
					t.Errorf("said %s\nwant %s", said, c.failure)
				}
				return
			}
			out := as[patchOut](t, got)
			if len(c.after) == 0 {
				if len(out.FilesModified) != 0 || out.Note == "" || out.Diff != "" {
					t.Errorf("nothing changed, but %s", got.JSON)
				}
				return
			}
			if c.name == "add an empty file" { // a diff shows nothing of it
				return
			}
			if now := gitApply(t, c.before, out.Diff); !maps.Equal(now, want) {
				t.Errorf("git makes %q of\n%s", now, out.Diff)
			}
			if len(got.Shown) == 0 || got.Shown[0].Diff == nil {
				t.Errorf("shown: %+v", got.Shown)
			}
		})
	}
}

func TestPatchThatIsCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "x\n"})
	for patch, want := range map[string]string{
		"*** Begin Patch\n*** Update File: a\n-x\n+y\n":                 "it may have been cut",
		"*** Update File: a\n-x\n+y\n*** End Patch":                     `has no line "*** Begin Patch"`,
		"*** Begin Patch\n*** Update File: a\n-x\n+y\n+*** End Patch":   "it may have been cut",
		"*** Begin Patch\n*** Update File: a\n *** End Patch\n-x\n+y\n": "it may have been cut",
		"*** Begin Patch\n*** Add File: b\n+x\n+ *** End Patch\nEOF\n":  "it may have been cut",
		"  \n": "patch is empty",
	} {
		if said := failureOf(t, p.call(t, "patch", map[string]string{"mode": "patch", "patch": patch})); !strings.Contains(said, want) {
			t.Errorf("said %s\nwant %s", said, want)
		}
	}
	if p.text(t, "a") != "x\n" {
		t.Error("it was applied")
	}
}

// Every file of a patch is asked about before any is touched.
func TestPatchFilesAsk(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "x\n", ".envrc": "x\n"})
	person := &answers{say: tools.DecisionDeny}
	p.env.Gate = gate.New(gate.Config{Asker: person})
	for _, patch := range []string{"*** Update File: a\n-x\n+y\n*** Delete File: .envrc\n", "*** Move File: a -> .vscode/tasks.json\n", "*** Add File: AGENTS.md\n+x\n"} {
		failureOf(t, p.call(t, "patch", map[string]string{"mode": "patch", "patch": "*** Begin Patch\n" + patch + "*** End Patch\n"}))
	}
	if now := filesIn(t, p.dir); len(person.asked) != 3 || !maps.Equal(now, map[string]string{"a": "x\n", ".envrc": "x\n"}) {
		t.Errorf("asked %d times, now %q", len(person.asked), now)
	}
}

// The third failure shows the lines, and a success or a look starts anew.
func TestPatchFailuresInARow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "alpha\n"})
	p.env.Recall = NewRecall()
	fail := func() string {
		return failureOf(t, p.call(t, "patch", `{"path":"a","old_string":"gamma","new_string":"x"}`))
	}
	const advice = "3 edits of a have failed in a row. Its lines 1 to 1 of 1 are now:\n1|alpha\nCopy old_string"
	inPatch := map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Update File: a\n-gamma\n+x\n*** End Patch"}
	for i, said := range []string{fail(), failureOf(t, p.call(t, "patch", inPatch)), fail()} {
		if strings.Contains(said, advice) != (i == 2) {
			t.Errorf("failure %d: %s", i+1, said)
		}
	}
	p.call(t, "read_file", `{"path":"a"}`)
	if said := fail(); strings.Contains(said, "in a row") {
		t.Errorf("after a look: %s", said)
	}
	p.call(t, "patch", `{"path":"a","old_string":"alpha","new_string":"beta"}`)
	if fail(); strings.Contains(fail(), "in a row") {
		t.Error("after a success it says so still")
	}
}

// A patch made of random changes makes them, whatever else the file holds.
func TestPatchFilesRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 30).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		old := make([]string, n)
		for i := range old {
			old[i] = fmt.Sprintf("%s%d%s", rapid.SampledFrom([]string{"", "\t", "    "}).Draw(t, "indent"), i, rapid.SampledFrom([]string{"", " x", "\rz", "é"}).Draw(t, "text"))
		}
		next := slices.Clone(old)
		var patch strings.Builder
		patch.WriteString("*** Begin Patch\n*** Update File: f\n")
		for i := 0; i < n; i += rapid.IntRange(3, 6).Draw(t, "step") {
			patch.WriteString("@@\n")
			if i > 0 {
				patch.WriteString(" " + old[i-1] + "\n")
			}
			patch.WriteString("-" + old[i] + "\n")
			if next[i] = ""; rapid.Bool().Draw(t, "replaced") {
				next[i] = "new" + fmt.Sprint(i) + end
				patch.WriteString("+new" + fmt.Sprint(i) + "\n")
			}
			if i+1 < n {
				patch.WriteString(" " + old[i+1] + "\n")
			}
		}
		patch.WriteString("*** End Patch")
		for i := range next {
			if next[i] == old[i] {
				next[i] += end
			}
		}
		before, after := strings.Join(old, end)+end, strings.Join(next, "")
		ops, err := parsePatch(patch.String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := applyHunks(t.Context(), before, ops[0].hunks)
		if err != nil || got.text != after {
			t.Fatalf("%q by\n%s\ngot  %q, %v\nwant %q", before, patch.String(), got.text, err, after)
		}
	})
}

func FuzzParsePatch(f *testing.F) {
	for _, seed := range []string{
		"*** Begin Patch\n*** Update File: a\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch",
		"*** Begin Patch\n*** Add File: a\n+x\n\n*** Delete File: b\n*** Move File: a -> b\n*** End Patch\n",
		"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ -1 +1 @@\n-a\n+b\n*** End Patch", "*** Begin Patch\n*** End Patch",
	} {
		f.Add(seed, "a\nb\n")
	}
	f.Fuzz(func(t *testing.T, patch, text string) {
		ops, err := parsePatch(patch)
		if err != nil {
			return
		}
		for _, op := range ops {
			if op.path == "" || op.kind == opUpdate && len(op.hunks) == 0 && !op.idle() && op.moveTo == "" {
				t.Fatalf("%q was read as %+v", patch, op)
			}
			got, err := applyHunks(t.Context(), text, op.hunks)
			if err == nil && utf8.ValidString(text) && utf8.ValidString(patch) && !utf8.ValidString(got.text) {
				t.Fatalf("%q by %q cut a character: %q", text, patch, got.text)
			}
		}
	})
}

// Files in other charsets stay in them.
func TestCharsetsAreKept(t *testing.T) {
	t.Parallel()
	wide := func(text string) string {
		b, err := textenc.CharsetUTF16LE.Encode([]byte("\ufeff" + text))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	in := func(c textenc.Charset, text string) string {
		b, err := c.Encode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	gbk, sjis, koi8 := textenc.CharsetGBK, textenc.CharsetShiftJIS, textenc.CharsetKOI8R
	const chinese, japanese, russian = "// 这个函数计算总和\r\nint sum;\r\n", "# 設定ファイルが見つかりません\n", "# Ошибка: не удалось открыть файл\n"
	for _, c := range []struct{ name, before, tool, args, after, failure string }{
		{"GBK, patch", in(gbk, chinese), "patch", `"old_string":"计算总和\nint sum","new_string":"返回结果\nint 和"`, in(gbk, "// 这个函数返回结果\r\nint 和;\r\n"), ""},
		{"GBK, write", in(gbk, chinese), "write_file", `"content":"// 用户登录 é\r\n"`, in(gbk, "// 用户登录 é\r\n"), ""},
		{"GBK, what it has not", in(gbk, chinese), "patch", `"old_string":"int sum","new_string":"int 😀"`, "", "GBK (Chinese), which has no '😀'"},
		{"Shift_JIS, many", in(sjis, japanese+"a\n"), "patch", `"mode":"patch","patch":"*** Begin Patch\n*** Update File: f\n # 設定ファイルが見つかりません\n-a\n+表示能力\n*** End Patch"`, in(sjis, japanese+"表示能力\n"), ""},
		{"KOI8-R, patch", in(koi8, russian), "patch", `"old_string":"файл","new_string":"базу"`, in(koi8, "# Ошибка: не удалось открыть базу\n"), ""},
		{"KOI8-R, what it has not", in(koi8, russian), "patch", `"old_string":"файл","new_string":"café"`, "", "has no 'é'"},
		{"not certain", "x = 1 // \xca\xfd\n", "patch", `"old_string":"x = 1","new_string":"x = 2 // é"`, "", "are not known. Nothing was changed"},
		{"not certain, ASCII", "x = 1 // \xca\xfd\n", "patch", `"old_string":"x = 1","new_string":"x = 2"`, "x = 2 // \xca\xfd\n", ""},
		{"UTF-16, patch", wide("eins\r\nzwei\r\n"), "patch", `"old_string":"eins\nzwei","new_string":"eins\nzwö 😀"`, wide("eins\r\nzwö 😀\r\n"), ""},
		{"UTF-16, write", wide("a\n"), "write_file", `"content":"b\n"`, wide("b\n"), ""},
		{"UTF-16, many", wide("a\nb\n"), "patch", `"mode":"patch","patch":"*** Begin Patch\n*** Update File: f\n-a\n+x\n*** End Patch"`, wide("x\nb\n"), ""},
		{"UTF-16, half a pair stays", wide("a\n") + "\x00\xd8b\x00", "patch", `"old_string":"a","new_string":"c"`, wide("c\n") + "\x00\xd8b\x00", ""},
		{"Latin-1, patch", "caf\xe9 \x80\nth\xe9\n", "patch", `"old_string":"café","new_string":"à café"`, "\xe0 caf\xe9 \x80\nth\xe9\n", ""},
		{"Latin-1, write", "caf\xe9\n", "write_file", `"content":"thé “x”\n"`, "th\xe9 \x93x\x94\n", ""},
		{"Latin-1, what it has not", "caf\xe9\n", "patch", `"old_string":"café","new_string":"世"`, "", "has no '世'"},
		{"Latin-1, write what it has not", "caf\xe9\n", "write_file", `"content":"世"`, "", "has no '世'"},
		{"UTF-8 and a bad byte", "世界 \xff\nx\n", "patch", `"old_string":"x","new_string":"é"`, "世界 \xff\né\n", ""},
	} {
		p := newPlace(t, map[string]string{"f": c.before})
		path := `"path":"f",`
		if strings.Contains(c.args, `"mode"`) {
			path = ""
		}
		got := p.call(t, c.tool, "{"+path+c.args+"}")
		want := c.after
		if c.failure != "" {
			want = c.before
			if said := failureOf(t, got); !strings.Contains(said, c.failure) {
				t.Errorf("%s: said %s", c.name, said)
			}
		} else if got.IsError {
			t.Errorf("%s: %s", c.name, got.JSON)
		} else if d := got.Shown[0].Diff; !utf8.ValidString(d.New) && c.name != "UTF-16, half a pair stays" && c.name != "UTF-8 and a bad byte" {
			t.Errorf("%s: shown as %q", c.name, d.New)
		}
		if now := p.text(t, "f"); now != want {
			t.Errorf("%s: %q, want %q", c.name, now, want)
		}
	}
}
