package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	checkpointFiles = 50_000
	checkpointThink = 500 * time.Millisecond // of each reply, as a quick model takes
	checkpointTurns = 7
)

// checkpoints measures the cost of checkpoints in a clean repository of 50,000 files: for turns
// with a command, with an edit, and with neither. It subtracts the same turn without checkpoints.
// The model waits before it responds, because the scan runs meanwhile.
func checkpoints(l *lab) ([]row, error) {
	cwd := filepath.Join(l.dir, "many")
	if err := manyFiles(cwd); err != nil {
		return nil, err
	}
	turns := []struct {
		what  string
		think time.Duration
		calls []call
	}{
		{"with a command", checkpointThink, []call{{"terminal", `{"command":"echo x >> d1/f1.txt"}`}}},
		{"with an edit", checkpointThink, []call{{"write_file", `{"path":"new.txt","content":"%d"}`}}},
		{"that only reads", checkpointThink, []call{{"read_file", `{"path":"d1/f1.txt"}`}}},
		{"with a command, of a model that takes no time", 0, []call{{"terminal", `{"command":"echo x >> d1/f1.txt"}`}}},
	}
	var with, without [4]time.Duration
	for i, on := range []bool{true, false} {
		c, err := openWith(l, cwd, on)
		if err != nil {
			return nil, err
		}
		for j, t := range turns {
			n := 0
			took, err := median(checkpointTurns, func() (time.Duration, error) {
				n++
				calls := []call{t.calls[0]}
				if calls[0].name == "write_file" {
					calls[0].args = fmt.Sprintf(t.calls[0].args, n)
				}
				l.model.queue(reply{calls: calls, think: t.think}, reply{deltas: []string{"ok"}, think: t.think})
				began := time.Now()
				err := c.prompt("go", nil)
				return time.Since(began), err
			})
			if err != nil {
				return nil, err
			}
			if i == 0 {
				with[j] = took
			} else {
				without[j] = took
			}
		}
		if _, err := c.close(); err != nil {
			return nil, err
		}
	}
	var rows []row
	for j, t := range turns {
		goal := "≤ 20 ms"
		if t.think == 0 {
			goal = ""
		}
		rows = append(rows, row{
			what:  fmt.Sprintf("checkpoints, 50,000 files, added to a turn %s (%v)", t.what, without[j].Round(time.Millisecond)),
			value: ms(with[j] - without[j]), unit: "ms", goal: goal,
		})
	}
	return rows, nil
}

// openWith starts a server with checkpoints on or off, and env added to its environment.
func openWith(l *lab, cwd string, on bool, env ...string) (*client, error) {
	home := filepath.Join(l.dir, fmt.Sprint("checkpoints-", on))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("model: {default: scripted, provider: custom, base_url: %q}\napprovals: {mode: \"off\"}\ncheckpoints: {enabled: %v}\n", l.model.url, on)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return open(l.bin, home, cwd, env...)
}

// manyFiles makes a repository with everything committed.
func manyFiles(dir string) error {
	for i := range checkpointFiles {
		folder := filepath.Join(dir, fmt.Sprintf("d%d", i%500), fmt.Sprintf("e%d", i%7))
		if i < 500 {
			folder = filepath.Dir(folder)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			return err
		}
	}
	git := exec.Command("sh", "-ec", "git init -q .; git add .; git -c user.name=a -c user.email=a@b -c gc.auto=0 commit -q -m all; sleep 1.1; git gc -q; git status --short")
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("making a repository: %w: %s", err, out)
	}
	return nil
}
