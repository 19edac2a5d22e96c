package main

import (
	"fmt"
	"slices"
	"strings"
)

// A stage is a part of a test run. Its steps run one after another; the first failure ends it.
type stage struct {
	name     string
	after    []string // stages whose results it needs
	behind   []string // stages that share files with it, or compile for it: if they run, it waits for them, too
	steps    []step
	pictures []string // folders where its tests keep pictures, of the checkout
	needs    []need   // programs without which it is left out
	installs bool     // it installs programs: it may leave files, and without some of them the others still run
}

// A need is a required program other than Go, git or Python, and its package.
type need struct{ program, name string }

var (
	node     = need{"npm", "Node.js 20 or newer with npm"}
	compiler = need{"gcc", "the package gcc, for the race detector"}
)

// A step is a command, run at the top of the checkout.
type step struct {
	args []string
	env  []string // "NAME=value", beside the environment of this program
	test bool     // the command is `go test`; its events are read
}

// command returns a step other than a test.
func command(args ...string) step { return step{args: args} }

// plain are the settings with which everything is compiled once without the race detector.
var plain = []string{"CGO_ENABLED=0"}

// The exec program of tests run by an ordinary user.
const asUser = "e2e/setup/as-user.sh"

// limit ends a package whose tests hang. Beside other work, the slowest take four times as long as alone.
const limit = "40m"

// goTest returns a step that runs tests without the race detector. go vet is a separate step.
func goTest(args ...string) step {
	return step{args: append([]string{"go", "test", "-vet=off", "-trimpath", "-timeout", limit}, args...), env: plain, test: true}
}

// raceTest returns a step that runs tests with the race detector.
func raceTest(args ...string) step {
	return step{args: append([]string{"go", "test", "-vet=off", "-race", "-timeout", limit}, args...), test: true,
		env: []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"}} // by default, each program sleeps a second before it ends
}

// userTest is goTest for an ordinary user, also if root runs it.
func userTest(args ...string) step {
	return goTest(append([]string{"-exec", "{root}/" + asUser}, args...)...)
}

// e2eTest runs end-to-end tests that match a pattern as an ordinary user.
func e2eTest(pattern string, args ...string) step {
	return userTest(append([]string{"-tags", "e2e", "-run", "^(" + pattern + ")$"}, append(args, "./e2e")...)...)
}

// stagesOf returns the stages of a set.
func stagesOf(set string, root bool) ([]stage, error) {
	switch set {
	case "check":
		return checkStages(), nil
	case "test":
		return testStages(root), nil
	}
	return nil, fmt.Errorf("no set of stages is named %q: it is check or test", set)
}

// choose keeps the named stages and their dependencies. Without names it keeps all.
func choose(all []stage, names []string) ([]stage, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	needed := map[string]bool{}
	for _, s := range all {
		known = append(known, s.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no stage is named %q: the stages are %s", name, strings.Join(known, ", "))
		}
		needed[name] = true
	}
	for range all { // dependencies of a dependency may come before it
		for _, s := range all {
			for _, name := range s.after {
				needed[name] = needed[name] || needed[s.name]
			}
		}
	}
	return slices.DeleteFunc(all, func(s stage) bool { return !needed[s.name] }), nil
}

// Versions of the tools of lint, which the Go module proxy has.
const (
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.7.0"
	actionlint  = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
)

// checkStages need only Go, git and Python, and nothing to install.
func checkStages() []stage {
	return []stage{
		{name: "build", steps: []step{command("make", "--silent", "build")}},
		{name: "unit", after: []string{"build"}, steps: []step{goTest("-short", "./...")}},
		{name: "lint", after: []string{"build"}, steps: lintSteps()},
	}
}

// lintSteps check the Go code and the rules in the tests of the top folder.
func lintSteps() []step {
	return []step{
		command("sh", "-c", `files=$(gofmt -l .) && test -z "$files" || { echo "gofmt would change:"; echo "$files"; exit 1; }`),
		{args: []string{"go", "vet", "-trimpath", "-tags", "e2e,kakoune", "./..."}, env: plain},
		{args: []string{"go", "run", staticcheck, "-tags", "e2e,kakoune", "./..."}, env: append([]string{"GOFLAGS=-trimpath"}, plain...)},
	}
}

// Tests of files and processes differ for root, who has more rights: if root runs the tests,
// these run again as an ordinary user, without the race detector.
var usersPackages = []string{
	"./agent/store", "./codeexec", "./delegate/...", "./internal/checkpoint", "./internal/sandbox/gitguard", "./internal/scratch",
	"./internal/search", "./internal/workspace", "./server/...", "./tools", "./tools/file", "./tools/gate", "./tools/shell", "./tools/web",
}

// Groups of end-to-end tests: one for each editor, and one for clients without an editor. Tests
// outside all other groups are in the last.
const (
	vscodeTests = "TestVSCode|TestLSPInEditors"
	neovimTests = "TestNeovim.*"
	editorTests = "TestEmacs.*|TestHelix.*|TestVimALE"
	// Packing the extension, the Python programs and the public projects need the caches and programs of the
	// user who runs the tests.
	ownTests = "TestVSIX|TestOfficialPythonClient|TestLiteLLM|TestLlamaServer|TestAgentSkills|TestHermesAgent(Memory|Skills)|Test(OpenAI|GenAI|Anthropic)SDK|TestPublicProjects"
	// Root may do more than users, so if root runs the tests, these run as both.
	bothTests = "TestSoak|TestKilledServers|TestCallsAfterAKill|TestACPX|TestOfficialACPClient|TestClosedPipe"
)

// remoteTests start ssh servers and containers, as root.
const remoteTests = "TestTerminal(OverSSH|InAContainer|InApptainer)"

// alone are packages without goroutines or locks: the race detector finds nothing there, so their
// tests run without it.
var alone = []string{".", "./internal/diff", "./internal/picture", "./internal/syntax", "./internal/webpage", "./tools/policy", "./tools/policy/paths", "./nvim", "./vscode"}

// testStages are all tests.
func testStages(root bool) []stage {
	own := goTest("-tags", "e2e", "-run", "^("+ownTests+")$", "./e2e")
	whole := append(slices.Clone(alone), "./internal/sandbox", "./internal/textenc", "./tools/policy/code")
	withoutRace := []step{
		goTest(whole...),
		goTest("{long tests but " + strings.Join(append(slices.Clone(whole), usersPackages...), " ") + "}"),
		goTest("-run", "^("+remoteTests+"|TestMemoryLimits|TestAsUser)$", "./tools/shell", "./internal/proc"),
	}
	if root {
		own = goTest("-tags", "e2e", "-run", "^("+ownTests+"|"+bothTests+")$", "./e2e")
	}
	others := strings.Join([]string{vscodeTests, neovimTests, editorTests, ownTests}, "|")
	return []stage{
		{name: "hosts", steps: []step{command("e2e/setup/hosts.sh")}, installs: true},
		{name: "build", steps: []step{command("make", "--silent", "build")}},
		{name: "vsix", after: []string{"build"}, needs: []need{node}, steps: []step{command("make", "--silent", "vsix"), command("npm", "test", "--prefix", "vscode", "--silent")}},
		{name: "race", after: []string{"hosts"}, needs: []need{compiler}, steps: []step{raceTest("{all but " + strings.Join(alone, " ") + "}")}},
		{name: "vscode", after: []string{"vsix", "hosts"}, steps: []step{e2eTest(vscodeTests)}, pictures: []string{"e2e/vscode/artefacts"}},
		{name: "plain", after: []string{"hosts"}, steps: withoutRace},
		{name: "clients", after: []string{"vsix", "hosts"}, steps: []step{userTest("-tags", "e2e", "-skip", "^("+others+")$", "./e2e")}},
		{name: "user", after: []string{"hosts"}, steps: []step{userTest(append([]string{"-skip", "^(" + remoteTests + ")$"}, usersPackages...)...)}},
		{name: "lint", after: []string{"build"}, steps: append(lintSteps(),
			step{args: []string{"go", "run", actionlint, "-shellcheck=", "-pyflakes="}, env: append([]string{"GOFLAGS=-trimpath"}, plain...)})},
		{name: "neovim", after: []string{"build", "hosts"}, steps: []step{e2eTest(neovimTests)}, pictures: []string{"e2e/neovim/artefacts"}},
		{name: "editors", after: []string{"build", "hosts"}, steps: []step{e2eTest(editorTests)}, pictures: []string{"e2e/emacs/artefacts", "e2e/helix/artefacts", "e2e/vim/artefacts"}},
		{name: "cross", behind: []string{"build"}, steps: []step{
			{args: []string{"go", "build", "-trimpath", "-o", "/dev/null", "./cmd/hermes-ls"}, env: append([]string{"GOOS=darwin", "GOARCH=arm64"}, plain...)},
			{args: []string{"go", "build", "-trimpath", "-o", "/dev/null", "./cmd/hermes-ls"}, env: append([]string{"GOOS=windows", "GOARCH=amd64"}, plain...)},
			{args: []string{"go", "vet", "-trimpath", "./..."}, env: append([]string{"GOOS=windows", "GOARCH=amd64"}, plain...)},
		}},
		{name: "sdks", after: []string{"vsix", "hosts"}, behind: []string{"cross"}, steps: []step{own}},
		{name: "release", after: []string{"vsix"}, behind: []string{"cross"}, needs: []need{node}, steps: []step{goTest("-tags", "e2e", "./release")}},
		{name: "plugins", behind: []string{"vsix"}, needs: []need{node}, steps: []step{command("e2e/setup/lint.sh")}},
	}
}
