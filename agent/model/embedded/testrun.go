package embedded

import (
	"path"
	"slices"
	"strings"
)

// run is what a test run's output says.
type run struct {
	command  string
	passed   bool
	counted  string // the runner's own count, such as "Ran 4 tests in 0.001s"
	failures []failure
}

// failure is one failing test.
type failure struct {
	test    string // the test's function
	file    string // where it stands, as the runner names it
	message string
}

var (
	unittestFailure = pattern(`(?m)^(?:FAIL|ERROR): (\w+) \(`)
	pytestFailure   = pattern(`(?m)^FAILED ([^:\s]+)::(?:\w+::)*(\w+)(?: - (.*))?`)
	goFailure       = pattern(`(?m)^\s*--- FAIL: (\w+)`)
	goPlace         = pattern(`(?m)^\s+(\w+_test\.go):\d+: (.*)$`)
	traceback       = pattern(`(?m)^\s+File "([^"]+)", line \d+, in (\w+)`)
	raised          = pattern(`(?m)^(\w+(?:Error|Exception)(?:: .*)?)$`)
	counted         = pattern(`(?m)^(Ran \d+ tests? in [\d.]+s|ok\s+\S+.*|=+ .*(?:passed|failed).* =+|test result: .*)$`)
)

// readRun reads a result of the terminal.
func readRun(d done) run {
	out := d.result.Output
	r := run{command: d.arg("command"), counted: strings.Trim(counted().FindString(out), "= \t")}
	r.passed = d.result.ExitCode != nil && *d.result.ExitCode == 0
	if r.passed {
		return r
	}
	starts := unittestFailure().FindAllStringSubmatchIndex(out, -1)
	for i, m := range starts {
		end := len(out)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		part := out[m[0]:end]
		f := failure{test: out[m[2]:m[3]], message: raised().FindString(part)}
		for _, t := range traceback().FindAllStringSubmatch(part, -1) {
			if t[2] == f.test {
				f.file = t[1]
			}
		}
		r.failures = append(r.failures, f)
	}
	for _, m := range pytestFailure().FindAllStringSubmatch(out, -1) {
		r.failures = append(r.failures, failure{m[2], m[1], m[3]})
	}
	place := goPlace().FindStringSubmatch(out)
	for _, m := range goFailure().FindAllStringSubmatch(out, -1) {
		f := failure{test: m[1]}
		if place != nil {
			f.file, f.message = place[1], place[2]
		}
		r.failures = append(r.failures, f)
	}
	return r
}

// listed finds a file of the workspace by the name that a runner gave it.
func listed(files []string, name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	best := ""
	for _, f := range files {
		if (name == f || strings.HasSuffix(name, "/"+f) || strings.HasSuffix(f, "/"+name)) && len(f) > len(best) {
			best = f
		}
	}
	return best
}

var (
	backticked  = pattern("`([^`\n]+)`")
	testCommand = pattern(`\b(unittest|pytest|test|tests|check|spec|tox|nox)\b`)
)

// testCommandOf is the command in the prompt that runs tests, else one that the
// files suggest.
func testCommandOf(prompt string, files []string) string {
	for _, m := range backticked().FindAllStringSubmatch(prompt, -1) {
		if strings.Contains(m[1], " ") && testCommand().MatchString(m[1]) || m[1] == "pytest" || m[1] == "tox" {
			return m[1]
		}
	}
	for _, known := range []struct{ file, command string }{
		{"go.mod", "go test ./..."}, {"Cargo.toml", "cargo test"}, {"package.json", "npm test"},
	} {
		if slices.Contains(files, known.file) {
			return known.command
		}
	}
	for _, f := range files {
		dir, base := path.Split(f)
		if !strings.HasSuffix(base, ".py") || !(strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test.py")) {
			continue
		}
		if dir == "" || slices.Contains(files, dir+"__init__.py") {
			return "python3 -m unittest"
		}
		return "python3 -m unittest discover -s " + strings.TrimSuffix(dir, "/")
	}
	if slices.Contains(files, "Makefile") {
		return "make test"
	}
	return ""
}

var pythonImport = pattern(`(?m)^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))`)

// tested are the files of the workspace that a test file is about.
func tested(test document, files []string) []string {
	var out []string
	add := func(f string) {
		if slices.Contains(files, f) && !slices.Contains(out, f) && f != test.path {
			out = append(out, f)
		}
	}
	if strings.HasSuffix(test.path, ".go") {
		for _, f := range files {
			if path.Dir(f) == path.Dir(test.path) && strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go") {
				add(f)
			}
		}
		return out
	}
	for _, m := range pythonImport().FindAllStringSubmatch(test.text(), -1) {
		module := strings.ReplaceAll(m[1]+m[2], ".", "/")
		for _, base := range []string{module, path.Join(path.Dir(test.path), module)} {
			add(base + ".py")
			add(base + "/__init__.py")
		}
	}
	return out
}
