package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// asRunner in the environment makes the test binary run the stages of its arguments.
const asRunner = "HERMES_LS_TEST_RUNNER"

func TestMain(m *testing.M) {
	supervisor.Main()
	if len(os.Args) > 1 && os.Args[1] == insideMode {
		os.Exit(inside(os.Args[2:]))
	}
	if os.Getenv(asRunner) != "" {
		os.Exit(runSleeper())
	}
	os.Exit(m.Run())
}

// project writes a module with these test files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + module + "\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runIn runs stages in a project. It returns the output.
func runIn(t *testing.T, dir string, stages ...stage) (string, error) {
	t.Helper()
	var out strings.Builder
	r := &runner{set: "test", root: dir, logs: filepath.Join(dir, ".cache/test"), jobs: 2, out: &out}
	err := r.run(t.Context(), stages)
	return out.String(), err
}

func TestAFailureNamesTheTestTheCommandAndTheLog(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"a/a_test.go": "package a\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Run(\"one case\", func(t *testing.T) { t.Error(\"it is wrong\") }) }\n",
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestBuilds(t *testing.T) { missing() }\n",
	})
	out, err := runIn(t, dir, stage{name: "unit", steps: []step{goTest("./...")}, pictures: []string{"e2e/x/artefacts"}},
		stage{name: "later", after: []string{"unit"}, steps: []step{command("true")}})
	if err != errNotAll {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{
		"it is wrong", "repeat it: CGO_ENABLED=0 go test -vet=off -trimpath -timeout 40m -run '^TestBad$/^one_case$' ./a\n",
		"undefined: missing", "repeat the stage: make test STAGES=unit", "log: .cache/test/unit.log", "pictures: e2e/x/artefacts",
		"unit       FAILED", "later      not run", "1 passed, 2 failed, 0 skipped",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	times, err := os.ReadFile(filepath.Join(dir, ".cache/test/times.txt"))
	if err != nil || !strings.Contains(out, string(times)) {
		t.Errorf("times.txt is not the table: %v\n%s", err, times)
	}
	log, err := os.ReadFile(filepath.Join(dir, ".cache/test/unit.log"))
	if err != nil || !strings.Contains(string(log), "--- PASS: TestGood") {
		t.Errorf("the log: %v\n%s", err, log)
	}
}

// TestTheEndOfAProcessIsTold: the output of a test that a fault in another goroutine ended belongs to
// no failed test.
func TestTheEndOfAProcessIsTold(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a/a_test.go": `package a
import "testing"
func TestGood(t *testing.T) {}
func TestDies(t *testing.T) {
	for range 100 { go func() { select {} }() }
	go func() { panic("the cause") }()
	select {}
}
`})
	out, err := runIn(t, dir, stage{name: "unit", steps: []step{goTest("./...")}})
	if err != errNotAll {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"panic: the cause", "a_test.go:6", "1 passed, 1 failed, 0 skipped", "repeat it: "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

func TestTimesOfParallelSubtestsCount(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a/a_test.go": `package a
import ("testing"; "time")
func TestMany(t *testing.T) {
	for _, name := range []string{"a", "b", "c", "d"} {
		t.Run(name, func(t *testing.T) { t.Parallel(); time.Sleep(500*time.Millisecond) })
	}
}
`})
	out, err := runIn(t, dir, stage{name: "unit", steps: []step{goTest("./...")}})
	if err != nil || !regexp.MustCompile(`(?m)^a TestMany +unit +[2-9]\.\d+s`).MatchString(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRootsStagesHaveATempFolderOfTheirOwn(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	dir, err := os.MkdirTemp("/var/lib", "hermes-testrun-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // a folder of this test
	var out strings.Builder
	r := &runner{set: "test", root: dir, logs: dir, jobs: 1, ownTemp: true, out: &out}
	script := `test "$TMPDIR" = /tmp && test ! -e ` + t.TempDir() + ` && touch /tmp/a && rm /tmp/a`
	if err := r.run(t.Context(), []stage{{name: "s", steps: []step{command("sh", "-c", script)}}}); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestACheckoutInTheTempFolderIsSeenThere(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	dir := project(t, map[string]string{"a/a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n"})
	other := t.TempDir()
	var out strings.Builder
	r := &runner{set: "test", root: dir, logs: filepath.Join(dir, ".cache/test"), jobs: 1, ownTemp: true, out: &out}
	err := r.run(t.Context(), []stage{{name: "s", steps: []step{goTest("./..."), command("test", "!", "-e", other), command("sh", "-c", "touch made")}}})
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestMissingProgramsAreListed(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{})
	note := `printf 'TestShell\tthe package zsh\n' >>"$` + testneed.OmissionsVariable + `"`
	out, err := runIn(t, dir, stage{name: "unit", steps: []step{command("sh", "-c", note)}})
	if err != errNotAll || !strings.Contains(out, "LEFT OUT, needs the package zsh:\n    unit: TestShell\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAStageWithoutItsProgramIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{})
	out, err := runIn(t, dir, stage{name: "pack", needs: []need{{"no-such-program", "the package none"}}, steps: []step{command("false")}},
		stage{name: "hosts", steps: []step{command("false")}, installs: true},
		stage{name: "behind", behind: []string{"hosts", "tests"}, steps: []step{command("test", "-e", "done")}},
		stage{name: "tests", after: []string{"pack", "hosts"}, steps: []step{command("sh", "-c", "sleep 0.1; touch done")}})
	for _, want := range []string{"LEFT OUT, needs the package none:\n    pack: the whole stage\n", "pack       left out", "hosts      FAILED", "tests      ok", "behind     ok"} {
		if err != errNotAll || !strings.Contains(out, want) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
}

// runSleeper runs an endless stage.
func runSleeper() int {
	dir := os.Args[1]
	r := &runner{set: "test", root: dir, logs: dir, jobs: 1, out: os.Stdout}
	script := `setsid sh -c 'echo $$ >"$1"; sleep 1000' - "$1" & pwd >"$TMPDIR/file"; dirname "$TMPDIR" >"$2"; sleep 1000`
	if err := r.run(context.Background(), []stage{{name: "sleeper", steps: []step{command("sh", "-c", script, "-", dir+"/pid", dir+"/temp")}}}); err != nil {
		return 1
	}
	return 0
}

func TestStagesNeedKnownStages(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"check", "test"} {
		for _, root := range []bool{true, false} {
			stages, err := stagesOf(set, root)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range stages {
				names = append(names, s.name)
			}
			for _, s := range stages {
				chosen, err := choose(slices.Clone(stages), []string{s.name})
				if err != nil || !slices.ContainsFunc(chosen, func(c stage) bool { return c.name == s.name }) {
					t.Errorf("choosing %s: %v", s.name, err)
				}
				for _, other := range s.behind {
					if !slices.Contains(names, other) {
						t.Errorf("%s is behind %s, which does not exist", s.name, other)
					}
				}
				for _, needed := range s.after {
					if !slices.Contains(names, needed) || !slices.ContainsFunc(chosen, func(c stage) bool { return c.name == needed }) {
						t.Errorf("%s needs %s, which is not chosen with it", s.name, needed)
					}
				}
			}
		}
	}
	if _, err := choose(checkStages(), []string{"none"}); err == nil {
		t.Error("a stage that does not exist was chosen")
	}
}

// Packages that run without the race detector start no goroutine and use no lock.
func TestPackagesWithoutRaceDetectorHaveNoGoroutines(t *testing.T) {
	t.Parallel()
	concurrent := regexp.MustCompile(`(?m)^\s*go (func|[\w.]+)\(|"sync(/atomic)?"`)
	for _, pkg := range alone {
		files, err := filepath.Glob(filepath.Join("../..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files, %v", pkg, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && concurrent.Match(text) {
				t.Errorf("%s has goroutines or locks: run its package with the race detector", file)
			}
		}
	}
}

// Each end-to-end test is in a single group.
func TestEachEndToEndTestHasAGroup(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]*regexp.Regexp{}
	for name, pattern := range map[string]string{"vscode": vscodeTests, "neovim": neovimTests, "editors": editorTests, "own": ownTests} {
		groups[name] = regexp.MustCompile("^(" + pattern + ")$")
	}
	used := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllStringSubmatch(string(text), -1) {
			in := 0
			for name, group := range groups {
				if group.MatchString(m[1]) {
					in++
					used[name]++
				}
			}
			if in > 1 {
				t.Errorf("%s is in %d groups", m[1], in)
			}
		}
	}
	for name := range groups {
		if used[name] == 0 {
			t.Errorf("the group %s has no test", name)
		}
	}
}

// Tests skipped under the race detector run in a step without it.
func TestLongTestsRunWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	stages, err := stagesOf("test", true)
	if err != nil {
		t.Fatal(err)
	}
	var patterns, run []string // packages that run whole, and single tests
	r := runner{root: "../.."}
	for _, s := range stages {
		for _, st := range s.steps {
			if !st.test || slices.Contains(st.args, "-race") || slices.Contains(st.args, "-run") || slices.Contains(st.args, "e2e") {
				continue
			}
			args, err := r.expand(st.args)
			if err != nil {
				t.Fatal(err)
			}
			if at := slices.Index(args, "-run"); at >= 0 {
				run = append(run, args[at:]...)
			} else {
				patterns = append(patterns, args...)
			}
		}
	}
	names, packages, err := longTests("../..", nil)
	if err != nil || len(names) < 30 {
		t.Errorf("%d long tests, %v", len(names), err)
	}
	for _, pkg := range packages {
		whole := slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
		if !whole && !slices.Contains(run, pkg) {
			t.Errorf("long tests of %s run nowhere", pkg)
		}
	}
}

// A long test is found by its call, also in a subtest, with its package.
func TestLongTestsAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for path, text := range map[string]string{
		"a/a_test.go":    "func TestA(t *testing.T) {\n\ttestneed.Long(t)\n}\n\nfunc TestShort(t *testing.T) {}\n",
		"b/b_test.go":    "func TestB(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) { testneed.Long(t) })\n}\n",
		"b/none_test.go": "// testneed.Long(t) in a comment\nfunc TestNone(t *testing.T) {}\n",
		"c/c_test.go":    "func TestC(t *testing.T) {\n\ttestneed.Long(t)\n}\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte("package p\n\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := runner{root: root}
	got, err := r.expand([]string{"{long tests but ./c/...}"})
	if want := []string{"-run", "^(TestA|TestB)$", "./a", "./b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}

// `make check` takes results from the cache of go test, and `make test` runs each test.
func TestResultsOfACheckAreCached(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/a_test.go": "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n" +
		"\t_, err := os.ReadFile(\"../read\")\n\tdir := t.TempDir()\n\t_ = os.WriteFile(dir+\"/a\", nil, 0o600)\n" +
		"\tif err != nil || os.Getenv(\"" + testneed.BaseVariable + "\") == \"\" {\n\t\tt.Fatal(err)\n\t}\n}\n", "read": ""}
	dir := project(t, files)
	past := time.Now().Add(-time.Minute) // go test does not trust files of the last two seconds
	if err := os.Chtimes(filepath.Join(dir, "read"), past, past); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set    string
		cached bool
	}{{"check", false}, {"check", true}, {"test", false}, {"test", false}} {
		var out strings.Builder
		r := &runner{set: c.set, root: dir, logs: dir, jobs: 1, out: &out}
		if err := r.run(t.Context(), []stage{{name: "unit", steps: []step{goTest("./...")}}}); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		log, err := os.ReadFile(filepath.Join(dir, "unit.log"))
		if err != nil {
			t.Fatal(err)
		}
		if cached := strings.Contains(string(log), "(cached)"); cached != c.cached {
			t.Errorf("make %s: cached is %v:\n%s", c.set, cached, log)
		}
	}
}
