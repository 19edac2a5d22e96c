package skills

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A skill is fetched from a server: its SKILL.md, or a skill in the server's index. Files outside
// of the skill and redirects to an address without TLS are rejected.
func TestFetchFromServer(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/a/pdf/SKILL.md":                      skillText("pdf", "Reads PDF files."),
		"/.well-known/skills/index.json":       `{"skills":[{"name":"pdf","description":"x","files":["SKILL.md","scripts/a.py"]},{"name":"out","files":["SKILL.md","../x"]},{"name":"gone","files":["SKILL.md"]}]}`,
		"/.well-known/skills/pdf/SKILL.md":     skillText("pdf", "Reads PDF files."),
		"/.well-known/skills/out/SKILL.md":     skillText("out", "Leaves."),
		"/.well-known/skills/pdf/scripts/a.py": "print(1)\n",
		"/big/SKILL.md":                        strings.Repeat("x", largestSkill+1),
	}
	web.set("/hub", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/plain/SKILL.md" {
			http.Redirect(w, r, "http://127.0.0.1:1/SKILL.md", http.StatusFound)
			return
		}
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	})
	base := web.URL + "/hub"
	for _, c := range []struct {
		from, source, fails string
		files               int
	}{
		{base + "/a/pdf/SKILL.md", "url", "", 1},
		{"well-known:" + base + "#pdf", "well-known", "", 2},
		{"well-known:" + base + "/.well-known/skills/index.json#pdf", "well-known", "", 2},
		{"well-known:" + base, "", "there are 3 skills; name one by #NAME: pdf, out, gone", 0},
		{"well-known:" + base + "#none", "", `has no skill "none"`, 0},
		{"well-known:" + base + "#out", "", `the path "../x" leaves the skill`, 0},
		{"well-known:" + base + "#gone", "", "404", 0},
		{base + "/big/SKILL.md", "", "more than", 0},
		{base + "/plain/SKILL.md", "", "is not followed", 0},
		{"well-known:http://127.0.0.1:1", "", "is not an https address", 0},
	} {
		home := t.TempDir()
		got, err := Fetch(t.Context(), home, At(c.from), "")
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.from, err, c.fails)
			}
			if left, _ := os.ReadDir(filepath.Join(home, "skills/.hub/quarantine")); len(left) != 0 {
				t.Errorf("%s leaves %v in quarantine", c.from, left)
			}
			continue
		}
		if err != nil || got.Name != "pdf" || got.Source != c.source || len(got.Files) != c.files {
			t.Errorf("%s: %+v %v", c.from, got, err)
			continue
		}
		if _, err := Install(t.Context(), home, "pdf", got); err != nil {
			t.Error(err)
		}
		got.Discard()
	}
}

// Skills of a tap are found and can be installed by their source. A published skill is on a branch of the repository.
func TestTap(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", work, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write(t, work, "skills/pdf/SKILL.md", skillText("pdf", "Reads PDF files."))
	write(t, work, "skills/tar/SKILL.md", skillText("tar", "Packs archives."))
	write(t, work, ".claude-plugin/marketplace.json", `{"plugins":[{"name":"far","description":"Reads far files.","source":{"source":"github","repo":"a/far"}},{"name":"near","source":"./skills"}]}`)
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	repo := "file://" + work
	add := func(all []Tap) ([]Tap, error) { return append(all, Tap{Repo: repo, Path: "skills"}), nil }
	if err := ChangeTaps(t.Context(), home, add); err != nil {
		t.Fatal(err)
	}
	taps, err := Taps(home)
	if err != nil || len(taps) != 1 {
		t.Fatal(taps, err)
	}
	found, err := taps[0].Search(t.Context(), home, "reads")
	if err != nil || len(found) != 2 || found[0].Source != repo+"#skills/pdf" || found[1].Source != "a/far" {
		t.Fatal(found, err)
	}
	c, err := Fetch(t.Context(), home, At(found[0].Source), "")
	if err != nil || c.Name != "pdf" || c.Source != "git" || c.Commit != git("rev-parse", "HEAD") {
		t.Fatal(c, err)
	}
	c.Discard()
	mine := filepath.Join(t.TempDir(), "mine")
	write(t, mine, "SKILL.md", skillText("mine", "Is mine."))
	branch, err := Publish(t.Context(), home, mine, "mine", repo)
	if err != nil || branch != "add-skill-mine" || !strings.Contains(git("ls-tree", "-r", "--name-only", branch), "skills/mine/SKILL.md") {
		t.Error(branch, err)
	}
	if _, err := Publish(t.Context(), home, mine, "mine", repo); err == nil || !strings.Contains(err.Error(), "has this version") {
		t.Errorf("published again: %v", err)
	}
	write(t, mine, "more.md", "x")
	if _, err := Publish(t.Context(), home, mine, "mine", repo); err != nil || !strings.Contains(git("ls-tree", "-r", "--name-only", branch), "skills/mine/more.md") {
		t.Errorf("a second version: %v", err)
	}
	victim := t.TempDir()
	write(t, victim, "mine/keep", "x")
	git("rm", "-rq", "skills")
	if err := os.Symlink(victim, filepath.Join(work, "skills")); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "y")
	git("branch", "-D", branch)
	if _, err := Publish(t.Context(), home, mine, "mine", repo); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("published through a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(victim, "mine", "keep")); err != nil {
		t.Errorf("a file outside of the clone: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "skills/.hub/quarantine")); len(left) != 0 {
		t.Errorf("the quarantine has %v", left)
	}
}

// Each directory of a relative folder is listed once if the folder is its git root.
func TestOfferedDirsOfRelativeFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".claude/commands/c.md", "x")
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(dir)
	if got := OfferedDirs(".", []string{".claude/commands"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
