package scratch

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain is also the dying server: it creates a directory, prints its path, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_SERVER") == "" {
		os.Exit(m.Run())
	}
	d, err := New("test")
	if err != nil {
		panic(err)
	}
	if err := os.MkdirAll(d.Path("a", "b"), 0o755); err != nil {
		panic(err)
	}
	if err := os.Chmod(d.Path("a"), 0); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(d.Path() + "\n")
	time.Sleep(time.Hour)
}

func TestDirsOfTheDeadAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("SCRATCH_SERVER", "1")
	cmd := exec.Command(os.Args[0])
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // an ended process stays ended
	path, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	path = strings.TrimSpace(path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v (%v), want it private", info, err)
	}

	Sweep()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the folder of a living server was removed: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	d, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead server is still there: %v", err)
	}
	d.Remove()
	if _, err := os.Stat(d.Path()); !os.IsNotExist(err) {
		t.Errorf("a removed folder is still there: %v", err)
	}
}

func TestWhatIsNotOursStays(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	fresh := filepath.Join(os.TempDir(), "hermes-ls-fresh") // being made
	old := filepath.Join(os.TempDir(), "hermes-ls-old")
	foreign := filepath.Join(os.TempDir(), "hermes-others")
	for _, dir := range []string{fresh, old, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	named := func(pid int) string {
		dir := filepath.Join(os.TempDir(), "hermes-ls-shell-"+strconv.FormatInt(int64(pid), 36)+"-1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	ours, dead := named(os.Getpid()), named(gone.Process.Pid)
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{old, foreign} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(os.TempDir(), "hermes-ls-link")
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	Sweep()
	for path, want := range map[string]bool{fresh: true, old: false, foreign: true, link: true, ours: true, dead: runtime.GOOS == "windows"} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there = %v", path, err, want)
		}
	}
}

// A marked directory stays for a caller with its path, but not forever.
func TestKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := Make("work")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeOver(d.Path()); err == nil {
		t.Error("taken from its living owner")
	}
	d.Leave() // as its server's death does
	Sweep()
	for range 2 { // once left again
		taken, err := TakeOver(d.Path())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := TakeOver(d.Path()); err == nil {
			t.Error("it was taken twice")
		}
		taken.Leave()
	}
	old := time.Now().Add(-keptFor - time.Hour)
	if err := os.Chtimes(d.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	Sweep()
	if _, err := TakeOver(d.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old one is still there: %v", err)
	}
	for _, path := range []string{t.TempDir(), filepath.Join(os.TempDir(), "hermes-ls-work-none")} {
		if _, err := TakeOver(path); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
}
