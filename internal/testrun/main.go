// Package main runs the tests of this project in stages. `make check` and `make test` start it:
//
//	testrun [-jobs N] check|test [STAGE…]
//
// Stages run in parallel unless one depends on another. Each stage uses separate directories for
// temporary files, and everything it started ends with it, even if this program is killed. A
// leftover process or file of a stage is a failure.
//
// The log of a stage is .cache/test/NAME.log. A table of stages and of the slowest packages and
// tests is printed at the end and written to .cache/test/times.txt. The exit status is 1 if a test
// failed or was skipped because of a missing program.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
)

func main() {
	supervisor.Main()
	if len(os.Args) > 1 && os.Args[1] == insideMode {
		os.Exit(inside(os.Args[2:]))
	}
	jobs := flag.Int("jobs", runtime.NumCPU()+1, "stages that run at the same time")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: testrun [-jobs N] check|test [STAGE…]")
		flag.PrintDefaults()
	}
	flag.Parse()
	endWithParent()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, *jobs, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run runs the stages of a set, or the named stages and their dependencies.
func run(ctx context.Context, jobs int, args []string) error {
	if len(args) == 0 {
		flag.Usage()
		return fmt.Errorf("no set of stages was given")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("not at the top of the checkout: %w", err)
	}
	stages, err := stagesOf(args[0], os.Geteuid() == 0)
	if err != nil {
		return err
	}
	if stages, err = choose(stages, args[1:]); err != nil {
		return err
	}
	if err := checkSpace(space(args[0]), writtenFolders(root)...); err != nil {
		return err
	}
	r := &runner{set: args[0], root: root, logs: filepath.Join(root, ".cache", "test"), jobs: max(jobs, 1), ownTemp: true, out: os.Stdout}
	return r.run(ctx, stages)
}
