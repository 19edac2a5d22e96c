package codeexec

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed python/hermes_tools.py
var stubSource string

//go:embed python/start.py
var startSource string

//go:embed python/kernel.py
var kernelSource string

// callable are the tools that a script may call, where they are offered.
var callable = []string{"web_search", "web_extract", "read_file", "write_file", "search_files", "patch", "terminal"}

// writes are those that change files, and go one after another.
var writes = []string{"write_file", "patch"}

// quick are those that take well under a millisecond, nearly always.
var quick = []string{"read_file", "write_file", "patch"}

// functions are the tools that a script of this session may call.
func functions(env *tools.Env) []string {
	return slices.DeleteFunc(slices.Clone(callable), func(name string) bool {
		return env.Offered != nil && !env.Offered(name)
	})
}

// stub is the module hermes_tools with these functions and no others.
func stub(names []string) string {
	var b strings.Builder
	keep := true
	for line := range strings.Lines(stubSource) {
		if name, marks := strings.CutPrefix(line, "# tool: "); marks {
			name = strings.TrimSpace(name)
			keep = name == "end" || slices.Contains(names, name)
			continue
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}
