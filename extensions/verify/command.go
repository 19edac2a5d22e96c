package verify

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// wrappers run the command after them, behind options and so many arguments.
var wrappers = map[string]int{
	"env": 0, "time": 0, "nice": 0, "ionice": 0, "command": 0, "exec": 0, "stdbuf": 0, "xvfb-run": 0, "sudo": 0, "nohup": 0,
	"timeout": 1, "npx": 0, "bunx": 0, "pnpx": 0, "uvx": 0, "pipx": 1, "uv": 1, "poetry": 1, "pipenv": 1, "hatch": 1, "pdm": 1, "rye": 1, "bundle": 1,
}

// checkers check a project with any arguments.
const checkers words = `pytest py.test tox nox ruff mypy pyright flake8 pylint bandit golangci-lint staticcheck gotestsum
	jest vitest mocha ava tap eslint tsc vue-tsc playwright cypress biome stylelint rspec rubocop minitest phpunit phpstan psalm pest
	ctest shellcheck shfmt luacheck busted stylua hadolint yamllint markdownlint ktlint detekt swiftlint`

// subcommands are the words after a program that make it a check.
var subcommands = map[string]words{
	"go": "test vet build", "cargo": "test check clippy build nextest fmt", "deno": "test lint check",
	"node": "--test", "dotnet": "test build", "swift": "test build", "mix": "test credo dialyzer compile",
	"mvn": "test verify package install compile", "mvnw": "test verify package install compile", "zig": "test build",
	"bazel": "test build", "stack": "test build", "cabal": "test build", "sbt": "test compile",
	"meson": "test", "flutter": "test analyze", "dart": "test analyze", "php": "artisan", "composer": "test",
	"prettier": "--check -c", "black": "--check", "isort": "--check", "gofmt": "-l -d",
}

// runners run a task of the project by its name.
const runners words = "make gmake just task mage rake rails npm pnpm yarn bun gradle gradlew ninja turbo nx lerna grunt gulp ant"

// task matches names of tasks that check.
var task = lazyregexp.New(`(?i)^:?(?:\w+:)*(t|tests?|checks?|lints?|vet|typecheck|type-check|types|tsc|verify|ci|unit|units|e2e|integration|build|compile|spec)([:._/-].*)?$|[:._-](tests?|checks?|lint)$`)

// script matches names of the project's programs that check.
var script = lazyregexp.New(`(?i)^(run[-_]?)?(tests?|checks?|lint|verify|ci)([-_.].*)?$|[-_](tests?|checks?|lint)(\.\w+)?$`)

// words is a list of words between white space.
type words string

func (w words) has(word string) bool { return slices.Contains(strings.Fields(string(w)), word) }

// checksIn returns the commands of a shell line that check a project: commands of known programs,
// and commands that begin with the words of a configured command.
func checksIn(line string, configured []string) (all []string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := literals(call.Args)
		if isCheck(words) || slices.ContainsFunc(configured, func(c string) bool { return begins(words, strings.Fields(c)) }) {
			all = append(all, strings.Join(words, " "))
		}
		return true
	})
	return all
}

// literals returns the words of a command. A non-literal word becomes "…".
func literals(args []*syntax.Word) (words []string) {
	for _, w := range args {
		text := w.Lit()
		if text == "" && len(w.Parts) == 1 {
			switch q := w.Parts[0].(type) {
			case *syntax.SglQuoted:
				text = q.Value
			case *syntax.DblQuoted:
				if len(q.Parts) == 1 {
					if lit, ok := q.Parts[0].(*syntax.Lit); ok {
						text = lit.Value
					}
				}
			}
		}
		if text == "" {
			text = "…"
		}
		words = append(words, text)
	}
	return words
}

func begins(words, prefix []string) bool {
	return len(prefix) > 0 && len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// isCheck reports whether a command checks a project.
func isCheck(words []string) bool {
	for len(words) > 0 {
		skip, wraps := wrappers[path.Base(words[0])]
		if !wraps {
			break
		}
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		words = words[min(skip, len(words)):]
	}
	if len(words) == 0 {
		return false
	}
	name, args := path.Base(words[0]), words[1:]
	switch {
	case checkers.has(name):
		return true
	case strings.HasPrefix(name, "python") || name == "py":
		return len(args) > 1 && args[0] == "-m" && (checkers.has(args[1]) || args[1] == "unittest" || args[1] == "doctest") ||
			len(args) > 0 && script.MatchString(path.Base(args[0])) || len(args) > 1 && args[0] == "manage.py" && args[1] == "test"
	case runners.has(name):
		return slices.ContainsFunc(args, task.MatchString) || name == "make" && len(withoutOptions(args)) == 0
	case subcommands[name] != "":
		return slices.ContainsFunc(args, subcommands[name].has)
	case name == "bash" || name == "sh":
		return len(args) > 0 && script.MatchString(path.Base(args[0]))
	}
	return script.MatchString(name) && strings.Contains(words[0], "/")
}

func withoutOptions(args []string) (rest []string) {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
			rest = append(rest, a)
		}
	}
	return rest
}
