package hermes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hermes-ls/hermes-ls/"

// layers maps each top directory to the packages of this module that its packages may import, apart
// from tests. ARCHITECTURE.md contains the same table. A package may always import packages of its
// own top directory.
var layers = map[string][]string{
	"cmd":        {""},
	"cli":        {"config", "internal"},
	"protocol":   {},
	"config":     {"internal/lazyregexp", "internal/safefile", "internal/shorten", "internal/spelling", "internal/textfile"},
	"internal":   {},
	"tools":      {"internal"},
	"agent":      {"tools", "internal"},
	"codeexec":   {"cli", "config", "extension", "tools", "internal"},
	"delegate":   {"config", "agent", "builder", "extension", "tools", "internal"},
	"extension":  {"tools", "agent/prompt", "agent/model", "internal"},
	"extensions": {"cli", "config", "extension", "tools", "agent", "internal"},
	"server":     {"protocol", "cli", "config", "tools", "agent", "codeexec", "delegate", "extension", "extensions", "builder", "internal"},
	"builder":    {"agent", "extension", "tools"},
	"bench":      {""},
	"release":    {},
	"e2e":        {""},
}

// strict restricts packages further than their top directory: they may import exactly these.
var strict = map[string][]string{
	"server": {"server/attachments", "server/models", "server/spending", "cli", "config", "builder", "extension", "tools", "agent",
		"internal/amount", "internal/folderpath", "internal/markup", "internal/proc", "internal/program", "internal/safefile", "internal/sandbox", "internal/search", "internal/spelling", "internal/userpath", "internal/workspace"},
	"server/attachments": {"agent", "internal/lazyregexp", "internal/workspace", "tools"},
	"server/spending":    {"config", "agent", "tools", "internal/amount"},
	"server/models":      {"config", "agent", "internal/filelock", "internal/proc", "internal/program", "internal/safefile", "internal/userpath"},
	// The protocols have methods for these features and for no others.
	"server/acp": {"server", "protocol", "config", "tools", "agent", "extension", "internal", "delegate",
		"extensions/checkpoints", "extensions/feedback", "extensions/foldertrust", "extensions/mcp"},
	"server/lsp": {"server", "protocol", "config", "tools", "agent", "extension", "internal", "delegate",
		"extensions/checkpoints", "extensions/foldertrust"},
	"internal/workspace":    {"internal/diff", "internal/ignore", "internal/safefile", "internal/scratch", "internal/search", "internal/spelling", "internal/textenc"},
	"internal/search":       {"internal/ignore", "internal/safefile", "internal/textenc"},
	"internal/ignore":       {"internal/safefile"},
	"internal/diff":         {"internal/textenc"},
	"internal/textenc":      {},
	"internal/editorconfig": {},
	"internal/proc":         {"internal/proc", "internal/scratch", "internal/safefile"},
	"internal/scratch":      {"internal/filelock", "internal/safefile"},
	"internal/peer":         {"internal/proc"},
	"internal/program":      {"internal/safefile"},
	"internal/gitrepo":      {"internal/safefile"},
	"internal/userpath":     {"internal/proc", "internal/safefile", "internal/scratch"},
	"internal/gitread": {"internal/gitrepo", "internal/ignore", "internal/lazyregexp", "internal/proc", "internal/program",
		"internal/safefile", "internal/scratch"},
	"internal/trust":       {"internal/filelock", "internal/folderpath", "internal/frontmatter", "internal/gitrepo", "internal/lazyregexp", "internal/safefile", "internal/textfile"},
	"internal/filelock":    {},
	"internal/folderpath":  {},
	"internal/frontmatter": {"internal/textfile"},
	"internal/amount":      {},
	"internal/escape":      {},
	"internal/shorten":     {},
	"internal/markup":      {},
	"internal/render":      {},
	"internal/safefile":    {},
	"internal/spelling":    {},
	"internal/protected":   {"internal/lazyregexp", "internal/safefile"},
	"internal/tokens":      {},
	"internal/lazyregexp":  {},
	"config":               {"config", "internal/lazyregexp", "internal/safefile", "internal/shorten", "internal/spelling", "internal/textfile"},
	"internal/textfile":    {"internal/safefile", "internal/textenc"},
}

// rights lists what extensions may use beside their [extension.Session], and which of them may. A
// folder stands for its packages.
var rights = map[string][]string{
	"internal/proc": {"codeexec", "delegate", "extensions/checkpoints", "extensions/environment", "extensions/hooks", "extensions/lsp",
		"extensions/mcp", "extensions/plugins", "extensions/references", "extensions/skills"},
	"internal/sandbox": {"codeexec", "delegate", "extensions/checkpoints", "extensions/environment", "extensions/mcp", "extensions/plugins",
		"extensions/references"},
	"net/http": {"extensions/mcp", "extensions/skills"},
	"Bounds": {"codeexec", "delegate", "extensions/checkpoints", "extensions/environment", "extensions/files", "extensions/lsp", "extensions/mcp",
		"extensions/references", "extensions/shell", "extensions/vision", "extensions/web"},
}

// Only the listed extensions import packages for processes, the sandbox and the network, or use the
// Bounds of their session.
func TestRightsOfExtensions(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for file := range goFiles(t) {
		file = filepath.ToSlash(file)
		top, _, _ := strings.Cut(file, "/")
		if strings.HasSuffix(file, "_test.go") || top != "extensions" && top != "codeexec" && top != "delegate" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		uses := map[string]bool{}
		for _, spec := range parsed.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil {
				uses[strings.TrimPrefix(name, module)] = true
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Bounds" {
				uses["Bounds"] = true
			}
			return true
		})
		for right, may := range rights {
			at := slices.IndexFunc(may, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
			switch {
			case uses[right] && at < 0:
				t.Errorf("%s uses %s: it has no right to it", file, right)
			case uses[right]:
				used[right+" "+may[at]] = true
			}
		}
	}
	for right, may := range rights {
		for _, dir := range may {
			if !used[right+" "+dir] {
				t.Errorf("%s does not use %s: remove the right", dir, right)
			}
		}
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	files := 0
	for file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			files++
			checkImports(t, filepath.ToSlash(file))
		}
	}
	if files < 10 {
		t.Errorf("only %d files were checked: the walk is broken", files)
	}
}

func checkImports(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	dir := path.Dir(file)
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if (name == "text/template" || name == "html/template") && !strings.HasPrefix(dir, "release") {
			t.Errorf("%s imports %s: the program gets 3 MB larger, because the linker keeps each method of each type. Use internal/render", file, name)
		}
		if ours, ok := strings.CutPrefix(name, module); ok && !mayImport(dir, ours) {
			t.Errorf("%s imports %s: the table in ARCHITECTURE.md does not allow it", file, ours)
		}
	}
}

func mayImport(dir, ours string) bool {
	top, _, _ := strings.Cut(dir, "/")
	allowed, known := layers[top]
	if !known {
		return false
	}
	if only, ok := strict[dir]; ok {
		allowed = only
	} else {
		allowed = append([]string{top}, allowed...)
	}
	for _, prefix := range allowed {
		if prefix == "" || ours == prefix || strings.HasPrefix(ours, prefix+"/") {
			return true
		}
	}
	return false
}

func TestLayersForbid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		dir, ours string
		want      bool
	}{
		{"agent", "server", false},
		{"tools", "agent", false},
		{"tools", "protocol/acp", false},
		{"protocol/acp", "agent", false},
		{"internal/workspace", "internal/proc", false},
		{"server", "extensions/mcp", false},
		{"server", "codeexec", false},
		{"server", "delegate", false},
		{"server", "internal/checkpoint", false},
		{"server", "internal/websearch", false},
		{"server/app", "extensions/mcp", true},
		{"server/lsp", "agent/model", true},
		{"server/lsp", "extensions/memory", false},
		{"server/acp", "codeexec", false},
		{"cmd/hermes-ls", "server/lsp", true},
		{"internal/search", "internal/workspace", false},
		{"internal/safefile", "internal/scratch", false},
		{"internal/gitread", "internal/workspace", false},
		{"newdir", "agent", false},
	} {
		if got := mayImport(tc.dir, tc.ours); got != tc.want {
			t.Errorf("mayImport(%s, %s) = %v", tc.dir, tc.ours, got)
		}
	}
}
