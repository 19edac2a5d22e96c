package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

const mounted = "WORKSPACE_TEST_MOUNTED"

// inMountNamespace runs the test again where it may mount, and reports whether this is there.
func inMountNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mounted) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mounted+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		testneed.Missing(t, "user namespaces")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// bind mounts a new file with text at path.
func bind(t *testing.T, path, text string, readOnly bool) {
	t.Helper()
	outer := filepath.Join(t.TempDir(), "outer")
	must(t, os.WriteFile(outer, []byte(text), 0o644))
	must(t, os.WriteFile(path, nil, 0o644))
	must(t, syscall.Mount(outer, path, "", syscall.MS_BIND, ""))
	if readOnly {
		must(t, syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

// A file mounted by a container cannot be replaced. It is written in place.
func TestWriteMountPoint(t *testing.T) {
	t.Parallel()
	if !inMountNamespace(t) {
		return
	}
	dir, notes := tempDir(t), t.TempDir()
	path := filepath.Join(dir, "cfg.txt")
	bind(t, path, "one\ntwo\n", false)
	bind(t, filepath.Join(dir, "fixed.txt"), "fixed\n", true)
	w, err := openNoting(dir, notes)
	must(t, err)
	defer w.Close()
	ctx := t.Context()
	same := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("text %q, %v; want %q", text, err, want)
		}
		if left := temps(dir); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	before, err := w.LookOnDisk(ctx, "cfg.txt")
	must(t, err)
	_, err = w.Edit(ctx, "cfg.txt", func(old []byte) ([]byte, error) { return bytes.ToUpper(old), nil })
	must(t, err)
	same("ONE\nTWO\n")
	_, err = w.Write(ctx, "cfg.txt", []byte("short"))
	must(t, err)
	same("short")
	_, err = w.Batch(ctx, []Action{{Path: "cfg.txt", Change: func([]byte) ([]byte, error) { return []byte("batch\n"), nil }}, {Path: "new.txt", Text: []byte("new")}})
	must(t, err)
	same("batch\n")
	must(t, w.PutBack(ctx, "cfg.txt", before, func(Image) error { return nil }))
	same("one\ntwo\n")

	_, err = w.Read(ctx, "cfg.txt")
	must(t, err)
	for what, try := range map[string]error{
		"remove": w.Remove(ctx, "cfg.txt"),
		"rename": w.Rename(ctx, "cfg.txt", "other.txt"),
	} {
		if try == nil || !strings.Contains(try.Error(), "cfg.txt is a mount point") {
			t.Errorf("%s: %v", what, try)
		}
	}
	if _, err := w.Batch(ctx, []Action{{Path: "new.txt", Change: func([]byte) ([]byte, error) { return []byte("changed"), nil }}, {Path: "cfg.txt", Remove: true}}); err == nil || !strings.Contains(err.Error(), "mount point") {
		t.Errorf("batch that removes it: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "new.txt")); string(text) != "new" {
		t.Errorf("the batch that failed changed new.txt to %q", text)
	}
	same("one\ntwo\n")
	if _, err := w.Write(ctx, "fixed.txt", []byte("other")); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("write to a read-only mount: %v", err)
	}
	if left, _ := os.ReadDir(textsIn(notes)); len(left) > 0 {
		t.Errorf("texts are left: %v", left)
	}

	folder, err := safefile.OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	must(t, folder.Write("cfg.txt", []byte("by folder\n"), 0o600))
	same("by folder\n")
	if err := folder.Write("fixed.txt", []byte("x"), 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a folder's write to a read-only mount: %v", err)
	}
	must(t, safefile.Save(path, []byte("saved\n"), 0o600))
	same("saved\n")
}

// A read-only folder with a writable file in it, as in containers.
func TestWriteInReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if !inMountNamespace(t) {
		return
	}
	dir := tempDir(t)
	path := filepath.Join(dir, "data.txt")
	bind(t, path, "one\n", false)
	must(t, syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REC, ""))
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	w, err := Open([]string{dir}, nil)
	must(t, err)
	defer w.Close()
	_, err = w.Write(t.Context(), "data.txt", []byte("two\n"))
	must(t, err)
	if text, err := os.ReadFile(path); err != nil || string(text) != "two\n" {
		t.Errorf("text %q, %v", text, err)
	}
	must(t, safefile.Save(path, []byte("three\n"), 0o600))
	if text, err := os.ReadFile(path); err != nil || string(text) != "three\n" {
		t.Errorf("text %q, %v", text, err)
	}
	if _, err := w.Write(t.Context(), "new.txt", []byte("x")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("new file: %v", err)
	}
}

// A file with another name elsewhere is not written in place: nothing may change under the other
// name.
func TestInPlaceKeepsOtherNames(t *testing.T) {
	t.Parallel()
	if !inMountNamespace(t) {
		return
	}
	dir, notes := tempDir(t), t.TempDir()
	path := filepath.Join(dir, "notes.txt")
	bind(t, path, "one\n", false)
	w, err := openNoting(dir, notes)
	must(t, err)
	defer w.Close()
	ctx := t.Context()
	before, err := w.LookOnDisk(ctx, "notes.txt")
	must(t, err)
	before.Text, before.Mode = []byte("image\n"), 0o777
	outer := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outer, "protected"), []byte("one\n"), 0o644))
	must(t, os.Link(filepath.Join(outer, "protected"), filepath.Join(outer, "other")))
	must(t, syscall.Mount(filepath.Join(outer, "other"), path, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })

	folder, err := safefile.OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	_, edit := w.Edit(ctx, "notes.txt", func([]byte) ([]byte, error) { return []byte("edit\n"), nil })
	_, batch := w.Batch(ctx, []Action{{Path: "notes.txt", Change: func([]byte) ([]byte, error) { return []byte("batch\n"), nil }}})
	for what, err := range map[string]error{
		"edit": edit, "batch": batch,
		"image":  w.PutBack(ctx, "notes.txt", before, func(Image) error { return nil }),
		"folder": folder.Write("notes.txt", []byte("folder\n"), 0o600),
		"save":   safefile.Save(path, []byte("saved\n"), 0o600),
	} {
		if !errors.Is(err, safefile.ErrNames) {
			t.Errorf("%s: %v", what, err)
		}
	}
	info, err := os.Stat(filepath.Join(outer, "protected"))
	must(t, err)
	if text, err := os.ReadFile(filepath.Join(outer, "protected")); err != nil || string(text) != "one\n" || info.Mode().Perm() != 0o644 {
		t.Errorf("text %q, mode %v, %v", text, info.Mode(), err)
	}
	if left := temps(dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// After a kill, a text is not completed through a link in place of its folder, nor in a file with
// another name.
func TestSweepFollowsNoLink(t *testing.T) {
	t.Parallel()
	const old, text, half = "0123456789\n", "abc\n", "abc\n456789\n"
	for name, swap := range map[string]func(dir string) error{
		"folder": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "sub")), os.Symlink("protected", filepath.Join(dir, "sub")))
		},
		"file": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "sub/f")), os.Symlink("../protected/f", filepath.Join(dir, "sub/f")))
		},
		"name": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "sub/f")), os.Link(filepath.Join(dir, "protected/f"), filepath.Join(dir, "sub/f")))
		},
	} {
		dir, notes := tempDir(t), t.TempDir()
		writeFiles(t, dir, map[string]string{"sub/f": old, "protected/f": half})
		w, err := openNoting(dir, notes)
		must(t, err)
		p, err := w.locate("sub/f")
		must(t, err)
		_, err = w.keepTexts(p, []byte(old), []byte(text))
		must(t, err)
		must(t, swap(dir))
		filelock.Release(w.file) // as a kill does; a child of another test may have a copy of the file
		Sweep(notes)
		if got, err := os.ReadFile(filepath.Join(dir, "protected/f")); err != nil || string(got) != half {
			t.Errorf("%s: the other file became %q, %v", name, got, err)
		}
		w.file = nil
		w.Close()
	}
}

// A file moves to another mount of the workspace.
func TestMoveToOtherMount(t *testing.T) {
	t.Parallel()
	if !inMountNamespace(t) {
		return
	}
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a.txt": "text", "volume/x": ""})
	must(t, syscall.Mount("tmpfs", filepath.Join(dir, "volume"), "tmpfs", 0, ""))
	t.Cleanup(func() { _ = syscall.Unmount(filepath.Join(dir, "volume"), syscall.MNT_DETACH) })
	w, err := Open([]string{dir}, nil)
	must(t, err)
	defer w.Close()
	must(t, w.Rename(t.Context(), "a.txt", "volume/b.txt"))
	if text, err := os.ReadFile(filepath.Join(dir, "volume/b.txt")); err != nil || string(text) != "text" {
		t.Errorf("text %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old file is there still")
	}
}

// A process killed during a write in place leaves a part of the new text. The next process
// completes it, but leaves a file changed since.
func TestSweepCompletesTextInPlace(t *testing.T) {
	t.Parallel()
	const old, text = "0123456789\n", "abc\n"
	for now, want := range map[string]string{
		old: old, text: text, "a123456789\n": text, "abc\n456789\n": text,
		"a12345678\n": "a12345678\n", "something else": "something else", "": "",
	} {
		dir, notes := tempDir(t), t.TempDir()
		writeFiles(t, dir, map[string]string{"f": old})
		w, err := openNoting(dir, notes)
		must(t, err)
		p, err := w.locate("f")
		must(t, err)
		_, err = w.keepTexts(p, []byte(old), []byte(text))
		must(t, err)
		writeFiles(t, dir, map[string]string{"f": now})
		filelock.Release(w.file) // as a kill does; a child of another test may have a copy of the file
		Sweep(notes)
		if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v; want %q", now, got, err, want)
		}
		if left, _ := os.ReadDir(textsIn(notes)); len(left) > 0 {
			t.Errorf("%q: texts are left: %v", now, left)
		}
		w.file = nil
		w.Close()
	}
}
