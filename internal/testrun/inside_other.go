//go:build !linux

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// insideMode is the first argument of a process that runs a command. Only Linux reports a command's
// leftover processes.
const insideMode = "inside-stage"

// inside runs a command, args[1:], and returns its exit status.
func inside(args []string) int {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	return max(cmd.ProcessState.ExitCode(), 0)
}

func endWithParent() {}
