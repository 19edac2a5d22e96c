//go:build unix

package workspace

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// child names the function to run in a child process instead of tests.
const child = "WORKSPACE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(child); what != "" {
		if err := children[what](os.Args[1], os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var children = map[string]func(dir, notes string) error{"writes": writeForever, "forks": writeAndFork, "full": writeToFullDisk}

func childProcess(t *testing.T, what, dir, notes string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir, notes)
	cmd.Env = append(os.Environ(), child+"="+what)
	return cmd
}

func openNoting(dir, notes string) (*Workspace, error) {
	w, err := Open([]string{dir}, nil)
	if err == nil {
		w.Unfinished = notes
	}
	return w, err
}

// writeForever writes large files, including a new file.
func writeForever(dir, notes string) error {
	w, err := openNoting(dir, notes)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		for _, name := range []string{"sub/a", fmt.Sprint("sub/new", i)} {
			if _, err := w.Write(context.Background(), name, bytes.Repeat([]byte{byte('a' + i%26)}, 4<<20)); err != nil {
				return err
			}
		}
		if err := w.Remove(context.Background(), fmt.Sprint("sub/new", i)); err != nil {
			return err
		}
	}
}

// temps lists the temporary files in a folder.
func temps(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if isTemp(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// If a process is killed before it renames a temporary file, the next process removes the file, but
// not the files of a living process.
func TestSweepAfterKill(t *testing.T) {
	t.Parallel()
	dir, notes := tempDir(t), filepath.Join(t.TempDir(), "notes")
	writeFiles(t, dir, map[string]string{"sub/a": "a"})
	living, err := openNoting(dir, notes)
	must(t, err)
	defer living.Close()
	p, err := living.locate("other")
	must(t, err)
	name, done := living.temp(p)
	must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	for range 5 {
		killInWrite(t, dir, notes)
		Sweep(notes)
		if left := temps(filepath.Join(dir, "sub")); len(left) > 0 {
			t.Fatalf("left: %q", left)
		}
		text, err := os.ReadFile(filepath.Join(dir, "sub/a"))
		if must(t, err); strings.Trim(string(text), string(text[:1])) != "" {
			t.Fatal("a is half written")
		}
	}
	if len(temps(dir)) != 1 {
		t.Error("the file of a process that lives is gone")
	}
	must(t, os.Remove(filepath.Join(dir, name)))
	done()
	living.Close()
	if left, err := os.ReadDir(notes); err != nil || len(left) > 0 {
		t.Errorf("notes that nobody needs: %v, %v", left, err)
	}
}

// killInWrite starts a process writing below dir, and kills it while a temporary file is there.
func killInWrite(t *testing.T, dir, notes string) {
	t.Helper()
	for {
		cmd := childProcess(t, "writes", dir, notes)
		must(t, cmd.Start())
		for deadline := time.Now().Add(time.Minute); len(temps(filepath.Join(dir, "sub"))) == 0; {
			if time.Now().After(deadline) {
				t.Fatal("the process writes nothing")
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if len(temps(filepath.Join(dir, "sub"))) > 0 {
			return
		}
	}
}

// A file put aside by a batch is restored, unless the batch was done or something is in its place.
func TestSweepOfBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		notes []leftover
		there string // in the place
		want  string
	}{
		"in the middle":        {[]leftover{{Temp: ".hermes-X.tmp", Back: "a"}}, "", "aside"},
		"at the end":           {[]leftover{{Temp: ".hermes-X.tmp", Back: "a"}, {Temp: ".hermes-X.tmp"}}, "", ""},
		"another in its place": {[]leftover{{Temp: ".hermes-X.tmp", Back: "a"}}, "new", "new"},
		"no file of ours":      {[]leftover{{Temp: "b"}, {Temp: "../b"}}, "old", "old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, notes := tempDir(t), filepath.Join(t.TempDir(), "notes")
			writeFiles(t, dir, map[string]string{".hermes-X.tmp": "aside", "b": "b"})
			if c.there != "" {
				writeFiles(t, dir, map[string]string{"a": c.there})
			}
			u := unfinished{}
			for _, l := range c.notes {
				l.Folder = dir
				u.add(notes, l)
			}
			must(t, u.file.Close()) // as if the process had died
			Sweep(notes)
			text, _ := os.ReadFile(filepath.Join(dir, "a"))
			if _, err := os.Stat(filepath.Join(dir, "b")); string(text) != c.want || err != nil {
				t.Errorf("a holds %q, b: %v", text, err)
			}
			if left := temps(dir); (len(left) > 0) != (name == "no file of ours") {
				t.Errorf("left: %q", left)
			}
			if left, _ := os.ReadDir(notes); len(left) > 0 {
				t.Errorf("notes: %v", left)
			}
		})
	}
}

// A write to a full disk leaves the old file, and nothing else.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a": "a"})
	if out, err := childProcess(t, "full", dir, filepath.Join(t.TempDir(), "notes")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entries, err := os.ReadDir(dir)
	text, _ := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil || len(entries) != 1 || string(text) != "a" {
		t.Errorf("%v, %v, a holds %q", entries, err, text)
	}
}

// writeToFullDisk simulates a full disk with a limit on the size of files.
func writeToFullDisk(dir, notes string) error {
	w, err := openNoting(dir, notes)
	if err != nil {
		return err
	}
	defer w.Close()
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		return err
	}
	big := bytes.Repeat([]byte("x"), 1<<20)
	for _, name := range []string{"a", "new", "sub/new"} {
		if _, err := w.Write(context.Background(), name, big); err == nil {
			return fmt.Errorf("%s was written", name)
		}
	}
	if err := w.PutBack(context.Background(), "a", Image{Mode: 0o644, Text: big, Size: int64(len(big))}, func(Image) error { return nil }); err == nil {
		return fmt.Errorf("a was put back")
	}
	if _, err := w.Batch(context.Background(), []Action{{Path: "new", Text: big}, {Path: "a", Remove: true}}); err == nil {
		return fmt.Errorf("the batch was made")
	}
	return nil
}

// writeAndFork is writeForever in small files and batches, in a process that keeps starting others,
// like a server.
func writeAndFork(dir, notes string) error {
	w, err := openNoting(dir, notes)
	if err != nil {
		return err
	}
	for range 2 {
		go func() {
			for {
				_ = exec.Command("true").Run()
			}
		}()
	}
	for i := 0; ; i++ {
		old, next := fmt.Sprint("sub/new", i), fmt.Sprint("sub/new", i+1)
		actions := []Action{{Path: next, Text: bytes.Repeat([]byte{byte('a' + i%26)}, 1<<16)}}
		if i > 0 {
			actions = append(actions, Action{Path: old, Remove: true})
		}
		if _, err := w.Batch(context.Background(), actions); err != nil {
			return err
		}
		if _, err := w.Write(context.Background(), "sub/a", bytes.Repeat([]byte{byte('a' + i%26)}, 1<<12)); err != nil {
			return err
		}
	}
}

// randomKills is how often a process is killed; a run of 1,000 takes a minute.
var randomKills = flag.Int("kills", 100, "how often TestSweepAfterRandomKills kills a process")

// A process is killed at random instants, also while it starts another process: the next sweeps
// leave no temporary file, no half-written file, and no note.
func TestSweepAfterRandomKills(t *testing.T) {
	t.Parallel()
	dir, notes := tempDir(t), filepath.Join(t.TempDir(), "notes")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for n := range testneed.Cases(*randomKills, 20) {
		cmd := childProcess(t, "forks", dir, notes)
		must(t, cmd.Start())
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "sub", "a")); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the process writes nothing")
			}
		}
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		Sweep(notes)
		if left := temps(filepath.Join(dir, "sub")); len(left) > 0 {
			held, _ := os.ReadDir(notes)
			t.Fatalf("kill %d: left: %q, notes %v", n, left, held)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "sub"))
		must(t, err)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, "sub", e.Name()))
			if must(t, err); len(text) == 0 || strings.Trim(string(text), string(text[:1])) != "" {
				t.Fatalf("kill %d: %s is half written", n, e.Name())
			}
			_ = os.Remove(filepath.Join(dir, "sub", e.Name()))
		}
	}
}
