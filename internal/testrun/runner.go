package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A runner runs stages.
type runner struct {
	set        string
	root, logs string // the checkout, and the folder of logs
	jobs       int
	ownTemp    bool // root's stages get a private /tmp
	out        io.Writer
	mu         sync.Mutex // of out
}

// outcome is how a stage ended.
type outcome struct {
	stage   stage
	status  status
	took    time.Duration
	cpu     time.Duration // of all its processes
	err     error         // why it failed
	tests   results       // of its tests
	left    []string
	omitted []omission // skipped tests
}

type status string

const (
	passed  status = "ok"
	failed  status = "FAILED"
	skipped status = "not run"  // a dependency failed, or the run was interrupted
	omitted status = "left out" // a program is missing
)

var errNotAll = errors.New("not everything passed")

// run runs the stages, prints the report, and writes it to times.txt.
func (r *runner) run(ctx context.Context, stages []stage) error {
	if err := os.MkdirAll(r.logs, 0o755); err != nil {
		return err
	}
	start := time.Now()
	outcomes := r.runAll(ctx, stages)
	var text strings.Builder
	ok := report(&text, r.set, outcomes, time.Since(start))
	r.say("%s", text.String())
	if err := os.WriteFile(filepath.Join(r.logs, "times.txt"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted")
	}
	if !ok {
		return errNotAll
	}
	return nil
}

// runAll starts each stage when its dependencies have passed and fewer than r.jobs run. Earlier
// stages of the list are started first.
func (r *runner) runAll(ctx context.Context, stages []stage) []outcome {
	ended := make(chan outcome)
	waiting := slices.Clone(stages)
	results := map[string]outcome{}
	running := 0
	waits := func(s stage) bool { // for a stage in s.behind
		return slices.ContainsFunc(stages, func(other stage) bool {
			_, done := results[other.name]
			return !done && slices.Contains(s.behind, other.name)
		})
	}
	for len(waiting) > 0 || running > 0 {
		waiting = slices.DeleteFunc(waiting, func(s stage) bool {
			switch ready, possible := readiness(s, results); {
			case !possible || ctx.Err() != nil:
				results[s.name] = outcome{stage: s, status: skipped}
				return true
			case !ready || waits(s) || running >= r.jobs:
				return false
			}
			running++
			go func() { ended <- r.runStage(ctx, s) }()
			return true
		})
		if running > 0 {
			o := <-ended
			running--
			results[o.stage.name] = o
			r.tell(o)
		}
	}
	var all []outcome
	for _, s := range stages {
		all = append(all, results[s.name])
	}
	return all
}

// readiness reports whether the dependencies of s have ended, and whether s can still run. If a
// dependency was skipped, or did not install all programs, the tests that need it are skipped.
func readiness(s stage, ended map[string]outcome) (ready, possible bool) {
	ready = true
	for _, name := range s.after {
		o, done := ended[name]
		if done && (o.status == skipped || o.status == failed && !o.stage.installs) {
			return false, false
		}
		ready = ready && done
	}
	return ready, true
}

// runStage runs the steps of a stage. The log gets their output.
func (r *runner) runStage(ctx context.Context, s stage) (o outcome) {
	start := time.Now()
	o = outcome{stage: s, status: passed}
	defer func() { o.took = time.Since(start) }()
	fail := func(err error) {
		o.status, o.err = failed, err
	}
	for _, n := range s.needs {
		if _, err := exec.LookPath(n.program); err != nil {
			o.status, o.omitted = omitted, append(o.omitted, omission{"the whole stage", n.name})
			return o
		}
	}
	log, err := os.Create(r.logOf(s))
	if err != nil {
		fail(err)
		return o
	}
	defer func() {
		if err := log.Close(); err != nil && o.err == nil {
			fail(err)
		}
	}()
	r.say("%s: started\n", s.name)
	box, err := newBox(r.root, r.ownTemp, r.keptBox(s))
	if err != nil {
		fail(err)
		return o
	}
	for _, st := range s.steps {
		if err := r.runStep(ctx, st, box, log, &o.tests); err != nil {
			fail(err)
			break
		}
	}
	o.omitted, o.cpu = box.omitted(), box.cpu
	if o.left, err = box.close(); err != nil && o.err == nil {
		fail(err)
	}
	if len(o.left) > 0 && !s.installs {
		o.status = failed
	}
	if ctx.Err() != nil {
		o.status = skipped
	}
	return o
}

func (r *runner) runStep(ctx context.Context, st step, box *box, log io.Writer, tests *results) error {
	args, err := r.expand(st.args)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "$", strings.Join(append(slices.Clone(st.env), args...), " ")) // a log
	if !st.test {
		return box.run(ctx, r.root, args, st.env, log, log)
	}
	args = slices.Insert(args, 2, "-json")
	if r.set != "check" {
		args = slices.Insert(args, 2, "-count=1") // each test runs
	}
	events := newEvents(log, st, tests)
	err = box.run(ctx, r.root, args, st.env, events, log)
	events.end()
	return err
}

// expand replaces {root} by the path of the checkout, {all but PACKAGE…} by all other packages, and
// {long tests but PACKAGE…} by the long tests of other packages.
func (r *runner) expand(args []string) (expanded []string, err error) {
	for _, arg := range args {
		var more []string
		if without, found := strings.CutPrefix(arg, "{all but "); found {
			more, err = r.allBut(fields(without))
		} else if without, found := strings.CutPrefix(arg, "{long tests but "); found {
			var names, packages []string
			names, packages, err = longTests(r.root, fields(without))
			more = append([]string{"-run", "^(" + strings.Join(names, "|") + ")$"}, packages...)
		} else {
			more = []string{strings.ReplaceAll(arg, "{root}", r.root)}
		}
		if err != nil {
			return nil, err
		}
		expanded = append(expanded, more...)
	}
	return expanded, nil
}

// fields returns the packages in braces.
func fields(without string) []string { return strings.Fields(strings.TrimSuffix(without, "}")) }

// allBut returns all packages except some.
func (r *runner) allBut(without []string) (packages []string, err error) {
	list := exec.Command("go", "list", "-f", "{{.ImportPath}}", "./...")
	list.Dir, list.Stderr = r.root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	for _, path := range strings.Fields(string(out)) {
		short := strings.TrimSuffix("./"+strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "/")
		if !slices.Contains(without, short) {
			packages = append(packages, short)
		}
	}
	return packages, nil
}

// keptBox names the box of a stage of `make check`, which has the same paths in each run. So go test takes the
// results of packages whose code, files and environment have not changed from its cache.
func (r *runner) keptBox(s stage) string {
	if r.set != "check" {
		return ""
	}
	return s.name
}

func (r *runner) logOf(s stage) string { return filepath.Join(r.logs, s.name+".log") }

func (r *runner) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...) // the user's terminal
}

// tell prints how a stage ended. If it failed, it prints each failure, the command to repeat it,
// and the paths of its log and its pictures.
func (r *runner) tell(o outcome) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s, %s\n", o.stage.name, o.status, o.took.Round(time.Second))
	if o.status == failed {
		o.explain(&text, r)
	}
	r.say("%s", text.String())
}

// longestLog is how many lines of a failed command or test are printed.
const longestLog = 80

func (o outcome) explain(text *strings.Builder, r *runner) {
	switch failures := o.tests.failures(); {
	case len(failures) > 0:
		for _, f := range failures {
			fmt.Fprintf(text, "\n--- %s %s\n%s    repeat it: %s\n", f.pkg, f.name, f.words(longestLog), f.again())
		}
	case o.err != nil:
		shown, _ := os.ReadFile(r.logOf(o.stage))
		fmt.Fprintf(text, "%s%s: %v\n", lastLines(string(shown), longestLog), o.stage.name, o.err)
	}
	for _, left := range o.left {
		fmt.Fprintf(text, "left behind: %s\n", left)
	}
	fmt.Fprintf(text, "\n    repeat the stage: make %s STAGES=%s\n    log: %s\n", r.set, o.stage.name, r.shown(r.logOf(o.stage)))
	for _, folder := range o.stage.pictures {
		fmt.Fprintf(text, "    pictures: %s\n", folder)
	}
}

// shown returns a path of the checkout as a user at its top writes it.
func (r *runner) shown(path string) string {
	if short, err := filepath.Rel(r.root, path); err == nil {
		return short
	}
	return path
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	if len(lines) > n {
		lines = append([]string{fmt.Sprintf("… %d lines before\n", len(lines)-n)}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "")
}
