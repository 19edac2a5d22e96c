package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// Each mechanism has the text of its gaps, and no other text.
func TestGaps(t *testing.T) {
	t.Parallel()
	on, off := Policy{Mode: WorkspaceWrite, Network: true}, Policy{Mode: WorkspaceWrite}
	best := Mechanism{Kind: Namespaces, Processes: true, NoNetwork: true, Scoped: true}
	for _, tt := range []struct {
		name string
		m    Mechanism
		p    Policy
		want []string // words in each gap
	}{
		{"all of it", best, on, nil},
		{"all of it, no network", best, off, nil},
		{"switched off", best, Policy{Mode: Off, Network: true}, nil},
		{"switched off, no network", best, Policy{Mode: Off}, []string{"so is the sandbox"}},
		{"nothing", Mechanism{Kind: None, Reason: "no luck"}, off, []string{"no luck"}},
		{"no processes", Mechanism{Kind: Namespaces, NoNetwork: true, Scoped: true}, on, []string{"processes"}},
		{"not scoped", Mechanism{Kind: Bubblewrap, Processes: true, NoNetwork: true}, on, []string{"links to git's settings", "abstract"}},
		{"not scoped, no network", Mechanism{Kind: Bubblewrap, Processes: true, NoNetwork: true}, off, []string{"links to git's settings"}},
		{"landlock", Mechanism{Kind: Landlock}, off, []string{"hooks, .vscode", "sandbox.network"}},
	} {
		got := tt.m.Gaps(tt.p)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q", tt.name, got)
			continue
		}
		for i, word := range tt.want {
			if !strings.Contains(got[i], word) {
				t.Errorf("%s: %q, want %q in it", tt.name, got[i], word)
			}
		}
	}
}

// The profile is built on every system, so the test runs on every system.
func TestProfile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("its paths are none for macOS")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := Policy{
		Mode: WorkspaceWrite, Roots: []string{at(`ro"ot`)}, Writable: []string{at("cache")}, Unreadable: []string{at(".ssh"), at("cache/secret")},
		Visible: []string{at(".ssh/shown")}, ReadOnly: []string{at(`ro"ot/.git/hooks`), filepath.Join(dir, "missing")}, Pinned: []string{at(`ro"ot/.git`)},
	}
	got := profile(p)
	order := []string{
		"(deny file-write*)\n", `(deny file-read* (subpath "` + dir + `/.ssh"))`, `(allow file-read* (subpath "` + dir + `/.ssh/shown"))`,
		`(allow file-read* file-write* (subpath "` + dir + `/ro\"ot"))`, `(deny file-read* file-write* (subpath "` + dir + `/cache/secret"))`,
		`(deny file-write* (subpath "` + dir + `/ro\"ot/.git/hooks"))`, `(deny file-write-unlink (literal "` + dir + `/ro\"ot/.git"))`, "(deny network*)",
	}
	last := -1
	for _, rule := range order {
		i := strings.Index(got, rule)
		if i <= last {
			t.Errorf("%s: not there, or too early, in\n%s", rule, got)
		}
		last = i
	}
	if strings.Contains(got, "missing") || strings.Count(got, "(") != strings.Count(got, ")") {
		t.Error(got)
	}
	p.view = &homeView{home: dir, files: []settingsFile{{path: at("clean")}, {path: at("dirty"), dirty: true}}}
	got, last = profile(p), -1
	for _, rule := range []string{
		`(deny file-read* (subpath "` + dir + `"))`, `(allow file-read* (subpath "` + dir + `/clean"))`, `(deny file-read* (subpath "` + dir + `/dirty"))`,
		`(allow file-read* file-write* (subpath "` + dir + `/ro\"ot"))`, "(allow network* (remote unix-socket))", `(deny network-outbound (subpath "` + dir + `"))`,
		`(allow network-outbound (subpath "` + dir + `/ro\"ot"))`,
	} {
		i := strings.Index(got, rule)
		if i <= last {
			t.Errorf("%s: not there, or too early, in\n%s", rule, got)
		}
		last = i
	}
	p.Mode, p.Network, p.view = ReadOnly, true, nil
	if got := profile(p); strings.Contains(got, `allow file-read* file-write* (subpath "`+dir+`/ro`) || strings.Contains(got, "network") {
		t.Error(got)
	}
}

// Caches hold neither programs nor settings.
func TestCaches(t *testing.T) {
	t.Parallel()
	home, elsewhere := t.TempDir(), t.TempDir()
	for _, name := range []string{"go/pkg", "go/bin", ".cargo/registry", ".cargo/bin"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	paths, made := writableCaches(home, []string{"GOCACHE=" + elsewhere, "XDG_CACHE_HOME=" + home, "CCACHE_DIR=relative"})
	got := strings.Join(paths, "\n")
	for name, want := range map[string]bool{
		home + "/go/pkg": true, home + "/.cargo/registry": true, home + "/.cache": true, elsewhere: true,
		home + "/go/bin": false, home + "/.cargo/bin": false, "relative": false,
	} {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		if strings.Contains(got+"\n", name+"\n") != want {
			t.Errorf("%s: %v in\n%s", name, !want, got)
		}
	}
	for line := range strings.Lines(got) {
		if strings.TrimSpace(line) == home {
			t.Error("the whole home is a cache")
		}
	}
	used := filepath.Join(home, ".cache", "tool")
	if err := os.Mkdir(used, 0o700); err != nil {
		t.Fatal(err)
	}
	made = append(made, makeFolders(filepath.Join(home, "a", "b", "c"))...)
	removeUnused(made)
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v: left %v, want .cache (used), .cargo and go (not ours)", err, entries)
	}
}

func TestNilBox(t *testing.T) {
	t.Parallel()
	var b *Box
	if err := b.Confine(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if watching(b) != nil || b.Explain("Read-only file system", true) != "" || b.With(Opening{}) != nil {
		t.Error("nothing is not nothing")
	}
	b.Close()
}

// Nor is a disk without room: commands do not run then, instead of without a sandbox.
func TestNoFolderForTemporaryFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("TMPDIR names no folder there")
	}
	onHost.Lock()
	before := onHost.mechanism
	onHost.mechanism = nil
	onHost.Unlock()
	defer func() { onHost.mechanism = before }()
	home := t.TempDir()
	t.Setenv("TMPDIR", "/no-such-folder") // a long path would be given up for /tmp
	m := Detect(t.Context())
	if m.Kind != Unknown || !strings.Contains(m.Reason, "temporary folder") {
		t.Errorf("%+v", m)
	}
	b := New(Config{Mode: WorkspaceWrite, Roots: func() []string { return nil }, Home: home})
	if err := b.Confine(t.Context(), &proc.Cmd{}); err == nil {
		t.Error("a command would run without a sandbox")
	}
}

// An unknown mechanism is not taken for none.
func TestUnknownMechanism(t *testing.T) {
	t.Parallel()
	b := New(Config{Mode: WorkspaceWrite, Roots: func() []string { return nil }, Home: t.TempDir(), Mechanism: &Mechanism{Kind: Unknown, Reason: "late"}})
	if err := b.Confine(t.Context(), &proc.Cmd{}); err == nil || !strings.Contains(err.Error(), "late") {
		t.Error(err)
	}
}
