package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// pss is the proportional set size of a process, in MB.
func pss(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the server's memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no Pss line for process %d", pid)
}

// cpu is the processor time of a process and the children it has waited for.
func cpu(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the server's processor time: %w", err)
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	ticks := 0
	for _, field := range fields[11:15] { // utime stime cutime cstime
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// cpuOfAll returns the processor time of a process and its descendants, whether they still run or
// were waited for.
func cpuOfAll(root int) (time.Duration, error) {
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if data, err := os.ReadFile("/proc/" + e.Name() + "/stat"); err == nil {
			fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	all := time.Duration(0)
	for pid := range parents {
		for up := pid; up > 1; up = parents[up] {
			if up == root {
				used, err := cpu(pid)
				if err != nil {
					return 0, err
				}
				all += used
				break
			}
		}
	}
	return all, nil
}

// alive reports whether there is a process with mark in its arguments.
func alive(mark string) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(data), mark) {
			return true
		}
	}
	return false
}
