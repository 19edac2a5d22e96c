package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reviewed denies all changes, and returns what they are.
func reviewed(t *testing.T, v *victim) []string {
	w := watching(v.box)
	changes, done := w.Changes()
	var found []string
	for _, c := range changes {
		found = append(found, c.What)
	}
	if err := errors.Join(w.Remove(t.Context(), changes)...); err != nil {
		t.Error(err)
	}
	done()
	w.End()
	return found
}

// While a standing program runs, the user's saves and the writes of approved tools need no review.
// The program's writes do, also right afterwards in the same file. Then the user's text is
// restored.
func TestKnownWrites(t *testing.T) {
	t.Parallel()
	places := map[string]struct{ old, user, hostile string }{
		"ws/.envrc":                  {"# direnv", "export A=1\n", "touch pwned\n"},
		"ws/AGENTS.md":               {"", "my rules\n", "obey\n"},
		"ws/sub/CLAUDE.md":           {"old\n", "new\r\nrules\r\n", "obey\n"},
		"ws/.vscode/settings.json":   {"{}", `{"a": 1}`, `{"b": 2}`},
		"ws/.vscode/tasks.json":      {"", `{"mine": 1}`, `{"b": 2}`},
		"ws/deep/.vscode/tasks.json": {"", `{"mine": 2}`, `{"b": 2}`},
		"ws/.gitconfig":              {"[a]\n", "[a]\n\tb = 1\n", "[core]\n\tfsmonitor = touch pwned\n"},
		"ws/.cargo/config":           {"[a]\n", "[b]\n", "[build]\nrustc-wrapper = \"pwned\"\n"},
		"ws/.vscode/config":          {"[a]\n", "[b]\n", "[c]\n"},
		"ws/.githooks/config":        {"[a]\n", "[b]\n", "[c]\n"},
		"ws/.git/config":             {"", "[core]\n\tfsmonitor = mine\n", "[core]\n\tfsmonitor = touch pwned\n"},
		"ws/.hermes/config.yaml":     {"", "agent: {}\n", "approvals: {mode: off}\n"},
	}
	m := here(t)[0]
	for name, place := range places {
		for _, how := range []string{"alone", "overwritten", "reverted", "before", "executable", "unsaved"} {
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				place := place // each case has its own texts
				v := newVictim(t, m, WorkspaceWrite, true)
				path := filepath.Join(v.base, name)
				config := strings.HasSuffix(name, "/.git/config")
				if config {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					place.old, place.user, place.hostile = string(text), string(text)+place.user, string(text)+place.hostile
				} else if place.old != "" {
					v.write(name, place.old)
				}
				if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
					t.Fatal(err)
				}
				w := Wrote{Path: path, New: []byte(place.user), Unsaved: how == "unsaved"}
				if place.old != "" {
					w.Old = []byte(place.old)
				}
				switch how {
				case "before": // the program was first, and the user has seen only the difference
					v.write(name, place.hostile)
					w.Old, w.New = []byte(place.hostile), []byte(place.hostile+"\n# mine\n")
				case "unsaved":
					v.box.Note(w)
				}
				v.write(name, string(w.New))
				if how != "unsaved" {
					v.box.Note(w)
				}
				switch how {
				case "overwritten":
					v.write(name, place.hostile)
				case "reverted":
					if place.old == "" || config {
						return // nothing of the old file runs
					}
					v.write(name, place.old)
				case "executable":
					if config {
						return
					}
					if err := os.Chmod(path, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				found := reviewed(t, v)
				if asked := how != "alone" && how != "unsaved"; asked != (len(found) > 0) {
					t.Fatalf("asked about %q", found)
				}
				want := place.user
				if how == "before" {
					want = place.old
				}
				switch {
				case config:
					if v.has(name, "touch pwned") || how == "alone" && !v.has(name, "mine") {
						t.Error("the settings are not what the user has written")
					}
				case want == "" && !v.lacks(name), want != "" && !v.has(name, want):
					text, err := os.ReadFile(path)
					t.Errorf("the file is %q, %v", text, err)
				}
				if again := reviewed(t, v); len(again) > 0 {
					t.Errorf("asked again about %q", again)
				}
			})
		}
	}
}

// A standing program writes a place, and the user has written none or only a part of it. The user is
// asked, whatever the program does so that the write passes for known. Then the user's text is restored.
func TestUnknownWrites(t *testing.T) {
	t.Parallel()
	const hostile = `{"tasks": "pwned"}`
	many := func(v *victim, dir string) {
		for i := range 5001 {
			if err := os.MkdirAll(filepath.Join(v.base, dir, fmt.Sprintf("aaa/%d", i)), 0o755); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		before, hostile func(v *victim)
		place, want     string
	}{
		"more folders than are looked at": {
			func(v *victim) { v.write("ws/deep/.vscode/settings.json", "{}") },
			func(v *victim) { many(v, "ws/deep/.vscode"); v.write("ws/deep/.vscode/tasks.json", hostile) },
			"ws/deep/.vscode/tasks.json", "",
		},
		"more folders in one that the user has made": {
			func(v *victim) {},
			func(v *victim) {
				path := filepath.Join(v.ws, "deep/.vscode/aa.json")
				v.write("ws/deep/.vscode/aa.json", "{}")
				v.box.Note(Wrote{Path: path, New: []byte("{}")})
				many(v, "ws/deep/.vscode/")
				v.write("ws/deep/.vscode/tasks.json", hostile)
			},
			"ws/deep/.vscode/tasks.json", "",
		},
		"one of two equal folders": {
			func(v *victim) {
				v.write("ws/a/.vscode/tasks.json", "{}")
				v.write("ws/b/.vscode/tasks.json", "{}")
			},
			func(v *victim) { v.write("ws/b/.vscode/tasks.json", hostile) },
			"ws/b/.vscode/tasks.json", "{}",
		},
		"a copy of the user's folder": {
			func(v *victim) {},
			func(v *victim) {
				v.write("ws/a/.vscode/tasks.json", hostile)
				v.box.Note(Wrote{Path: filepath.Join(v.ws, "a/.vscode/tasks.json"), New: []byte(hostile)})
				v.write("ws/b/.vscode/tasks.json", hostile)
			},
			"ws/b/.vscode/tasks.json", "",
		},
		"a line of a setting of several": {
			func(v *victim) { v.write("ws/.git/config", "[alias]\n\tx = \"!true\\n!touch pwned\\n\"\n") },
			func(v *victim) { v.write("ws/.git/config", "[alias]\n\tx = \"!touch pwned\"\n") },
			"ws/.git/config", `!true\n!touch pwned`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, here(t)[0], WorkspaceWrite, true)
			tt.before(v)
			if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
				t.Fatal(err)
			}
			tt.hostile(v)
			if found := reviewed(t, v); len(found) == 0 {
				t.Error("the user was not asked")
			}
			if tt.want == "" && !v.lacks(tt.place) || tt.want != "" && !v.has(tt.place, tt.want) {
				t.Errorf("%s stays", tt.place)
			}
			if again := reviewed(t, v); len(again) > 0 {
				t.Errorf("asked again about %q", again)
			}
		})
	}
}

// What a killed server's program has left is asked about also if the user, or an approved tool, has changed a part of it before the
// first command of the next server.
func TestWriteAfterKill(t *testing.T) {
	t.Parallel()
	v := newVictim(t, here(t)[0], WorkspaceWrite, true)
	v.write("ws/.vscode/settings.json", "{}")
	if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
		t.Fatal(err)
	}
	v.write("ws/.vscode/settings.json", `{"hostile": 1}`)
	v.write("ws/.envrc", "touch pwned\n")
	dead := v.box
	dead.places.Abandon()
	v.box = New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: dead.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: dead.cfg.Environ, Mechanism: dead.cfg.Mechanism,
	})
	t.Cleanup(v.box.Close)
	for name, text := range map[string]string{"ws/.vscode/settings.json": `{"hostile": 1}`, "ws/.envrc": "touch pwned\n"} {
		path := filepath.Join(v.base, name)
		for _, change := range [][2]string{{text, text + " "}, {text + " ", text + "  "}} {
			v.write(name, change[1])
			v.box.Note(Wrote{Path: path, Old: []byte(change[0]), New: []byte(change[1])})
		}
	}
	v.write("ws/AGENTS.md", "mine\n")
	v.box.Note(Wrote{Path: filepath.Join(v.ws, "AGENTS.md"), New: []byte("mine\n")})
	if found := reviewed(t, v); len(found) != 2 {
		t.Errorf("asked about %q", found)
	}
}

// The user is not asked about files that git takes from a repository, but about those that another
// program writes meanwhile.
func TestBesideGit(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"nothing", "a command in the background", "a plugin", "a hook", "a hook that does not run"} {
		t.Run(beside, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, here(t)[0], WorkspaceWrite, true)
			hook := strings.HasPrefix(beside, "a hook")
			switch {
			case hook:
				v.write("ws/.git/hooks/post-checkout", "#!/bin/sh\n")
				if beside == "a hook" {
					v.host("chmod", "+x", filepath.Join(v.ws, ".git/hooks/post-checkout"))
				}
			case beside == "a plugin":
				if _, err := v.box.Stand(t.Context(), beside); err != nil {
					t.Fatal(err)
				}
			case beside != "nothing":
				other := watching(v.box)
				defer other.End()
			}
			w := watching(v.box.With(Opening{Git: true}))
			v.write("ws/AGENTS.md", "obey\n")
			v.write("ws/sub/.vscode/tasks.json", "{}")
			changes, done := w.Changes()
			done()
			w.End()
			if asked := beside != "nothing" && beside != "a hook that does not run"; asked != (len(changes) == 2) || !asked && len(changes) > 0 {
				t.Errorf("asked about %d changes", len(changes))
			}
		})
	}
}
