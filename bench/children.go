package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	childrenInAll  = 200
	childrenAtOnce = 50
	childPause     = 200 * time.Millisecond // before each response, so that many subagents run at once
)

// children measures 200 subagents, 50 at once, each with two requests and a file read: the server's
// time and memory for each, including the model's wire. A turn of the same requests without
// subagents is the floor.
func children(l *lab) ([]row, error) {
	home := filepath.Join(l.dir, "children")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("model: {default: scripted, provider: custom, base_url: %q}\ndelegation: {max_concurrent_children: %d}\n", l.model.url, childrenAtOnce)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	c, err := open(l.bin, home, l.cwd)
	if err != nil {
		return nil, err
	}
	l.model.parts(true, childPause)
	defer l.model.parts(false, 0)
	if err := delegateTo(l, c, 3); err != nil { // first, the work done only once
		return nil, err
	}
	pid := c.cmd.Process.Pid
	before, err := pss(pid)
	if err != nil {
		return nil, err
	}
	peak := peakOf(pid)
	used, all := time.Hour, time.Duration(0)
	for range childrenInAll / childrenAtOnce {
		began, err := cpu(pid)
		if err != nil {
			return nil, err
		}
		if err := delegateTo(l, c, childrenAtOnce); err != nil {
			return nil, err
		}
		ended, err := cpu(pid)
		if err != nil {
			return nil, err
		}
		used, all = min(used, ended-began), all+ended-began
	}
	most := peak()
	if _, err := c.close(); err != nil {
		return nil, err
	}
	floor, err := childlessTurn(l)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "subagent, CPU, best batch of 50", value: ms(used) / childrenAtOnce, unit: "ms", floor: ms(floor), floorName: "turn of two requests", goal: "≤ 2 ms of our own"},
		{what: "subagent, CPU, all 200", value: ms(all) / childrenInAll, unit: "ms"},
		{what: "subagent, memory at 50 at once", value: (most - before) / childrenAtOnce, unit: "MB", goal: "≤ 1 MB"},
	}, nil
}

// delegateTo runs a turn that delegates n tasks.
func delegateTo(l *lab, c *client, n int) error {
	var tasks []map[string]any
	for i := range n {
		tasks = append(tasks, map[string]any{"goal": fmt.Sprintf("Count the lines of a.txt, please (%d)", i), "toolsets": []string{"file"}})
	}
	args, err := json.Marshal(map[string]any{"tasks": tasks})
	if err != nil {
		return err
	}
	l.model.queue(reply{calls: []call{{"delegate_task", string(args)}}}, reply{deltas: []string{"done"}})
	failed := 0
	if err := c.prompt("delegate", func(m message) {
		if m.Params.Update.Status == "failed" {
			failed++
		}
	}); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d subagents failed", failed, n)
	}
	return nil
}

// childlessTurn returns the CPU time of a turn like a subagent's: two requests and a read.
func childlessTurn(l *lab) (time.Duration, error) {
	c, err := open(l.bin, l.home, l.cwd)
	if err != nil {
		return 0, err
	}
	const turns = 50
	best := time.Hour
	for range 4 {
		before, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		for range turns {
			l.model.queue(reply{calls: []call{{"read_file", `{"path":"a.txt"}`}}}, reply{deltas: []string{"done"}})
			if err := c.prompt("go", nil); err != nil {
				return 0, err
			}
		}
		after, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		best = min(best, after-before)
	}
	_, err = c.close()
	return best / turns, err
}

// peakOf watches a process's memory. The returned function ends the watch and returns the peak in
// MB.
func peakOf(pid int) func() float64 {
	stop, most := make(chan struct{}), make(chan float64)
	go func() {
		top := 0.0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				most <- top
				return
			case <-tick.C:
				if now, err := pss(pid); err == nil {
					top = max(top, now)
				}
			}
		}
	}()
	return func() float64 { close(stop); return <-most }
}
