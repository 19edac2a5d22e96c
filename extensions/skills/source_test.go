package skills

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A directory is a source only where the user names it. The address of a lock file never means a directory of the place where
// the user is.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "acme/pdf/SKILL.md", skillText("pdf", "Is here."))
	here := filepath.Join(dir, "acme", "pdf")
	if s, err := Locate("acme/pdf", false); err != nil || s != (Source{Kind: directory, Address: here}) {
		t.Errorf("with a question: %+v, %v", s, err)
	}
	if s, err := Locate("./acme/pdf", true); err != nil || s != (Source{Kind: directory, Address: here}) {
		t.Errorf("a path: %+v, %v", s, err)
	}
	if _, err := Locate("acme/pdf", true); err == nil || !strings.Contains(err.Error(), "Write ./acme/pdf") {
		t.Errorf("without a question: %v", err)
	}
	if _, err := Locate("./none", false); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("a path that is not there: %v", err)
	}
	if s, err := Stored("git", "acme/pdf"); err != nil || s != (Source{Kind: "git", Address: "acme/pdf"}) {
		t.Errorf("from a lock file: %+v, %v", s, err)
	}
	for kind, address := range map[string]string{directory: "acme/pdf", "official": "official/security/pass"} {
		if s, err := Stored(kind, address); err == nil {
			t.Errorf("%s %s is %+v", kind, address, s)
		}
	}
	for address, want := range map[string]string{
		"https://user:pass@x.example/a/SKILL.md?token=1": "https://x.example/a/SKILL.md", "well-known:https://x.example?key=1#pdf": "well-known:https://x.example#pdf",
		"acme/pdf@v1": "acme/pdf@v1", "git@github.com:a/b": "git@github.com:a/b",
	} {
		if got := WithoutSecrets(address); got != want {
			t.Errorf("%s is written as %s, want %s", address, got, want)
		}
	}
}

// A linked directory is a skill. A link that leaves its repository is not.
func TestLinkedSkill(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	write(t, dir, "real/SKILL.md", skillText("real", "Is linked."))
	write(t, dir, "clone/x", "")
	for name, target := range map[string]string{"link": filepath.Join(dir, "real"), "clone/out": filepath.Join(dir, "real")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Fetch(t.Context(), home, At(filepath.Join(dir, "link")), "")
	if err != nil || len(c.Files) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	c.Discard()
	if _, err := skillDir(filepath.Join(dir, "clone"), "out"); err == nil || !strings.Contains(err.Error(), "leaves the repository") {
		t.Errorf("a link in a repository: %v", err)
	}
}

// If the lock file cannot be written, the skills stay unchanged. A lock file with null contains no
// skills.
func TestLockFileFails(t *testing.T) {
	t.Parallel()
	home, from := t.TempDir(), t.TempDir()
	write(t, home, "skills/.hub/lock.json", `{"installed": null}`)
	install := func(text string) error {
		write(t, from, "one/SKILL.md", skillText("one", text))
		c, err := Fetch(t.Context(), home, At(filepath.Join(from, "one")), "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Discard()
		_, err = Install(t.Context(), home, "one", c)
		return err
	}
	if err := install("The first."); err != nil {
		t.Fatal(err)
	}
	x := exchange{dir: filepath.Join(home, "skills", "one"), fresh: filepath.Join(from, "one"), old: filepath.Join(home, "old")}
	write(t, from, "one/SKILL.md", skillText("one", "The second."))
	fails := errors.New("no space")
	err := changeLock(t.Context(), home, func(all map[string]Entry) error {
		all["one"] = Entry{Metadata: map[string]any{"x": func() {}}} // cannot be written
		return x.do()
	}, x.undo)
	if err == nil {
		t.Fatal("written")
	}
	data, readErr := os.ReadFile(filepath.Join(home, "skills", "one", "SKILL.md"))
	if all, err := Installed(home); err != nil || readErr != nil || !strings.Contains(string(data), "The first.") || all["one"].InstallPath != "one" {
		t.Errorf("%v: %s, %v, %v", fails, data, readErr, all)
	}
}

// A link, an empty directory or a missing directory in an installed skill was made by the user.
func TestUnedited(t *testing.T) {
	t.Parallel()
	home, from := t.TempDir(), t.TempDir()
	write(t, from, "one/SKILL.md", skillText("one", "Text."))
	c, err := Fetch(t.Context(), home, At(filepath.Join(from, "one")), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	dir, err := Install(t.Context(), home, "one", c)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Installed(home)
	if err != nil || Unedited(home, all["one"]) != nil {
		t.Fatal(all, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Unedited(home, all["one"]); !errors.Is(err, ErrEdited) {
		t.Errorf("with a directory: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := Unedited(home, all["one"]); !errors.Is(err, ErrGone) {
		t.Errorf("without a directory: %v", err)
	}
}

// A later command removes a killed command's files from quarantine.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 2 * abandoned, "new": 0} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(path, 0o755), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Quarantine(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("the old one is there")
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
}
