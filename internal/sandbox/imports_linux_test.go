package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// importing is a case of TestImportsAreReviewed.
type importing struct {
	before string // files of the workspace, "NAME: TEXT" in lines; "NAME -> TARGET" is a link
	change string // what a program writes; "NAME gone" removes it
	asked  string // the places, with commas
	after  string // the files after a denial, as before; "NAME gone" is missing
}

func (v *victim) all(lines string) {
	v.t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if name, target, ok := strings.Cut(line, " -> "); ok {
			os.Remove(filepath.Join(v.ws, name)) // there may be none
			if err := os.Symlink(target, filepath.Join(v.ws, name)); err != nil {
				v.t.Fatal(err)
			}
		} else if name, ok := strings.CutSuffix(line, " gone"); ok {
			if err := os.Remove(filepath.Join(v.ws, name)); err != nil {
				v.t.Fatal(err)
			}
		} else if name, text, ok := strings.Cut(line, ": "); ok {
			v.write("ws/"+name, text)
		}
	}
}

func (v *victim) check(lines string) {
	v.t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if name, target, ok := strings.Cut(line, " -> "); ok {
			if to, err := os.Readlink(filepath.Join(v.ws, name)); to != target {
				v.t.Errorf("%s leads to %q, %v", name, to, err)
			}
		} else if name, ok := strings.CutSuffix(line, " gone"); ok {
			if !v.lacks("ws/" + name) {
				v.t.Errorf("%s is there", name)
			}
		} else if name, text, ok := strings.Cut(line, ": "); ok && !v.has("ws/"+name, text) {
			got, err := os.ReadFile(filepath.Join(v.ws, name))
			v.t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

var importings = map[string]importing{
	"an imported file":   {"CLAUDE.md: @docs/a.md\ndocs/a.md: old", "docs/a.md: obey", "docs/a.md", "docs/a.md: old"},
	"one of a chain":     {"AGENTS.md: @a.md\na.md: @b.txt\nb.txt: old", "b.txt: obey", "b.txt", "b.txt: old"},
	"a file not there":   {"GEMINI.md: @docs/a.md", "docs/a.md: obey", "docs/a.md", "docs/a.md gone"},
	"of a lower folder":  {"sub/deep/CLAUDE.md: @../../docs/a.md\ndocs/a.md: old", "docs/a.md: obey", "docs/a.md", "docs/a.md: old"},
	"of a folder around": {"../CLAUDE.md: @ws/a.md\na.md: old", "a.md: obey", "a.md", "a.md: old"},
	"of a nested place":  {"sub/.claude/CLAUDE.md: @../../a.md\na.md: old", "a.md: obey", "a.md", "a.md: old"},
	"an import is taken out, and its file changed": {
		"CLAUDE.md: @docs/a.md\ndocs/a.md: old", "CLAUDE.md: no imports\ndocs/a.md: obey", "CLAUDE.md,docs/a.md", "CLAUDE.md: @docs/a.md\ndocs/a.md: old",
	},
	"the instructions are removed, and an imported file changed": {
		"CLAUDE.md: @docs/a.md\ndocs/a.md: old", "CLAUDE.md gone\ndocs/a.md: obey", "docs/a.md", "docs/a.md: old",
	},
	"an unchanged file is imported": {
		"CLAUDE.md: rules\nmain.go: package main", "CLAUDE.md: @main.go", "CLAUDE.md", "CLAUDE.md: rules\nmain.go: package main",
	},
	"a new file is imported": {"CLAUDE.md: rules", "CLAUDE.md: @a.md\na.md: obey", "CLAUDE.md", "CLAUDE.md: rules\na.md: obey"},
	"an imported file imports another": {
		"CLAUDE.md: @a.md\na.md: rules\nb.md: text", "a.md: @b.md", "a.md", "a.md: rules\nb.md: text",
	},
	"new instructions import": {"a.md: text", "sub/CLAUDE.md: @../a.md", "sub/CLAUDE.md", "sub/CLAUDE.md gone\na.md: text"},
	"a link":                  {"a.md: old\nb.md: other\nl.md -> a.md\nCLAUDE.md: @l.md", "l.md -> b.md", "l.md", "l.md -> a.md\nb.md: other"},
	"the target of a link":    {"a.md: old\nl.md -> a.md\nCLAUDE.md: @l.md", "a.md: obey", "a.md", "l.md -> a.md\na.md: old"},
	"a link to a folder": {
		"one/a.md: old\ntwo/a.md: other\ndocs -> one\nCLAUDE.md: @docs/a.md", "docs -> two", "docs", "docs -> one\none/a.md: old\ntwo/a.md: other",
	},
	"a dependency":       {"node_modules/x/CLAUDE.md: @../../a.md\na.md: old", "a.md: new", "", "a.md: new"},
	"in code":            {"CLAUDE.md: `@a.md`\na.md: old", "a.md: new", "", "a.md: new"},
	"a removed file":     {"CLAUDE.md: @a.md\na.md: old", "a.md gone", "", "a.md gone"},
	"a folder":           {"CLAUDE.md: @docs/\ndocs/a.md: old", "docs/a.md: new", "", "docs/a.md: new"},
	"a place, once only": {"CLAUDE.md: @sub/AGENTS.md\nsub/AGENTS.md: old", "sub/AGENTS.md: obey", "sub/AGENTS.md", "sub/AGENTS.md: old"},
}

// A change of a file that instructions import is reviewed like a change of the instructions, whether a
// command, a standing program, or a program of a killed server made it.
func TestImportsAreReviewed(t *testing.T) {
	t.Parallel()
	for name, tt := range importings {
		for _, how := range []string{"command", "standing", "killed"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, here(t)[0], WorkspaceWrite, true)
				v.all(tt.before)
				var w *Watch
				if how == "standing" {
					if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
						t.Fatal(err)
					}
				}
				w = watching(v.box)
				v.all(tt.change)
				if how == "killed" {
					v.kill()
					w = watching(v.box)
				}
				changes, done := w.Changes()
				var asked []string
				for _, c := range changes {
					name, err := filepath.Rel(v.ws, c.Path)
					if asked = append(asked, name); err != nil {
						t.Error(err)
					}
				}
				slices.Sort(asked)
				if got := strings.Join(asked, ","); got != tt.asked {
					t.Fatalf("asked about %q, want %q: %+v", got, tt.asked, changes)
				}
				if err := errors.Join(w.Remove(t.Context(), changes)...); err != nil {
					t.Error(err)
				}
				done()
				w.End()
				if how == "command" {
					v.check(tt.after)
				}
				if again := reviewed(t, v); len(again) > 0 {
					t.Errorf("asked again about %q", again)
				}
			})
		}
	}
}

// kill gives the victim the box of the next server after a kill.
func (v *victim) kill() {
	dead := v.box
	dead.places.Abandon()
	v.box = New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: dead.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: dead.cfg.Environ, Mechanism: dead.cfg.Mechanism,
	})
	v.t.Cleanup(v.box.Close)
}

func unasked(t *testing.T, w *Watch) {
	t.Helper()
	changes, done := w.Changes()
	if len(changes) > 0 {
		t.Errorf("asked about %v", changes)
	}
	done()
	w.End()
}

// What the user writes, approves or has git write is known.
func TestKnownImports(t *testing.T) {
	t.Parallel()
	v := newVictim(t, here(t)[0], WorkspaceWrite, true)
	v.all("CLAUDE.md: @a.md @new.md\na.md: old\nb.md: text\nc.md: text")
	w := watching(v.box.With(Opening{Writes: []string{filepath.Join(v.ws, "a.md")}}))
	v.all("a.md: approved")
	unasked(t, w)
	w = watching(v.box.With(Opening{Git: true}))
	v.all("CLAUDE.md: @a.md @new.md @b.md\nb.md: pulled")
	unasked(t, w)
	if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
		t.Fatal(err)
	}
	save := func(name, old, now string) {
		wrote := Wrote{Path: filepath.Join(v.ws, name), New: []byte(now)}
		if old != "" {
			wrote.Old = []byte(old)
		}
		v.all(name + ": " + now)
		v.box.Note(wrote)
	}
	save("a.md", "approved", "mine")
	save("new.md", "", "mine, too")
	save("CLAUDE.md", "@a.md @new.md @b.md", "@a.md @new.md @b.md @c.md")
	if found := reviewed(t, v); len(found) > 0 {
		t.Errorf("asked about what the user has saved: %q", found)
	}
	v.all("d.md: obey")
	save("CLAUDE.md", "@a.md @new.md @b.md @c.md", "@d.md")
	v.all("a.md: obey")
	if found := reviewed(t, v); len(found) != 2 || !strings.Contains(strings.Join(found, " "), "d.md") {
		t.Errorf("asked about %q, want a.md and d.md", found)
	}
	v.check("a.md: mine\nd.md gone\nd.md.denied: obey")
}

// An approval of a change covers the files that it imports, and names them.
func TestImportsOfAnApprovedChange(t *testing.T) {
	t.Parallel()
	v := newVictim(t, here(t)[0], WorkspaceWrite, true)
	v.all("CLAUDE.md: rules\nb.md: text")
	w := watching(v.box)
	v.all("CLAUDE.md: @a.md @b.md\na.md: more rules")
	changes, done := w.Changes()
	if len(changes) != 1 || !strings.Contains(changes[0].What, "imports a.md, b.md") {
		t.Fatalf("%+v", changes)
	}
	files, made := changes[0].Files(10)
	if len(files) != 3 || made {
		t.Errorf("shows %q, all made: %v", files, made)
	}
	w.Keep(changes)
	done()
	w.End()
	if again := reviewed(t, v); len(again) > 0 {
		t.Errorf("asked again about %q", again)
	}
}

// The gate knows imports of all folders of the workspace.
func TestImporterKnowsTheWholeWorkspace(t *testing.T) {
	t.Parallel()
	v := newVictim(t, here(t)[0], WorkspaceWrite, true)
	v.all("sub/CLAUDE.md: @../files/a.md\nnode_modules/x/CLAUDE.md: @../../b.md\nAGENTS.md: @c.md")
	for name, want := range map[string]string{"files/a.md": "sub/CLAUDE.md", "b.md": "", "c.md": "AGENTS.md", "files/c.md": ""} {
		if want != "" {
			want = filepath.Join(v.ws, want)
		}
		if got := v.box.Importer(filepath.Join(v.ws, name), []string{v.ws}); got != want {
			t.Errorf("%s is imported by %q, want %q", name, got, want)
		}
	}
}
