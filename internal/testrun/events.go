package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// results are the results of the tests of a stage.
type results struct {
	packages []timed
	tests    []timed // without subtests
	passed   int     // with subtests
	skipped  int
	failed   []failure
}

// timed is a package or a test with its time.
type timed struct {
	pkg, name string // the name is empty for a package
	took      time.Duration
}

// failure is a failed test, or a failed package without a failed test.
type failure struct {
	pkg, name string
	output    string
	step      step
}

// failures returns the failed tests. A test whose subtests are listed is left out.
func (r results) failures() []failure {
	return slices.DeleteFunc(slices.Clone(r.failed), func(f failure) bool {
		return slices.ContainsFunc(r.failed, func(other failure) bool {
			return other.pkg == f.pkg && other.name != f.name && (f.name == "" || strings.HasPrefix(other.name, f.name+"/"))
		})
	})
}

// again returns the command that repeats the test alone.
func (f failure) again() string {
	var words []string
	args := slices.DeleteFunc(slices.Clone(f.step.args), func(arg string) bool {
		return strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "{all but") || arg == "."
	})
	for i := 0; i < len(args); i++ {
		if (args[i] == "-run" || args[i] == "-skip") && f.name != "" {
			i++
			continue
		}
		word := strings.ReplaceAll(args[i], "{root}", "$PWD")
		if strings.ContainsAny(word, "^$|(") && word == args[i] {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	if f.name != "" {
		parts := strings.Split(f.name, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		words = append(words, "-run '"+strings.ReplaceAll(strings.Join(parts, "/"), "'", ".")+"'")
	}
	return strings.Join(append(append(slices.Clone(f.step.env), words...), "./"+strings.TrimPrefix(f.pkg, module+"/")), " ")
}

// fatal is the first line of what a process writes that ends itself. The stacks of its goroutines
// follow it.
var fatal = regexp.MustCompile(`(?m)^(panic: |fatal error: |unexpected fault address|SIG[A-Z]+: |WARNING: DATA RACE|==\d+==)`)

// words returns up to n lines of the output: from the cause of a process's end on, else the last
// lines.
func (f failure) words(n int) string {
	at := fatal.FindStringIndex(f.output)
	if at == nil {
		return lastLines(f.output, n)
	}
	lines := strings.SplitAfter(f.output[at[0]:], "\n")
	if len(lines) > n {
		lines = append(lines[:n:n], fmt.Sprintf("… %d lines more\n", len(lines)-n))
	}
	return strings.Join(lines, "")
}

const module = "github.com/hermes-ls/hermes-ls"

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// events reads the output of `go test -json`, and writes the output of `go test -v` to a log.
type events struct {
	log     io.Writer
	step    step
	results *results
	line    []byte
	output  map[[2]string]*strings.Builder // of running tests
	took    map[[2]string]time.Duration    // by package and test
}

func newEvents(log io.Writer, st step, into *results) *events {
	return &events{log: log, step: st, results: into, output: map[[2]string]*strings.Builder{}, took: map[[2]string]time.Duration{}}
}

func (e *events) Write(data []byte) (int, error) {
	e.line = append(e.line, data...)
	for {
		line, rest, found := bytes.Cut(e.line, []byte{'\n'})
		if !found {
			return len(data), nil
		}
		e.read(line)
		e.line = rest
	}
}

// end reads an incomplete last line.
func (e *events) end() {
	if len(e.line) > 0 {
		e.read(e.line)
		e.line = nil
	}
}

func (e *events) read(line []byte) {
	var ev event
	if json.Unmarshal(line, &ev) != nil || ev.Action == "" {
		fmt.Fprintf(e.log, "%s\n", line) // a log
		return
	}
	key := [2]string{ev.Package, ev.Test}
	if ev.Package == "" { // of a build
		key[0], _, _ = strings.Cut(ev.ImportPath, " ")
	}
	took := time.Duration(ev.Elapsed * float64(time.Second))
	switch ev.Action {
	case "output", "build-output":
		io.WriteString(e.log, ev.Output) // a log
		if e.output[key] == nil {
			e.output[key] = &strings.Builder{}
		}
		e.output[key].WriteString(ev.Output)
	case "pass", "skip", "fail":
		e.ended(ev, key, took)
	}
}

// ended records how a test or a package ended. The time of a test is at least the sum of its
// subtests: Go's time excludes parallel subtests.
func (e *events) ended(ev event, key [2]string, took time.Duration) {
	r := e.results
	switch {
	case ev.Test == "" && ev.Action != "skip": // a package without tests is skipped
		r.packages = append(r.packages, timed{ev.Package, "", took})
	case ev.Test != "":
		took = max(took, e.took[key])
		if i := strings.LastIndexByte(ev.Test, '/'); i >= 0 {
			e.took[[2]string{ev.Package, ev.Test[:i]}] += took
		} else {
			r.tests = append(r.tests, timed{ev.Package, ev.Test, took})
		}
		switch ev.Action {
		case "pass":
			r.passed++
		case "skip":
			r.skipped++
		}
	}
	if ev.Action == "fail" {
		f := failure{pkg: ev.Package, name: ev.Test, step: e.step}
		if ev.Test == "" {
			f.output = e.unended(ev.Package)
		}
		if out := e.output[key]; out != nil {
			f.output += out.String()
		}
		r.failed = append(r.failed, f)
	}
	delete(e.output, key)
}

// unended returns the output of the tests of a package that have not ended, in the order of their
// names. A process that dies writes its last words there, and not in the package's own output.
func (e *events) unended(pkg string) string {
	var all strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(e.output), func(a, b [2]string) int { return strings.Compare(a[1], b[1]) }) {
		if key[0] == pkg && key[1] != "" {
			all.WriteString(e.output[key].String())
			delete(e.output, key)
		}
	}
	return all.String()
}
