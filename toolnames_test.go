package hermes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stillNamed counts, by package, the strings equal to a tool's name outside the tool's folder. Some
// mean other things: toolsets, slash commands, or fields of a protocol. The numbers may only
// shrink.
var stillNamed = map[string]int{
	"cmd/hermes-ls":         4,  // a part of the configuration, the subcommand lsp, and a kind of event
	"extensions/memory/cli": 2,  // the command and its default file
	"internal/proc":         1,  // a controller of control groups
	"internal/proc/spec":    1,  // the same
	"cmd/hermes-ls/demo":    5,  // the demo's story
	"delegate":              2,  // toolsets, of the default of a section
	"extensions/skills":     2,  // actions of skill_manage
	"server/acp":            2,  // a way to log in, and a capability
	"server/lsp":            1,  // the protocol
	"protocol/acp":          2,  // kinds of content and of updates
	"tools/alias":           19, // the only list of names known to models from other agents
}

// inTexts counts the names of other packages' tools in texts: next steps in messages for the model,
// and texts for the user. The numbers may only shrink.
var inTexts = map[string]int{
	"agent/model":         7, // marks of models
	"agent/model/openai":  4, // as above
	"codeexec":            5, // examples of functions, and a next step
	"extensions/feedback": 2, // the prompt to keep a skill
	"extensions/lsp":      2,
	"extensions/lsp/own":  1,
	"extensions/web":      3, // its own tools
	"internal/fetch":      2, // next steps
	"internal/workspace":  3, // the same
	"tools/alias":         4,
}

// inTemplates counts the names of other packages' tools in texts for the model and in the plugins,
// by file. The numbers may only shrink.
var inTemplates = map[string]int{
	"codeexec/execute_code.md":                           2, // examples of functions
	"tools/shell/terminal.md":                            4, // conditions
	"vscode/src/webview/Call.tsx":                        2, // how a script and a report are shown
	"vscode/src/webview/icons.tsx":                       2, // icons
	"nvim/lua/hermes/session.lua":                        1, // a kind of update
	"nvim/lua/hermes/sessions.lua":                       1, // a method of the protocol
	"vscode/src/shared/reducer.ts":                       1, // the same
	"extensions/plugins/examples/word-count/__init__.py": 2, // an example of a plugin
}

// checkTemplates counts the names of tools in files other than Go. Documents, bundled skills,
// generated files and tests may name tools.
func checkTemplates(t *testing.T, owners map[string]string) {
	t.Helper()
	found := map[string][]string{}
	for _, file := range append(otherCode(t), documents(t)...) {
		file = filepath.ToSlash(file)
		dir := path.Dir(file)
		if dir == "." || strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "e2e/") || strings.HasPrefix(file, "release/") ||
			strings.Contains(file, "test") || strings.Contains(file, "/bundled/") || path.Base(file) == "protocol.ts" ||
			path.Base(file) == "protocol.lua" || file == "vscode/package.json" || file == "nvim/doc/hermes.txt" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range toolWord.FindAllString(string(text), -1) {
			if owner := owners[word]; owner != "" && owner != dir && !strings.HasPrefix(dir, owner+"/") {
				found[file] = append(found[file], word)
			}
		}
	}
	for file := range inTemplates {
		found[file] = append([]string{}, found[file]...) // including files without a name
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if len(found[file]) != inTemplates[file] {
			t.Errorf("%s has %d names of tools of other packages, %d are listed: %s", file, len(found[file]), inTemplates[file], strings.Join(found[file], ", "))
		}
	}
}

// TestToolNames forbids a package to name a tool of another: properties of a tool describe how it
// may be used.
func TestToolNames(t *testing.T) {
	t.Parallel()
	owners := map[string]string{ // of tools' names, whose literal is a constant
		"delegate_task": "delegate", "tool_search": "extensions/toolsearch", "tool_call": "extensions/toolsearch",
	}
	used := map[string][]string{} // strings by their folder
	for file := range goFiles(t) {
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || dir == "bench" || dir == "e2e" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name := declaredTool(n); name != "" {
					owners[name] = dir
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					used[dir] = append(used[dir], text)
				}
			case *ast.ImportSpec, *ast.Field:
				return false // paths and tags
			}
			return true
		})
	}
	if len(owners) < 12 {
		t.Errorf("only %d tools were found: %v", len(owners), owners)
	}
	checkTemplates(t, owners)
	for _, dir := range slices.Sorted(maps.Keys(used)) {
		var names, mentions []string
		for _, text := range used[dir] {
			if owner := owners[text]; owner != "" && owner != dir {
				names = append(names, text)
				continue
			}
			for _, word := range toolWord.FindAllString(text, -1) { // a name without _ may be an ordinary word
				if owner := owners[word]; owner != "" && owner != dir {
					mentions = append(mentions, word)
				}
			}
		}
		if len(mentions) != inTexts[dir] {
			t.Errorf("%s has texts with %d names of tools of other packages, %d are listed: %s", dir, len(mentions), inTexts[dir], strings.Join(mentions, ", "))
		}
		if len(names) != stillNamed[dir] {
			t.Errorf("%s has %d names of tools of other packages, %d are listed: %s. Use a property of tools.Tool", dir, len(names), stillNamed[dir], strings.Join(names, ", "))
		}
	}
}

var toolWord = regexp.MustCompile(`[a-z]+(_[a-z]+)+`)

// declaredTool returns the name in a literal of a tools.Tool; empty: it is none.
func declaredTool(lit *ast.CompositeLit) (name string) {
	toolset := false
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return ""
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok {
			return ""
		}
		toolset = toolset || key.Name == "Toolset"
		if value, ok := kv.Value.(*ast.BasicLit); ok && key.Name == "Name" {
			name, _ = strconv.Unquote(value.Value)
		}
	}
	if !toolset {
		return ""
	}
	return name
}
