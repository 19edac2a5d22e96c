package file

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

func patchCall(text string) map[string]string {
	return map[string]string{"mode": "patch", "patch": "*** Begin Patch\n" + text + "*** End Patch\n"}
}

// shownFile is a file of a request in short: its name, the old text or "-", the new text.
func shownFile(e tools.FileEdit) string {
	old := "-"
	if e.Old != nil {
		old = *e.Old
	}
	return strings.ReplaceAll(e.Name+": "+old+" → "+e.New, "\n", "|")
}

// TestCarefulAsksWithTheEdit makes edits of each kind in mode careful. Each sends a single request
// with all of its files.
func TestCarefulAsksWithTheEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool     string
		args     map[string]string
		shown    []string
		remember string
	}{
		"write": {"write_file", map[string]string{"path": "a.txt", "content": "new\n"}, []string{"a.txt: one|two| → new|"}, "edits of a.txt"},
		"new":   {"write_file", map[string]string{"path": "d/n.txt", "content": "x\n"}, []string{"d/n.txt: - → x|"}, "edits of d/n.txt"},
		"patch": {"patch", map[string]string{"path": "a.txt", "old_string": "two", "new_string": "2"}, []string{"a.txt: one|two| → one|2|"}, "edits of a.txt"},
		"several": {"patch", patchCall("*** Update File: a.txt\n one\n-two\n+2\n*** Add File: n.txt\n+n\n*** Delete File: b.txt\n*** Move File: c.txt -> e.txt\n"),
			[]string{"a.txt: one|two| → one|2|", "n.txt: - → n|", "b.txt: gone| → ", "e.txt: stays| → stays|"}, "edits of a.txt, n.txt, b.txt, c.txt, e.txt"},
		"invisible": {"write_file", map[string]string{"path": "a.txt", "content": "a\u202eb\n"}, []string{"a.txt: one|two| → a⟨U+202E⟩b|"}, "edits of a.txt"},
		"crlf":      {"patch", map[string]string{"path": "w.txt", "old_string": "two", "new_string": "2"}, []string{"w.txt: one|two| → one|2|"}, "edits of w.txt"},
		"no change": {"write_file", map[string]string{"path": "a.txt", "content": "one\ntwo\n"}, nil, ""},
	} {
		for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
			p := newPlace(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "gone\n", "c.txt": "stays\n", "w.txt": "one\r\ntwo\r\n"})
			before := tree(t, p.dir)
			user := &answers{say: say}
			p.env.Gate = careful(user)
			got := p.call(t, c.tool, c.args)
			if len(c.shown) == 0 {
				if len(user.asked) > 0 {
					t.Errorf("%s: asked although nothing changes", name)
				}
				continue
			}
			if len(user.asked) != 1 {
				t.Errorf("%s: asked %d times: %s", name, len(user.asked), got.JSON)
				continue
			}
			var shown, ids []string
			for _, e := range user.asked[0].Edits {
				shown = append(shown, shownFile(e))
			}
			for _, o := range user.asked[0].Options() {
				ids = append(ids, string(o.ID))
			}
			if !slices.Equal(shown, c.shown) || user.asked[0].Remember != c.remember || !slices.Equal(ids, []string{"once", "session", "no"}) {
				t.Errorf("%s: shows %q, remembers %q, options %q", name, shown, user.asked[0].Remember, ids)
			}
			if denied := say == tools.DecisionDeny; got.IsError != denied || denied != slices.Equal(before, tree(t, p.dir)) {
				t.Errorf("%s, answered %s: %s", name, say, got.JSON)
			}
		}
	}
}

func careful(user tools.Asker) *gate.Gate {
	g := gate.New(gate.Config{Asker: user})
	g.SetCareful(true)
	return g
}

// tree lists the files of a folder with their texts.
func tree(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			files = append(files, path+"\x00"+string(text))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// An approval for the session covers only the files named in the request.
func TestCarefulSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	user := &answers{say: tools.DecisionSession}
	p.env.Gate = careful(user)
	steps := []struct {
		args  map[string]string
		asked int
	}{
		{patchCall("*** Update File: a\n-1\n+2\n*** Update File: b\n-1\n+2\n"), 1},
		{map[string]string{"path": "a", "old_string": "2", "new_string": "3"}, 1},
		{map[string]string{"path": "b", "old_string": "2", "new_string": "3"}, 1},
		{map[string]string{"path": "c", "old_string": "1", "new_string": "3"}, 2},
		{patchCall("*** Update File: a\n-3\n+4\n*** Update File: c\n-3\n+4\n"), 2},
		{patchCall("*** Update File: a\n-4\n+5\n*** Add File: d\n+x\n"), 3},
		{map[string]string{"path": ".envrc", "content": "x"}, 4},
	}
	for i, s := range steps {
		tool := "patch"
		if s.args["content"] != "" {
			tool = "write_file"
		}
		if got := p.call(t, tool, s.args); got.IsError || len(user.asked) != s.asked {
			t.Errorf("step %d: asked %d times, want %d: %s", i, len(user.asked), s.asked, got.JSON)
		}
	}
}

// meddling changes a file while the request is open, and allows the edit.
type meddling struct{ meddle func() }

func (m meddling) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	m.meddle()
	return tools.DecisionOnce, nil
}

// If a file changes during the request, it keeps the new lines. The edit is made only if it still
// changes the shown lines.
func TestApprovedEditIsTheShownOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool string
		args map[string]string
		now  string // the user's text written meanwhile
		want string // final text
	}{
		"patch elsewhere":   {"patch", map[string]string{"path": "a", "old_string": "two", "new_string": "2"}, "zero\none\ntwo\n", "zero\none\n2\n"},
		"patch there":       {"patch", map[string]string{"path": "a", "old_string": "two", "new_string": "2"}, "one\ntwo and more\n", "one\ntwo and more\n"},
		"patch of several":  {"patch", patchCall("*** Update File: a\n one\n-two\n+2\n"), "zero\none\ntwo\n", "zero\none\n2\n"},
		"whole file":        {"write_file", map[string]string{"path": "a", "content": "new\n"}, "one\ntwo\nmine\n", "one\ntwo\nmine\n"},
		"deleted":           {"patch", patchCall("*** Delete File: a\n"), "one\ntwo\nmine\n", "one\ntwo\nmine\n"},
		"new, and now made": {"write_file", map[string]string{"path": "b", "content": "new\n"}, "", "mine\n"},
	} {
		p := newPlace(t, map[string]string{"a": "one\ntwo\n"})
		file := "a"
		if c.now == "" {
			file, c.now = "b", "mine\n"
		}
		p.env.Gate = careful(meddling{func() {
			if err := os.WriteFile(filepath.Join(p.dir, file), []byte(c.now), 0o600); err != nil {
				t.Error(err)
			}
		}})
		got := p.call(t, c.tool, c.args)
		if now := p.text(t, file); now != c.want || got.IsError != (c.want == c.now) {
			t.Errorf("%s: %q, want %q: %s", name, now, c.want, got.JSON)
		}
	}
}

// In every mode a request for an edit shows it. A hidden change is never always allowed.
func TestRequestsShowTheEdit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long line of a long file\n", 60_000)
	for name, c := range map[string]struct {
		path, content string
		old           string
		cut           bool
		note          string
	}{
		"new":       {".envrc", "x\n", "", false, ""},
		"changed":   {".envrc", "x\n", "y\n", false, ""},
		"long":      {".envrc", long, "y\n", true, "only its beginning is shown"},
		"long file": {".envrc", long + "x\n", long + "y\n", false, "only the changed part is shown"},
		"binary":    {".envrc", "x\n", "y\x00\xff\n", false, "4 bytes"},
	} {
		files := map[string]string{}
		if c.old != "" {
			files[c.path] = c.old
		}
		p := newPlace(t, files)
		user := &answers{say: tools.DecisionDeny}
		p.env.Gate = gate.New(gate.Config{Asker: user})
		got := p.call(t, "write_file", map[string]string{"path": c.path, "content": c.content})
		if name == "binary" && len(user.asked) == 0 {
			continue // the tool rejects it before the user is asked
		}
		if len(user.asked) != 1 || len(user.asked[0].Edits) != 1 {
			t.Errorf("%s: asked %d times: %s", name, len(user.asked), got.JSON)
			continue
		}
		q, e := user.asked[0], user.asked[0].Edits[0]
		if e.Cut != c.cut || !strings.Contains(e.Note, c.note) || (len(q.Keys) == 0) != c.cut || (e.Old == nil) != (c.old == "") {
			t.Errorf("%s: cut %v, note %q, keys %q", name, e.Cut, e.Note, q.Keys)
		}
		if text := gate.EditText(q.Edits); strings.Count(text, "\n+ ")+strings.Count(text, "\n- ") > gate.LinesShown || !strings.HasPrefix(text, c.path+" · ") {
			t.Errorf("%s: text %q", name, text)
		}
	}
}
