package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// host is an editor with a single document. It is modeled on a language client, whose buffers are
// listed, or on a client of the Agent Client Protocol, which writes files itself.
type host struct {
	path    string
	text    string
	saved   string // the file as far as the editor knows
	version int32
	acp     bool
	saves   bool // a plugin saves edits of a document without unsaved changes
	texts   SavedTexts
}

func (h *host) dirty() bool { return h.text != h.saved }

func (h *host) Get(_ context.Context, path string) (Document, bool, error) {
	return Document{Path: path, Version: h.version, Text: []byte(h.text)}, path == h.path, nil
}

func (h *host) Replace(_ context.Context, doc Document, text []byte) error {
	if string(doc.Text) != h.text {
		return ErrStale
	}
	wasDirty := h.dirty()
	h.set(string(text))
	if h.acp || h.saves && doc.Save && !wasDirty {
		return h.save()
	}
	return nil
}

func (h *host) set(text string) {
	h.text = text
	h.version++
}

func (h *host) save() error {
	h.saved = h.text
	err := os.WriteFile(h.path, []byte(h.text), 0o644)
	h.tell()
	return err
}

// tell acts like a language client when it opens, saves or reloads a document.
func (h *host) tell() {
	if !h.acp {
		h.texts.Observe(h.path, []byte(h.text))
	}
}

func (h *host) reload() {
	if text, err := os.ReadFile(h.path); err == nil && !h.dirty() {
		h.saved = string(text)
		h.set(string(text))
		h.tell()
	}
}

func (h *host) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }
func (h *host) SavedTexts() *SavedTexts                                   { return &h.texts }
func (h *host) SavesEdits() bool                                          { return h.acp || h.saves }
func (h *host) SaveFailure(string) (string, bool)                         { return "", false }

func (h *host) Paths() []string {
	if h.acp {
		return nil
	}
	return []string{h.path}
}

// TestNoTextIsLost changes a document on disk and in the editor, reloads and saves it, and edits
// it, in random order. Each change is a separate line. Afterwards each line of the agent, a program
// or the user is in the editor or on disk, unless the user has overwritten it knowingly. Each
// result is true.
func TestNoTextIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"language client", "plugin", "disk", "ACP"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			n := 0
			rapid.Check(t, func(rt *rapid.T) {
				n++
				name := fmt.Sprintf("f%d", n)
				path := filepath.Join(dir, name)
				must(t, os.WriteFile(path, []byte("begin\n"), 0o644))
				h := &host{path: path, text: "begin\n", saved: "begin\n", version: 1, acp: kind == "ACP", saves: kind == "plugin"}
				h.texts.Observe(path, []byte(h.text))
				w := openDirs(t, h, dir)
				defer w.Close() // a test
				w.SetSaving(Saving{Disk: kind == "disk", Save: true})
				h.texts.waited(false) // the next wait is short
				disk := func() string { return onDisk(t, path) }
				lines := []string{"begin"}
				_, err := w.Read(t.Context(), name)
				must(t, err)
				for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
					line := fmt.Sprintf("line %d", i)
					switch step := rapid.SampledFrom([]string{"disk", "type", "reload", "save", "edit", "edit", "read"}).Draw(rt, "step"); step {
					case "disk":
						must(t, os.WriteFile(path, []byte(disk()+line+"\n"), 0o644))
						lines = append(lines, line)
					case "type":
						h.set(h.text + line + "\n")
						lines = append(lines, line)
					case "reload":
						h.reload()
					case "save":
						if disk() == h.saved { // else an editor asks
							must(t, h.save())
						}
					case "read":
						f, err := w.Read(t.Context(), name)
						want := h.text
						if !h.dirty() {
							want = disk()
						}
						unknown := h.acp && disk() != h.text // the user's save is not reported
						if err != nil || string(f.Text) != want && !(unknown && string(f.Text) == h.text) {
							rt.Fatalf("read %q, want %q: %v", f.Text, want, err)
						}
					case "edit":
						dirty, before, diskBefore := h.dirty(), h.text, disk()
						both := dirty && diskBefore != h.saved || h.acp && diskBefore != before
						written, err := w.EditPresent(t.Context(), name, func(old []byte, _ Since) ([]byte, error) { return append(bytes.Clone(old), line+"\n"...), nil })
						switch {
						case err != nil && (!both || !errors.Is(err, ErrStale)):
							rt.Fatalf("the edit failed: %v", err)
						case err != nil:
							if h.text != before || disk() != diskBefore {
								rt.Fatalf("a rejected edit changed something")
							}
							continue
						case !strings.Contains(string(written.New), line):
							rt.Fatalf("the result lacks the edit: %q", written.New)
						}
						lines = append(lines, line)
						if h.SavesEdits() && !dirty && !strings.Contains(disk(), line) {
							rt.Fatalf("the edit of a clean document is not on disk: %q", disk())
						}
					}
					for _, line := range lines {
						if !strings.Contains(h.text+disk(), line+"\n") {
							rt.Fatalf("%s is lost: the editor has %q, the disk %q", line, h.text, disk())
						}
					}
				}
			})
		})
	}
}

// TestMisreadFile edits files shown by the editor in a wrong encoding, or with other line ends. The
// other bytes stay.
func TestMisreadFile(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ file, shown, want string }{
		"Latin-1 as UTF-8":       {"caf\xe9 one\ntwo\n", "caf\ufffd one\ntwo\n", "caf\xe9 ONE\ntwo\n"},
		"GB18030 as Latin-1":     {"\xc4\xe3 one\n", "Äã one\n", "\xc4\xe3 ONE\n"},
		"Shift_JIS as UTF-8":     {"\x83e\x83X\x83g \x83t\x83@\x83C\x83\x8b one\n", "\ufffde\ufffdX\ufffdg \ufffdt\ufffd@\ufffdC\ufffd\ufffd one\n", "\x83e\x83X\x83g \x83t\x83@\x83C\x83\x8b ONE\n"},
		"Shift_JIS as Latin-1":   {"\x83e\x83X\x83g one\n", "\u0083e\u0083X\u0083g one\n", "\x83e\x83X\x83g ONE\n"},
		"UTF-16 as UTF-8":        {"\xff\xfeo\x00n\x00e\x00 \x00\x29\x09\n\x00", "\ufffd\ufffdo\x00n\x00e\x00 \x00\x29\x09\n\x00", "\xff\xfeO\x00N\x00E\x00 \x00\x29\x09\n\x00"},
		"one bad byte":           {"世界 \xff one\n", "世界 \ufffd one\n", "世界 \xff ONE\n"},
		"mixed line ends":        {"one\r\ntwo\nthree\r\n", "one\r\ntwo\r\nthree\r\n", "ONE\r\ntwo\nthree\r\n"},
		"Latin-1, read well":     {"caf\xe9 one\n", "café one\n", "caf\xe9 ONE\n"},
		"byte order mark":        {"\ufeffone\n", "one\n", "\ufeffONE\n"},
		"CRLF":                   {"one\r\ntwo\r\n", "one\ntwo\n", "ONE\r\ntwo\r\n"},
		"UTF-16":                 {"\xff\xfeo\x00n\x00e\x00\n\x00", "one\n", "\xff\xfeO\x00N\x00E\x00\n\x00"},
		"nothing else, the same": {"one\n", "one\n", "ONE\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w0, dir := open(t, map[string]string{"f": x.file}, nil)
			must(t, w0.Close())
			path := filepath.Join(dir, "f")
			h := &host{path: path, text: x.shown, saved: x.shown, version: 1, acp: true}
			h.texts.Observe(path, []byte(h.text))
			w := openDirs(t, h, dir)
			_, err := w.EditPresent(t.Context(), "f", func(old []byte, _ Since) ([]byte, error) {
				charset := textenc.CharsetOf(old)
				return charset.Encode(bytes.Replace(charset.Decode(old), []byte("one"), []byte("ONE"), 1))
			})
			if got := onDisk(t, path); err != nil || got != x.want {
				t.Errorf("the file has %q, want %q: %v", got, x.want, err)
			}
		})
	}
}

// TestFolderInPlaceOfADocument: if a folder has replaced an open file, the document is neither read
// nor written, in any kind of editor, until a file is there again.
func TestFolderInPlaceOfADocument(t *testing.T) {
	t.Parallel()
	for kind, h := range map[string]*host{"client of ACP": {acp: true}, "plugin": {saves: true}, "language client": {}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w0, dir := open(t, map[string]string{"f": "one\n"}, nil)
			must(t, w0.Close())
			h.path, h.text, h.saved, h.version = filepath.Join(dir, "f"), "one\n", "one\n", 1
			h.texts.Observe(h.path, []byte(h.text))
			w := openDirs(t, h, dir)
			w.SetSaving(Saving{Save: true})
			must(t, os.Remove(h.path))
			must(t, os.Mkdir(h.path, 0o755))
			if text, err := w.Read(t.Context(), "f"); err == nil {
				t.Errorf("read %q", text.Text)
			}
			if _, err := w.Edit(t.Context(), "f", replace("one", "ONE")); err == nil {
				t.Error("edited a folder")
			}
			if _, err := w.Write(t.Context(), "f", []byte("new\n")); err == nil {
				t.Error("wrote a folder")
			}
			if now, err := w.Look(t.Context(), "f"); err != nil || !now.Mode.IsDir() {
				t.Errorf("looked at %+v, %v", now, err)
			}
			must(t, w.PutBack(t.Context(), "f", NoImage, func(Image) error { return nil }))
			must(t, w.PutBack(t.Context(), "f", Image{Mode: 0o644, Text: []byte("one\n"), Size: 4}, func(Image) error { return nil }))
			if got := onDisk(t, h.path); got != "one\n" || h.text != "one\n" {
				t.Errorf("put back: the disk has %q, the editor %q", got, h.text)
			}
		})
	}
}

// deaf is an editor that only confirms edits.
type deaf struct{ *host }

func (deaf) Replace(context.Context, Document, []byte) error { return nil }

// TestEditThatDidNotArrive: an edit missing in the editor and on disk is a failure, and a failed
// save is reported.
func TestEditThatDidNotArrive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w0, dir := open(t, map[string]string{"f": "one\n"}, nil)
		must(t, w0.Close())
		path := filepath.Join(dir, "f")
		h := &host{path: path, text: "one\n", saved: "one\n", version: 1, acp: true}
		if _, err := openDirs(t, deaf{h}, dir).Edit(t.Context(), "f", replace("one", "ONE")); err == nil || !strings.Contains(err.Error(), "neither the editor nor the disk") {
			t.Errorf("err = %v", err)
		}
		plugin := unsaving{&host{path: path, text: "one\n", saved: "one\n", version: 1, saves: true}}
		w := openDirs(t, plugin, dir)
		written, err := w.Edit(t.Context(), "f", replace("one", "ONE"))
		if err != nil || !strings.Contains(written.Note, "not saved (no space): the disk has the old text") {
			t.Errorf("%+v, %v", written, err)
		}
		if got := w.UnsavedEdits(t.Context()); len(got) != 1 || got[0] != "f" {
			t.Errorf("unsaved: %q", got)
		}
		broken := truncating{&host{path: path, text: "one\n", saved: "one\n", version: 1, saves: true}}
		written, err = openDirs(t, broken, dir).Edit(t.Context(), "f", replace("one", "ONE"))
		if err != nil || !strings.Contains(written.Note, "not saved (no space): the disk has neither the old text nor the new one") {
			t.Errorf("%+v, %v", written, err)
		}
		must(t, os.WriteFile(path, []byte("one\n"), 0o644))
		plugin.set("one\n")
		err = w.PutBack(t.Context(), "f", Image{Mode: 0o644, Text: []byte("zero\n"), Size: 5}, func(Image) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "not saved (no space): the disk has the old text") {
			t.Errorf("a restore: %v", err)
		}
		plugin.set("ONE\n")
		w.SetSaving(Saving{})
		if written, err = w.Edit(t.Context(), "f", replace("ONE", "two")); err != nil || written.Note != "" || onDisk(t, path) != "one\n" {
			t.Errorf("with files.save: false: %+v, %v", written, err)
		}
	})
}

// late is an editor that reloads a document at an edit, refuses the edit, and reports the change after a
// delay.
type late struct {
	*host
	told time.Time // when it reports the new text
	was  Document
}

func (l *late) Get(ctx context.Context, path string) (Document, bool, error) {
	if time.Now().Before(l.told) && path == l.path {
		return l.was, true, nil
	}
	return l.host.Get(ctx, path)
}

func (l *late) Replace(ctx context.Context, doc Document, text []byte) error {
	if onDisk, err := os.ReadFile(l.path); err == nil && string(onDisk) != l.text {
		l.was, l.told = doc, time.Now().Add(2*time.Second)
		l.reload()
	}
	if doc.Version != l.version {
		return &EditRefused{"the buffer has changed"}
	}
	return l.host.Replace(ctx, doc, text)
}

// TestChangeIsReportedLate: an editor refuses an edit because it has just reloaded the file, and
// reports the change late. The edit is made in the reloaded text.
func TestChangeIsReportedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w0, dir := open(t, map[string]string{"f": "one\n"}, nil)
		must(t, w0.Close())
		l := &late{host: &host{path: filepath.Join(dir, "f"), text: "one\n", saved: "one\n", version: 1, saves: true}}
		w := openDirs(t, l, dir)
		w.SetSaving(Saving{Save: true})
		l.tell()
		l.texts.waited(false) // the editor does not reload files by itself
		must(t, os.WriteFile(l.path, []byte("one\ntwo\n"), 0o644))
		if _, err := w.Edit(t.Context(), "f", replace("two", "TWO")); err != nil || onDisk(t, l.path) != "one\nTWO\n" {
			t.Errorf("the disk has %q: %v", onDisk(t, l.path), err)
		}
		must(t, os.WriteFile(l.path, []byte("three\n"), 0o644))
		_, err := w.Read(t.Context(), "f")
		must(t, err)
		if _, err := w.Write(t.Context(), "f", []byte("four\n")); err != nil || onDisk(t, l.path) != "four\n" {
			t.Errorf("the disk has %q: %v", onDisk(t, l.path), err)
		}
		must(t, os.WriteFile(l.path, []byte("five\n"), 0o644))
		err = w.PutBack(t.Context(), "f", Image{Mode: 0o644, Text: []byte("one\n"), Size: 4}, func(Image) error { return nil })
		if err != nil || onDisk(t, l.path) != "one\n" {
			t.Errorf("the disk has %q: %v", onDisk(t, l.path), err)
		}
	})
}

// unsaving is an editor whose saves fail.
type unsaving struct{ *host }

func (u unsaving) Replace(_ context.Context, _ Document, text []byte) error {
	u.set(string(text))
	return nil
}

func (unsaving) SaveFailure(string) (string, bool) { return "no space", true }

// truncating is an editor whose failed saves destroy the file.
type truncating struct{ *host }

func (e truncating) Replace(_ context.Context, _ Document, text []byte) error {
	e.set(string(text))
	return os.Truncate(e.path, 0)
}

func (truncating) SaveFailure(string) (string, bool) { return "no space", true }

// TestPutBackSaves: an editor with our plugin saves the restored text of a document without unsaved
// changes, and only there. Without a plugin, files.open: disk puts it on disk, where the editor
// reloads it.
func TestPutBackSaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, disk string
		saving           Saving
		bare             bool
		want             string // in the editor
	}{
		{"saved", "two\n", "one\n", Saving{Save: true}, false, "one\n"},
		{"unsaved changes", "typed\n", "two\n", Saving{Save: true}, false, "one\n"},
		{"files.save: false", "two\n", "two\n", Saving{}, false, "one\n"},
		{"files.open: buffer", "two\n", "two\n", Saving{Save: true}, true, "one\n"},
		{"files.open: disk", "two\n", "one\n", Saving{Save: true, Disk: true}, true, "two\n"},
		{"files.open: disk, unsaved changes", "typed\n", "two\n", Saving{Save: true, Disk: true}, true, "one\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w0, dir := open(t, map[string]string{"f": "two\n"}, nil)
			must(t, w0.Close())
			path := filepath.Join(dir, "f")
			h := &host{path: path, text: c.text, saved: "two\n", version: 1, saves: !c.bare}
			h.texts.Observe(path, []byte("two\n"))
			w := openDirs(t, h, dir)
			w.SetSaving(c.saving)
			must(t, w.PutBack(t.Context(), "f", Image{Mode: 0o644, Text: []byte("one\n"), Size: 4}, func(Image) error { return nil }))
			if got := onDisk(t, path); got != c.disk || h.text != c.want {
				t.Errorf("on disk %q, in the editor %q", got, h.text)
			}
		})
	}
}
