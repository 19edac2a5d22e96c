//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The home is on a really full disk. The prompt returns an error about it. Once there is room
// again, the same session continues with all stored messages.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	found(t, "unshare")
	b := newBed(t, map[string]string{"a.txt": "one\n"})
	config := filepath.Join(b.home, "config.yaml")
	keep := filepath.Join(b.workspace, "config.yaml")
	if err := os.Rename(config, keep); err != nil { // the mount would hide it
		t.Fatal(err)
	}
	l := b.lineIn(t, exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=6m none "$HERMES_HOME" && cp "$1" "$HERMES_HOME/config.yaml" && head -c 3000000 /dev/zero > "$HERMES_HOME/ballast" && "$0" acp`, b.binary, keep))
	session := l.newSession(b.workspace)
	kept, failure := 0, ""
	for n := 0; n < 200 && failure == ""; n++ {
		failure = l.ask(session, fmt.Sprintf("turn %d %s\n```hermes-script\n"+`[{"text":"Answer %d."}]`+"\n```", n, strings.Repeat("much to say ", 4000), n))
		if failure == "" {
			kept++
		}
	}
	if !strings.Contains(failure, "the disk is full, so this was not stored. Make room on the disk of "+filepath.Join(b.home, "hermes-ls.db")+", then try again (") || kept < 3 {
		t.Fatalf("after %d turns: %q", kept, failure)
	}
	t.Logf("after %d turns: %s", kept, failure)
	if again := l.ask(session, strings.Repeat("still full? ", 20_000)); !strings.Contains(again, "the disk is full") {
		t.Errorf("asked again: %q", again)
	}
	ballast := filepath.Join("/proc", fmt.Sprint(l.cmd.Process.Pid), "root", b.home, "ballast")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if again := l.ask(session, "And now?\n```hermes-script\n"+`[{"text":"There is room."}]`+"\n```"); again != "" {
		t.Errorf("with room again: %s", again)
	}
	text := ""
	l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, func(f frame) {
		if f.Params.Update.SessionUpdate == "agent_message_chunk" {
			text += f.text()
		}
	})
	for n := range kept {
		if !strings.Contains(text, fmt.Sprintf("Answer %d.", n)) {
			t.Errorf("answer %d is lost", n)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(text), "There is room.") {
		t.Errorf("the log ends with %q", text[max(0, len(text)-80):])
	}
	l.end()
}

// The home is on a disk that is full from the start. A language client and `hermes-ls run` report
// the unstored data and where to make room. No file is changed.
func TestFullDiskOfOtherFaces(t *testing.T) {
	t.Parallel()
	found(t, "unshare")
	const script = "```hermes-script\n" + `[{"call":{"name":"write_file","args":{"path":"new.txt","content":"x"}}}]` + "\n```"
	for _, mode := range []string{"serve", "run"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "price = 1\n"})
			config, keep, server := filepath.Join(b.home, "config.yaml"), filepath.Join(b.workspace, "config.yaml"), filepath.Join(b.workspace, "server")
			if err := os.Rename(config, keep); err != nil { // the mount would hide it
				t.Fatal(err)
			}
			write(t, server, fmt.Sprintf(`#!/bin/sh
exec unshare --user --map-root-user --mount sh -c '
	mount -t tmpfs -o size=2m none "$HERMES_HOME" && cp %q "$HERMES_HOME/config.yaml" || exit 99
	while head -c 4096 /dev/zero >>"$HERMES_HOME/ballast"; do :; done 2>/dev/null
	exec %q "$@"' sh "$@"
`, keep, b.binary))
			if err := os.Chmod(server, 0o755); err != nil {
				t.Fatal(err)
			}
			b.binary = server
			const told = "the disk is full, so this was not stored. Make room on the disk of "
			if mode == "serve" {
				w := newWire(t, b, mode)
				w.send("Make a file\n" + script)
				w.wait(told)
			} else {
				cmd := exec.Command(b.binary, mode, "Make a file\n"+script)
				cmd.Dir, cmd.Env = b.workspace, b.environ()
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), told) {
					t.Errorf("run: %v\n%s", err, out)
				}
			}
			if b.has("new.txt") {
				t.Error("a file was made")
			}
		})
	}
}

// The workspace and the checkpoints are on really full disks. The model reads that nothing was
// changed, the user that the turn cannot be restored, and both where to make room.
func TestFullWorkspaceAndCheckpoints(t *testing.T) {
	t.Parallel()
	found(t, "unshare")
	b := newBed(t, map[string]string{"hidden.txt": "below the mount\n"})
	l := b.lineIn(t, exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mkdir -p "$HERMES_HOME/checkpoints" && mount -t tmpfs -o size=2m none "$HERMES_HOME/checkpoints" && `+
			`mount -t tmpfs -o size=64k none "$1" && cd "$1" && echo one > a.txt && exec "$0" acp`, b.binary, b.workspace))
	session := l.newSession(b.workspace)
	inside := filepath.Join("/proc", fmt.Sprint(l.cmd.Process.Pid), "root")
	do := func(tool string, args map[string]any) (shown string) {
		t.Helper()
		call, err := json.Marshal([]any{map[string]any{"call": map[string]any{"name": tool, "args": args}}})
		if err != nil {
			t.Fatal(err)
		}
		l.call("session/prompt", promptOf(session, "Do it\n```hermes-script\n"+string(call)+"\n"+`[{"text":"Done."}]`+"\n```"), nil, func(f frame) {
			shown += f.text() + string(f.Params.Update.RawOutput)
		})
		return shown
	}
	const full = "writing big.txt: the disk is full. Nothing was changed. Make room, then try again"
	if shown := do("write_file", map[string]any{"path": "big.txt", "content": strings.Repeat("much text\n", 10_000)}); !strings.Contains(shown, full) {
		t.Errorf("the workspace is full: %s", shown)
	}
	if left, err := os.ReadDir(filepath.Join(inside, b.workspace)); err != nil || len(left) != 1 {
		t.Errorf("the workspace has %v, %v", left, err)
	}
	ballast, err := os.Create(filepath.Join(inside, b.home, "checkpoints", "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until there is no room
		_, err = ballast.Write(make([]byte, 4096))
	}
	// The first turn may still be removing files: their room is taken, too.
	stop, filling := make(chan struct{}), sync.WaitGroup{}
	filling.Go(func() {
		for {
			if _, err := ballast.Write(make([]byte, 4096)); err == nil {
				continue
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	defer ballast.Close() // it has failed before
	defer filling.Wait()
	defer close(stop)
	do("read_file", map[string]any{"path": "a.txt"})
	shown := do("patch", map[string]any{"path": "a.txt", "old_string": "one", "new_string": "two"})
	if want := "cannot be restored, because its checkpoint cannot be written: the disk is full (" + filepath.Join(b.home, "checkpoints") + "); make room there"; !strings.Contains(shown, want) {
		t.Errorf("the checkpoints are full: %s", shown)
	}
	if text, err := os.ReadFile(filepath.Join(inside, b.workspace, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	say := func(text string) (shown string) {
		l.call("session/prompt", promptOf(session, text), nil, func(f frame) { shown += f.text() })
		return shown
	}
	lost := "Cannot be undone, and left as it is: `a.txt`. There is no checkpoint of it: the disk is full (" + filepath.Join(b.home, "checkpoints") + "); make room there"
	for _, command := range []string{"/rollback", "/undo"} {
		if shown := say(command); !strings.Contains(shown, lost) || strings.Contains(shown, "No files had been changed") || strings.Contains(shown, "nothing was changed") {
			t.Errorf("%s says %s", command, shown)
		}
	}
	do("terminal", map[string]any{"command": "echo three > a.txt"})
	if shown := say("/undo"); !strings.Contains(shown, "left as it is: what commands have changed. There is no checkpoint of it: the disk is full") {
		t.Errorf("/undo of a command says %s", shown)
	}
	l.end()
}

// ask prompts and returns the error of the response, or "".
func (l *line) ask(session, text string) (failure string) {
	l.t.Helper()
	id := l.send("session/prompt", promptOf(session, text))
	for {
		f, ok := l.next()
		switch {
		case !ok:
			l.t.Fatal("the server has gone")
		case f.Method == "" && string(f.ID) == id && f.Error != nil:
			return f.Error.Message
		case f.Method == "" && string(f.ID) == id:
			var answered struct{ StopReason string }
			if err := json.Unmarshal(f.Result, &answered); err != nil || answered.StopReason != "end_turn" {
				l.t.Fatalf("answered %s, %v", f.Result, err)
			}
			return ""
		}
	}
}
