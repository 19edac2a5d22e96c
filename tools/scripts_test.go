//go:build unix

package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// meddler agrees, after it has done something.
type meddler struct{ do func() }

func (m meddler) AskPermission(context.Context, Question) (Decision, error) {
	m.do()
	return DecisionOnce, nil
}

// What is run is what was shown: a script that is rewritten, or a folder that is
// exchanged, while the question stands is refused.
func TestWhatRunsIsWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   string
		meddle func(dir string) error
		want   string // in the error; empty: it runs
	}{
		"nothing happens":   {`{"command":"sudo ./x.sh; rm -rf y"}`, func(string) error { return nil }, ""},
		"another file":      {`{"command":"sudo ./x.sh; rm -rf y"}`, func(dir string) error { return os.WriteFile(dir+"/y", nil, 0o644) }, ""},
		"script, by itself": {`{"command":"./x.sh; rm -rf y"}`, func(dir string) error { return os.WriteFile(dir+"/x.sh", []byte("echo evil"), 0o755) }, "x.sh was changed while"},
		"script of a shell": {`{"command":"rm -rf y && sh -e x.sh"}`, func(dir string) error { return os.WriteFile(dir+"/x.sh", []byte("echo evil"), 0o755) }, "x.sh was changed while"},
		"script, gone":      {`{"command":"rm -rf y; bash 'x.sh'"}`, func(dir string) error { return os.Remove(dir + "/x.sh") }, "x.sh was changed while"},
		"the folder": {`{"command":"rm -rf y","workdir":"sub"}`, func(dir string) error {
			if err := os.Rename(dir+"/sub", dir+"/sub2"); err != nil {
				return err
			}
			return os.Mkdir(dir+"/sub", 0o755)
		}, "not the one that it was judged in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir := newTerminal(t)
			if err := os.WriteFile(filepath.Join(dir, "x.sh"), []byte("#!/bin/sh\necho good"), 0o755); err != nil {
				t.Fatal(err)
			}
			env.Gate = NewGate(GateConfig{Asker: meddler{func() {
				if err := tt.meddle(dir); err != nil {
					t.Error(err)
				}
			}}})
			_, result := runTerminal(t.Context(), t, env, tt.args)
			if result.IsError != (tt.want != "") || !strings.Contains(string(result.JSON), tt.want) {
				t.Errorf("%s", result.JSON)
			}
		})
	}
}

func TestTerminalTellsOfUnsavedText(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	e := &editor{doc: workspace.Document{Path: filepath.Join(dir, "a.py"), Version: 1, Text: []byte("new\n")}}
	files, err := workspace.Open([]string{dir}, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() }) //nolint:errcheck // only read
	env.Files = files
	if err := os.WriteFile(e.doc.Path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := runTerminal(t.Context(), t, env, `{"command":"cat a.py"}`)
	if out.Output != "old\n" || out.Note != "not saved in the editor: a.py; commands see the versions on the disk" {
		t.Errorf("%+v", out)
	}
	if err := os.WriteFile(e.doc.Path, []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ = runTerminal(t.Context(), t, env, `{"command":"cat a.py"}`); out.Note != "" {
		t.Errorf("%+v", out)
	}
	if got := explainUnsaved([]string{"1", "2", "3", "4", "5", "6", "7"}); got != "not saved in the editor: 1, 2, 3, 4, 5, and 2 more; commands see the versions on the disk" {
		t.Error(got)
	}
}
