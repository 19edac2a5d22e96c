//go:build e2e && linux

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// smallDisk is a small disk that programs of a bed have in place of a folder, until the test ends.
type smallDisk struct {
	t   *testing.T
	dir string // as seen from outside
}

// onSmallDisk puts a folder below the home of b on a small disk. The program of b sees it.
func onSmallDisk(t *testing.T, b *bed, folder, size string) smallDisk {
	t.Helper()
	found(t, "unshare")
	found(t, "nsenter")
	mount := filepath.Join(b.home, folder)
	if err := os.MkdirAll(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(b.home, "config.yaml")
	keep := filepath.Join(filepath.Dir(b.home), "kept.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, keep, string(text))
	holder := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size="$1" none "$2" && { [ -f "$4" ] || cp "$3" "$4"; } && echo ready && exec cat`, "sh", size, mount, keep, config)
	in, out := startPiped(t, holder)
	t.Cleanup(func() { in.Close(); _ = holder.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("mounting: %q, %v", line, err)
	}
	pid := holder.Process.Pid
	server := filepath.Join(filepath.Dir(b.home), "server")
	write(t, server, fmt.Sprintf("#!/bin/sh\nexec nsenter --target=%d --user --mount --preserve-credentials --wd=%q %q \"$@\"\n", pid, b.workspace, b.link))
	if err := os.Chmod(server, 0o755); err != nil {
		t.Fatal(err)
	}
	b.binary, b.server = server, server
	return smallDisk{t, filepath.Join("/proc", fmt.Sprint(pid), "root", mount)}
}

// fill leaves no room on the disk.
func (d smallDisk) fill() {
	d.t.Helper()
	ballast, err := os.OpenFile(filepath.Join(d.dir, "ballast"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	if !strings.Contains(err.Error(), "no space left") {
		d.t.Fatal(err)
	}
	ballast.Close()
}

// leave makes a little room on the full disk.
func (d smallDisk) leave(room int) {
	d.t.Helper()
	ballast := filepath.Join(d.dir, "ballast")
	info, err := os.Stat(ballast)
	if err == nil {
		err = os.Truncate(ballast, info.Size()-int64(room))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// empty makes room on the disk.
func (d smallDisk) empty() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// face sends prompts of one session through a program of ours.
type face func(prompt string) (shown string)

// faceOf returns a face: a language client of one server, or one `hermes-ls run` for each prompt.
func faceOf(t *testing.T, b bed, mode string) face {
	if mode == "serve" {
		w := newWire(t, b, mode)
		return func(prompt string) string {
			w.send(prompt)
			w.wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.frames.String()
		}
	}
	first := true
	return func(prompt string) string {
		args := []string{"run", "--continue", prompt}
		if first {
			args = []string{"run", prompt}
		}
		first = false
		cmd := exec.Command(b.binary, args...)
		cmd.Dir, cmd.Env = b.workspace, b.environ()
		out, _ := cmd.CombinedOutput() // the output says whether it failed
		return string(out)
	}
}

// editOf is a prompt that replaces a text in a.txt.
func editOf(from, to string) string {
	return fmt.Sprintf("Edit %s\n```hermes-script\n"+`[{"call":{"name":"patch","args":{"path":"a.txt","old_string":%q,"new_string":%q}}}]`+"\n"+`[{"text":"Now %s."}]`+"\n```", from, from, to, to)
}

// TestDiskOfCheckpointsFills: the disk of the checkpoints fills during a session. One message says so,
// and the work goes on. /undo and /rollback name what they cannot undo. With room again, all works.
func TestDiskOfCheckpointsFills(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"serve", "run"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "", "a.txt": "price = 'one'\n"})
			disk := onSmallDisk(t, &b, "checkpoints", "1m")
			say := faceOf(t, b, mode)
			file := func(want string) {
				t.Helper()
				if text, err := os.ReadFile(filepath.Join(b.workspace, "a.txt")); err != nil || !strings.Contains(string(text), want) {
					t.Errorf("the file has %q, %v; want %s", text, err, want)
				}
			}
			shows := func(prompt string, wanted ...string) string {
				t.Helper()
				shown := say(prompt)
				for _, want := range wanted {
					if !strings.Contains(shown, want) {
						t.Errorf("%.20q shows %s\nwant %q", prompt, shown, want)
					}
				}
				return shown
			}
			shows(editOf("one", "two"), "Now two.")
			disk.fill()
			const full = "cannot be restored, because its checkpoint cannot be written: the disk is full ("
			shown := shows(editOf("two", "three"), full, "Now three.")
			if strings.Contains(shown, "What the file tools change is covered") {
				t.Errorf("it says twice that the disk is full: %s", shown)
			}
			file("three")
			lost := "left as it is: `a.txt`. There is no checkpoint of it: the disk is full ("
			shows("/rollback", "1. ", lost)
			shows("/undo", lost)
			file("three")
			disk.empty()
			if shown := shows(editOf("three", "four"), "Now four."); strings.Contains(shown, full) {
				t.Errorf("with room again: %s", shown)
			}
			shows("/undo", "Restored: `a.txt`.")
			file("three")
			shows("/rollback", "1. ", lost)
		})
	}
}

// TestDiskOfHomeFills: the disk of the home fills during a session. The prompt fails with one sentence
// that names the disk, and its edit is not made. With room again, the session goes on.
func TestDiskOfHomeFills(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"serve", "run"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "", "a.txt": "price = 'one'\n"})
			disk := onSmallDisk(t, &b, "", "8m")
			say := faceOf(t, b, mode)
			if shown := say(editOf("one", "two")); !strings.Contains(shown, "Now two.") {
				t.Fatalf("the first edit: %s", shown)
			}
			disk.fill()
			told := "the disk is full, so this was not stored. Make room on the disk of " + b.home
			shown := ""
			for n := 0; n < 50 && !strings.Contains(shown, told); n++ { // files of the store have some room
				shown = say(strings.Repeat("much to say ", 4000))
			}
			if n := strings.Count(shown, told); n != 1 {
				t.Errorf("told %d times that the disk is full: %s", n, shown)
			}
			before, err := os.ReadFile(filepath.Join(b.workspace, "a.txt"))
			if shown = say(editOf("two", "three")); err != nil || strings.Contains(shown, told) && string(before) != "price = 'two'\n" {
				t.Errorf("the file has %q, %v: %s", before, err, shown)
			}
			disk.empty()
			if shown = say(editOf("price", "cost")); !strings.Contains(shown, "Now cost.") {
				t.Errorf("with room again: %s", shown)
			}
			if shown = say("/undo"); !strings.Contains(shown, "Restored: `a.txt`.") {
				t.Errorf("/undo with room again: %s", shown)
			}
		})
	}
}

// TestUndoOnAFullDisk: `hermes-ls run /undo` exits with 1 if it has not done all, and its output is true: it names the
// restored files, or nothing was changed.
func TestUndoOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 48 << 10, 1 << 20} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "", "a.txt": "price = 'one'\n"})
			disk := onSmallDisk(t, &b, "", "8m")
			if shown := faceOf(t, b, "run")(editOf("one", "two")); !strings.Contains(shown, "Now two.") {
				t.Fatalf("the edit: %s", shown)
			}
			disk.fill()
			disk.leave(room)
			undo := func(code int) (shown string) {
				t.Helper()
				cmd := exec.Command(b.binary, "run", "--continue", "/undo")
				cmd.Dir, cmd.Env = b.workspace, b.environ()
				out, _ := cmd.CombinedOutput()
				if got := cmd.ProcessState.ExitCode(); got != code {
					t.Errorf("exit code %d, not %d: %s", got, code, out)
				}
				return string(out)
			}
			file := func(want string) {
				t.Helper()
				if text, err := os.ReadFile(filepath.Join(b.workspace, "a.txt")); err != nil || string(text) != want {
					t.Errorf("the file has %q, %v, not %q", text, err, want)
				}
			}
			switch room {
			case 0:
				if shown := undo(1); !strings.Contains(shown, "the disk is full") || !strings.Contains(shown, "nothing was changed") {
					t.Errorf("told: %s", shown)
				}
				file("price = 'two'\n")
			case 1 << 20:
				if shown := undo(0); !strings.Contains(shown, "Restored: `a.txt`.") {
					t.Errorf("told: %s", shown)
				}
				file("price = 'one'\n")
				return
			default: // too little for the rest of the history
				if shown := undo(1); !strings.Contains(shown, "Not all is done. Restored: `a.txt`. The history is unchanged: the disk is full") {
					t.Errorf("told: %s", shown)
				}
				file("price = 'one'\n")
			}
			disk.empty()
			undo(0)
			file("price = 'one'\n")
		})
	}
}
