package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const searchRuns = 11

// search measures search_files on the Go source tree against rg: with rg and with our own engine,
// each in a session with checkpoints, whose scan begins with the turn, and in a session without.
// Each round runs rg and all of them, since the load of a machine varies; the best round counts.
func search(l *lab) ([]row, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("finding the Go source tree: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	without, err := pathWithoutRg(l)
	if err != nil {
		return nil, err
	}
	type engine struct {
		what, goal string
		client     *client
	}
	var engines []engine
	for _, checkpoints := range []bool{true, false} {
		for _, e := range []engine{{what: "with rg", goal: "≤ 1.3×"}, {what: "in-process", goal: "≤ 2×"}} {
			var env []string
			if e.what == "in-process" {
				env = append(env, "PATH="+without)
			}
			if e.client, err = openWith(l, src, checkpoints, env...); err != nil {
				return nil, err
			}
			if !checkpoints {
				e.what += ", no checkpoints"
			}
			engines = append(engines, e)
		}
	}
	var rows []row
	for _, pattern := range []string{"func TestFlagParse", `[A-Z][a-z]+Conn\b`, `\w+AtLeast\(`, `[0-9a-f]{12}`, "(?i)readatleast"} {
		floor, best := time.Hour, make([]time.Duration, len(engines))
		for range searchRuns {
			began := time.Now()
			if err := exec.Command("rg", "--json", pattern, src).Run(); err != nil {
				return nil, fmt.Errorf("running rg: %w", err)
			}
			floor = min(floor, time.Since(began))
			for i, e := range engines {
				took, err := searchOnce(l, e.client, pattern)
				if err != nil {
					return nil, err
				}
				if best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
		for i, e := range engines {
			rows = append(rows, row{what: fmt.Sprintf("search_files %s, %s", pattern, e.what), value: ms(best[i]), unit: "ms", floor: ms(floor), floorName: "rg", goal: e.goal})
		}
	}
	for _, e := range engines {
		if _, err := e.client.close(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// searchOnce makes the model call a search at once, and measures the time of the call.
func searchOnce(l *lab, c *client, pattern string) (time.Duration, error) {
	l.model.queue(reply{calls: []call{{"search_files", fmt.Sprintf(`{"pattern":%q,"limit":50}`, pattern)}}})
	var took time.Duration
	var began time.Time
	err := c.prompt("go", func(m message) {
		switch {
		case m.Params.Update.Kind == "tool_call":
			began = time.Now()
		case m.Params.Update.Status == "completed":
			took = time.Since(began)
		}
	})
	if err == nil && took == 0 {
		err = fmt.Errorf("the search for %s did not complete", pattern)
	}
	return took, err
}

// pathWithoutRg returns a PATH with the programs a server looks for, without rg.
func pathWithoutRg(l *lab) (string, error) {
	dir := filepath.Join(l.dir, "no-rg")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"sh", "bash", "git"} {
		at, err := exec.Command("sh", "-c", "command -v "+name).Output()
		if err != nil {
			continue // the server does without as well
		}
		if err := os.Symlink(string(bytes.TrimSpace(at)), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}
