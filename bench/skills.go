package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// skillRows measures the first prompt of sessions with 1,000 skills, compared with a session with
// only the bundled skills.
func skillRows(l *lab) ([]row, error) {
	dir, err := os.MkdirTemp(l.dir, "skills")
	if err != nil {
		return nil, err
	}
	place, err := home(dir, l.model)
	if err != nil {
		return nil, err
	}
	none, err := l.firstPrompts(place, false)
	if err != nil {
		return nil, err
	}
	for i := range 1000 {
		file := filepath.Join(place, "skills", fmt.Sprint("kind-", i%20), fmt.Sprint("skill-", i), "SKILL.md")
		text := fmt.Sprintf("---\nname: skill-%d\ndescription: Does the task %d. %s\nmetadata: {hermes: {tags: [a, b]}}\n---\n%s", i, i, strings.Repeat("Use it often. ", 10), strings.Repeat("Do this first.\n", 200))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	cold, err := l.firstPrompts(place, true)
	if err != nil {
		return nil, err
	}
	warm, err := l.firstPrompts(place, false)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "session/new and first prompt with 1,000 skills", value: ms(warm.took), unit: "ms", floor: ms(none.took), floorName: "8 skills", goal: "≤ 40 ms more"},
		{what: "session/new and first prompt with 1,000 skills, no cache", value: ms(cold.took), unit: "ms", floor: ms(none.took), floorName: "8 skills", goal: "≤ 250 ms more"},
		{what: "PSS with 1,000 skills", value: warm.memory, unit: "MB", floor: none.memory, floorName: "8 skills", goal: "≤ 3 MB more"},
		{what: "PSS with 1,000 skills, no cache", value: cold.memory, unit: "MB", floor: none.memory, floorName: "8 skills", goal: "≤ 3 MB more"},
		{what: "first request with 1,000 skills", value: warm.bytes, unit: "bytes", floor: none.bytes, floorName: "8 skills", goal: "≤ 3,000 more"},
	}, nil
}

// firstPrompt holds the measurements of a new session.
type firstPrompt struct {
	took          time.Duration // from the start of the program to the answer
	memory, bytes float64
}

// firstPrompts returns the median of several sessions, each in a new process. If cold is set, the
// cache is removed before.
func (l *lab) firstPrompts(place string, cold bool) (out firstPrompt, err error) {
	var memory []float64
	out.took, err = median(11, func() (time.Duration, error) {
		if cold {
			if err := os.RemoveAll(filepath.Join(place, "cache")); err != nil {
				return 0, err
			}
		}
		began := time.Now()
		c, err := open(l.bin, place, l.cwd)
		if err != nil {
			return 0, err
		}
		before := len(l.model.seen())
		if err := c.prompt("hi", nil); err != nil {
			return 0, err
		}
		took := time.Since(began)
		out.bytes = float64(l.model.seen()[before].bytes)
		used, err := pss(c.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		memory = append(memory, used)
		_, err = c.close()
		return took, err
	})
	if err != nil {
		return out, err
	}
	slices.Sort(memory)
	out.memory = memory[len(memory)/2]
	return out, nil
}
