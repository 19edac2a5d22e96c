package skills

import (
	"encoding/json"
	"errors"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A skill is installed from git, pinned, and never replaced after the user has edited it. Unknown fields of the lock file stay.
func TestInstall(t *testing.T) {
	t.Parallel()
	home, repo := t.TempDir(), t.TempDir()
	ran := filepath.Join(t.TempDir(), "ran")
	write(t, repo, "skills/pdf/SKILL.md", skillText("pdf", "Reads PDF files."))
	write(t, repo, "skills/pdf/scripts/read.py", "print(1)\n")
	write(t, repo, "skills/bad/SKILL.md", skillText("bad", "Is hidden.")+"a\u200bb\n")
	write(t, repo, ".gitattributes", "* filter=evil\n")
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	git("config", "filter.evil.smudge", "touch "+ran)
	write(t, home, "skills/.hub/lock.json", `{"version": 1, "other": {"a": 1}, "installed": {"theirs": {"source": "github", "install_path": "theirs", "odd": true}}}`)
	if _, err := Fetch(t.Context(), home, At("file://"+repo), ""); err == nil || !strings.Contains(err.Error(), "there are 2 skills; name the path of one: skills/bad, skills/pdf") {
		t.Fatalf("a repository with two skills: %v", err)
	}
	c, err := Fetch(t.Context(), home, At(filepath.Join(repo, "skills/pdf")), "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Install(t.Context(), home, "pdf", c)
	if err != nil || len(c.Files) != 2 || len(c.Findings) != 0 {
		t.Fatal(c, err)
	}
	c.Discard()
	if left, _ := os.ReadDir(filepath.Join(home, "skills/.hub/quarantine")); len(left) != 0 {
		t.Errorf("the quarantine has %v", left)
	}
	bad, err := Fetch(t.Context(), home, At(filepath.Join(repo, "skills/bad")), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), home, "bad", bad); err == nil || !strings.Contains(err.Error(), "invisible characters") {
		t.Errorf("a blocked skill: %v", err)
	}
	bad.Discard()
	git("rm", "-rq", "skills/bad")
	git("commit", "-qm", "y")
	git("branch", "stable")
	c, err = Fetch(t.Context(), home, At("file://"+repo), "stable")
	if err != nil {
		t.Fatal(err)
	}
	if c.Commit != git("rev-parse", "HEAD") || c.Name != "pdf" {
		t.Errorf("fetched %+v", c)
	}
	if _, err := Install(t.Context(), home, "pdf", c); err != nil {
		t.Errorf("an unedited skill is not replaced: %v", err)
	}
	c.Discard()
	write(t, dir, "SKILL.md", skillText("pdf", "Edited."))
	c, err = Fetch(t.Context(), home, At("file://"+repo), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	if _, err := Install(t.Context(), home, "pdf", c); !errors.Is(err, ErrEdited) {
		t.Errorf("an edited skill is replaced: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(home, "skills/.hub/lock.json"))
	var lock struct {
		Version   int
		Other     map[string]int
		Installed map[string]map[string]any
	}
	if err != nil || json.Unmarshal(data, &lock) != nil {
		t.Fatal(string(data), err)
	}
	pdf := lock.Installed["pdf"]
	if lock.Version != 1 || lock.Other["a"] != 1 || lock.Installed["theirs"]["odd"] != true || len(pdf["content_hash"].(string)) != len("sha256:")+16 || pdf["metadata"].(map[string]any)["commit"] != git("rev-parse", "HEAD") {
		t.Errorf("the lock file has %s", data)
	}
	installed, err := Installed(home)
	if err != nil || installed["pdf"].Ref() != "stable" || installed["theirs"].Ref() != "" {
		t.Errorf("refs: %+v, %v", installed, err)
	}
	if err := Uninstall(t.Context(), home, "pdf"); err != nil {
		t.Error(err)
	}
	hash := installed["pdf"].ContentHash
	log, err := os.ReadFile(filepath.Join(home, "skills/.hub/audit.log"))
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if err != nil || len(lines) != 3 || !strings.HasSuffix(lines[0], " INSTALL pdf directory:community safe "+hash) ||
		!strings.HasSuffix(lines[1], " UPDATE pdf git:community safe "+hash) || !strings.HasSuffix(lines[2], " UNINSTALL pdf git:community safe "+hash) {
		t.Errorf("audit.log has %q, %v", log, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("still there")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a filter ran")
	}
}

// Unknown fields of taps.json stay.
func TestTapsOfHermes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, "skills/.hub/taps.json", `{"version": 2, "taps": [{"repo": "a/b", "path": "skills/", "trust": "high"}]}`)
	if err := ChangeTaps(t.Context(), home, func(all []Tap) ([]Tap, error) { return append(all, Tap{Repo: "c/d"}), nil }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(home, "skills/.hub/taps.json"))
	var got any
	if err != nil || json.Unmarshal(data, &got) != nil {
		t.Fatal(string(data), err)
	}
	text, _ := json.Marshal(got)
	if want := `{"taps":[{"path":"skills/","repo":"a/b","trust":"high"},{"path":"","repo":"c/d"}],"version":2}`; string(text) != want {
		t.Errorf("taps.json has %s, want %s", text, want)
	}
}

// git fetches a skill over https, from git's HTTP server.
func TestInstallFromHTTPS(t *testing.T) {
	t.Parallel()
	repos := t.TempDir()
	repo := filepath.Join(repos, "repo.git")
	write(t, repo, "skills/pdf/SKILL.md", skillText("pdf", "Reads PDF files."))
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	first := git("rev-parse", "HEAD")
	git("config", "uploadpack.allowAnySHA1InWant", "true")
	write(t, repo, "skills/pdf/SKILL.md", skillText("pdf", "Reads PDF files, better."))
	git("commit", "-qam", "y")
	backend := &cgi.Handler{Path: filepath.Join(git("--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + repos, "GIT_HTTP_EXPORT_ALL=1"}, Root: "/"}
	web.set("/git", backend.ServeHTTP)
	for ref, want := range map[string]string{"": "Reads PDF files, better.", first: "Reads PDF files."} {
		c, err := Fetch(t.Context(), t.TempDir(), At(web.URL+"/git/repo.git/.git#pdf"), ref)
		if err != nil {
			t.Fatal(err)
		}
		if c.Skill.Description != want || ref != "" && c.Commit != first || len(c.Commit) != 40 {
			t.Errorf("at %q: %q, commit %s", ref, c.Skill.Description, c.Commit)
		}
		c.Discard()
	}
	if _, err := Fetch(t.Context(), t.TempDir(), At(web.URL+"/git/none.git"), ""); err == nil || !strings.Contains(err.Error(), "git fetch failed") {
		t.Errorf("a repository that is not there: %v", err)
	}
}
