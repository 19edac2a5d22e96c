package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// tree reads the entries of dir: links as →target, files as mode and text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			all[rel+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[rel] = "→" + target
			return err
		default:
			text, err := os.ReadFile(path)
			all[rel] = fmt.Sprintf("%04o %s", info.Mode().Perm(), text)
			return err
		}
		return nil
	}))
	return all
}

func TestBatch(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"a": "one\n", "b": "two\n", "c": "three\n", "d": "four\n", "real": "r\n"}, nil)
	must(t, os.Chmod(filepath.Join(dir, "c"), 0o755))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, os.Symlink("real", filepath.Join(dir, "old link")))
	got, err := w.Batch(t.Context(), []Action{
		{Path: "a", Change: replace("one", "1")},
		{Path: "a", Change: replace("1", "eins")}, // sees the change before it
		{Path: "b", Remove: true},
		{Path: "c", Change: replace("three", "3"), MoveTo: "deep/er/c2"},
		{Path: "new/x", Text: []byte("x\n")},
		{Path: "d", Remove: true},
		{Path: "d", Text: []byte("again\n")}, // the same path anew
		{Path: "link", Change: replace("r", "R")},
		{Path: "old link", Remove: true},
	})
	must(t, err)
	want := map[string]string{
		"a": "0644 eins\n", "d": "0644 again\n", "deep/": "", "deep/er/": "", "deep/er/c2": "0755 3\n",
		"new/": "", "new/x": "0644 x\n", "real": "0644 R\n", "link": "→real",
	}
	if now := tree(t, dir); fmt.Sprint(now) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", now, want)
	}
	var said []string
	for _, x := range got {
		said = append(said, fmt.Sprintf("%s %q→%q from %q created %v", x.Name, x.Old, x.New, x.From, x.Created))
	}
	if wanted := []string{
		`a "one\n"→"eins\n" from "" created false`, `b "two\n"→"" from "" created false`,
		`deep/er/c2 "three\n"→"3\n" from "c" created false`, `new/x ""→"x\n" from "" created true`,
		`d "four\n"→"again\n" from "" created false`, `real "r\n"→"R\n" from "" created false`, `old link ""→"" from "" created false`,
	}; !slices.Equal(said, wanted) {
		t.Errorf("said\n%s", strings.Join(said, "\n"))
	}
	// Written texts are known, removed files are forgotten.
	_, err = w.Batch(t.Context(), []Action{{Path: "a", Change: replace("eins", "uno")}, {Path: "b", Text: []byte("new\n")}})
	must(t, err)
}

func TestBatchAllOrNothing(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("no such text")
	good := []Action{
		{Path: "a", Change: replace("one", "1")}, {Path: "fresh/deep/x", Text: []byte("x")},
		{Path: "b", Remove: true}, {Path: "c", MoveTo: "moved/c"}, {Path: "e", Change: replace("e", "E")},
	}
	for name, test := range map[string]struct {
		bad  Action
		want error
		text string
	}{
		"change fails":    {Action{Path: "d", Change: func([]byte) ([]byte, error) { return nil, sentinel }}, sentinel, "no such text"},
		"not there":       {Action{Path: "none", Change: replace("a", "b")}, ErrNotFound, "none does not exist"},
		"removed before":  {Action{Path: "b", Change: replace("t", "T")}, ErrNotFound, "b does not exist"},
		"there already":   {Action{Path: "d", Text: []byte("x")}, fs.ErrExist, "d exists already"},
		"target there":    {Action{Path: "d", MoveTo: "a"}, fs.ErrExist, "a exists already"},
		"outside":         {Action{Path: "../x", Text: []byte("x")}, ErrOutside, "outside"},
		"a folder":        {Action{Path: "dir", Remove: true}, ErrNotRegular, "folder"},
		"a link moved":    {Action{Path: "link", MoveTo: "elsewhere"}, ErrNotRegular, "link"},
		"below a file":    {Action{Path: "d/x", Text: []byte("x")}, nil, "not a directory"},             // found by the disk
		"read-only":       {Action{Path: "locked", Change: replace("l", "L")}, nil, "read-only"},        // after others were written
		"name too long":   {Action{Path: strings.Repeat("n", 300), Text: []byte("x")}, nil, "too long"}, //
		"stale":           {Action{Path: "seen", Remove: true}, ErrStale, "seen has changed on disk"},
		"editor is stale": {Action{Path: "open", Change: replace("o", "O")}, ErrStale, "in the editor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditor()
			w, dir := open(t, map[string]string{"a": "one\n", "b": "two\n", "c": "three\n", "d": "d", "e": "disk e", "dir/x": "", "locked": "l", "seen": "1", "open": "o"}, e)
			must(t, os.Symlink("a", filepath.Join(dir, "link")))
			must(t, os.Chmod(filepath.Join(dir, "locked"), 0o444))
			must(t, os.Chmod(filepath.Join(dir, "b"), 0o755))
			_, err := w.Read(t.Context(), "seen")
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, "seen"), []byte("2"), 0o644))
			e.Open(filepath.Join(dir, "e"), 1, "buffer e")
			e.Open(filepath.Join(dir, "open"), 1, "o")
			if name == "editor is stale" { // the user types when the edit comes
				e.typing = []func(){func() {}, func() {
					must(t, e.Change(filepath.Join(dir, "open"), 2, []Change{{Text: "typed"}}, textenc.UTF16))
				}}
			}
			before := tree(t, dir)
			_, err = w.Batch(t.Context(), append(slices.Clone(good), test.bad))
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("err = %v", err)
			}
			if now := tree(t, dir); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("after %v\nnow %v\nwas %v", err, now, before)
			}
			if doc, _ := e.Buffers.Get(filepath.Join(dir, "e")); string(doc.Text) != "buffer e" {
				t.Errorf("the editor has %q", doc.Text)
			}
			if test.want == nil || name == "editor is stale" {
				return
			}
			// Without the bad action, the batch succeeds.
			_, err = w.Batch(t.Context(), good)
			must(t, err)
			if doc, _ := e.Buffers.Get(filepath.Join(dir, "e")); string(doc.Text) != "buffEr e" {
				t.Errorf("the editor has %q", doc.Text)
			}
		})
	}
	w, dir := open(t, map[string]string{"a": "one\n"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.Batch(ctx, []Action{{Path: "a", Change: func([]byte) ([]byte, error) { cancel(); return []byte("x"), nil }}})
	if !errors.Is(err, context.Canceled) || onDisk(t, filepath.Join(dir, "a")) != "one\n" {
		t.Errorf("a cancelled batch: %v", err)
	}
}

// Undoing a batch does not overwrite later changes of others.
// A cancel ends a batch between two files: while it is planned and while it is written.
func TestBatchIsCanceled(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"planned", "agreed", "writing"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w, dir := open(t, map[string]string{"a": "one\n", "b": "two\n", "c": "three\n"}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			changes := 0
			change := func(old []byte) ([]byte, error) {
				if changes++; at == "planned" {
					cancel()
				}
				return []byte("new"), nil
			}
			if at == "writing" {
				w.Journal = func(string, Image) func(Image) {
					cancel()
					return func(Image) {}
				}
			}
			_, err := w.BatchIf(ctx, []Action{{Path: "a", Change: change}, {Path: "b", Change: change}, {Path: "c", Remove: true}}, func([]*Written) error {
				if at == "agreed" {
					cancel()
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) || at == "planned" && changes != 1 {
				t.Errorf("%v after %d changes", err, changes)
			}
			for name, want := range map[string]string{"a": "one\n", "b": "two\n", "c": "three\n"} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
		})
	}
}

func TestBatchUndoesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	e := newEditor()
	w, dir := open(t, map[string]string{"a": "one\n", "b": "two\n", "open": "o"}, e)
	path := filepath.Join(dir, "open")
	e.Open(path, 1, "o")
	e.typing = []func(){func() {
		must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("theirs\n"), 0o644))
		must(t, e.Change(path, 2, []Change{{Text: "typed"}}, textenc.UTF16))
	}}
	_, err := w.Batch(t.Context(), []Action{{Path: "a", Change: replace("one", "1")}, {Path: "b", Change: replace("two", "2")}, {Path: "open", Change: replace("o", "O")}})
	if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "could not all be undone") {
		t.Errorf("err = %v", err)
	}
	if a, b := onDisk(t, filepath.Join(dir, "a")), onDisk(t, filepath.Join(dir, "b")); a != "theirs\n" || b != "two\n" {
		t.Errorf("a = %q, b = %q", a, b)
	}
}

// Random batches against a plain model of the files.
func TestBatchRandom(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "sub/c", "sub/d", "e"}
	rapid.Check(t, func(rt *rapid.T) {
		base := tempDir(t)
		defer os.RemoveAll(base)
		model := map[string]string{}
		for _, name := range names[:3] {
			if rapid.Bool().Draw(rt, name) {
				model[name] = name
			}
		}
		writeFiles(t, base, model)
		w, err := Open([]string{base}, nil)
		must(t, err)
		defer w.Close()
		next := map[string]string{}
		for name, text := range model {
			next[name] = text
		}
		fails := false
		var actions []Action
		for range rapid.IntRange(1, 6).Draw(rt, "actions") {
			a := Action{Path: rapid.SampledFrom(names).Draw(rt, "path")}
			old, there := next[a.Path]
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				a.Change = func(old []byte) ([]byte, error) { return append(slices.Clone(old), '+'), nil }
				fails = fails || !there
				next[a.Path] = old + "+"
			case 1:
				a.Text = []byte("new")
				fails = fails || there
				next[a.Path] = "new"
			case 2:
				a.Remove = true
				fails = fails || !there
				delete(next, a.Path)
			case 3:
				a.MoveTo = rapid.SampledFrom(names).Draw(rt, "to")
				_, taken := next[a.MoveTo]
				fails = fails || !there || taken
				delete(next, a.Path)
				next[a.MoveTo] = old
			}
			actions = append(actions, a)
		}
		_, err = w.Batch(t.Context(), actions)
		if (err != nil) != fails {
			rt.Fatalf("%+v: %v", actions, err)
		}
		want := next
		if fails {
			want = model
		}
		got := map[string]string{}
		for name, text := range tree(t, base) {
			if !strings.HasSuffix(name, "/") {
				got[name] = strings.TrimPrefix(text, "0644 ")
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("%+v:\ngot  %v\nwant %v", actions, got, want)
		}
	})
}
