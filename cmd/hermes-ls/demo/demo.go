// Package demo shows the main features to the user. It creates a small project, starts the
// real server as a child process over stdio, acts as the editor, and prints the server's
// messages. The embedded model plays the recorded responses of the directory responses.
// All other parts are real.
//
// No result is recorded. Each line comes from a frame of the server or from the disk. If a
// feature was not shown, [Run] returns an error.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

//go:embed all:project
var project embed.FS

// The open file, and its unsaved buffer.
const (
	openFile = "inventory/pricing.py"
	unsaved  = "# Prices are in euros.\n"
)

//go:embed responses
var responses embed.FS

// prompt is a prompt of the demo, with the recorded responses to it.
type prompt struct{ text, responses string }

var (
	question  = prompt{"What does this project do, and how is the price of an order computed?", "question.jsonl"}
	subagents = prompt{"Have two subagents work at once: one reads inventory/pricing.py, one reads tests/test_pricing.py.", "subagents.jsonl"}
	counting  = prompt{"Count the lines, functions and imports of every Python file with a script.", "counting.jsonl"}
	job       = prompt{"The tests fail (`python3 -m unittest`). Find out why, fix the code, and run them again.", "job.jsonl"}
)

// Options of a run.
type Options struct {
	Binary string    // the server
	Out    io.Writer // the terminal
	Color  bool
	Pace   time.Duration // between pieces of text, so the user can read along
}

// Run plays the demo in a temporary directory.
func Run(ctx context.Context, o Options) error {
	dir, err := scratch.New("demo")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer dir.Remove()
	folder := dir.Path("inventory-shop")
	if err := writeProject(folder); err != nil {
		return fmt.Errorf("writing the demo project: %w", err)
	}
	began := time.Now()
	s := newScreen(o.Out, o.Color, o.Pace, prompts)
	s.lines("The demo has " + strconv.Itoa(prompts) + " prompts and takes about 15 seconds: offline, in a temporary directory.")
	if failed, _ := runTests(ctx, folder); !failed {
		return errors.New("the demo project's tests do not fail before the demo; is python3 there? `hermes-ls doctor` tells")
	}
	log := dir.Path("server.log")
	e, err := startEditor(ctx, o.Binary, folder, dir.Path("home"), log, s)
	if err == nil {
		err = errors.Join(play(ctx, e, s, folder), e.stop())
	}
	if err == nil && s.asked != prompts {
		err = fmt.Errorf("the demo has shown %d of %d prompts", s.asked, prompts)
	}
	if err == nil {
		s.heading("The demo took %s", time.Since(began).Round(time.Second))
	}
	return withLog(err, log)
}

// withLog appends the log of the server to an error.
func withLog(err error, log string) error {
	text, unread := os.ReadFile(log)
	if err == nil || unread != nil || len(text) == 0 {
		return err
	}
	return fmt.Errorf("%w\nThe server's log:\n%s", err, text)
}

func play(ctx context.Context, e *editor, s *screen, folder string) error {
	file := filepath.Join(folder, openFile)
	before, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("opening %s: %w", openFile, err)
	}
	s.heading("An editor with %s open, and a line typed but not saved", openFile)
	if err := e.open(ctx, file, unsaved+string(before)); err != nil {
		return err
	}

	asked, err := e.ask(ctx, question)
	if err != nil {
		return err
	}
	shared, err := e.ask(ctx, subagents)
	if err != nil {
		return err
	}
	children, err := e.children(ctx)
	if err != nil {
		return err
	}
	fixed, err := e.ask(ctx, job)
	if err != nil {
		return err
	}

	counted, err := e.ask(ctx, counting)
	if err != nil {
		return err
	}
	usage := e.usage() // without the comparison
	saved, err := compare(ctx, e, s, counted)
	if err != nil {
		return err
	}

	after := e.text(file)
	s.heading("The change, as a diff")
	s.diff(diff.Unified(openFile, before, []byte(after)))
	failed, output := runTests(ctx, folder)
	s.heading("The tests once more, without the agent")
	s.lines(lastLine(output))
	s.heading("%d model requests, %d tool calls, %d tokens in, %d out",
		usage.Requests, asked.count()+shared.count()+fixed.count()+counted.count(), usage.Input, usage.Output)
	lines, err := countLines(folder)
	if err != nil {
		return err
	}
	return check(evidence{
		asked: asked, shared: shared, children: children, fixed: fixed, counted: counted, usage: usage, after: after,
		testsFail: failed, saved: saved, lines: lines,
	})
}

// writeProject unpacks the embedded project.
func writeProject(folder string) error {
	return fs.WalkDir(project, "project", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(folder, strings.TrimPrefix(name, "project"))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o755)
		}
		data, err := project.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, 0o644)
	})
}

// runTests runs the project's tests without the server, as a second check. It reports
// whether they ran and failed.
func runTests(ctx context.Context, folder string) (failed bool, output string) {
	cmd := exec.CommandContext(ctx, "python3", "-B", "-m", "unittest")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return err != nil && strings.Contains(string(out), "Ran "), string(out)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
