//go:build e2e

package e2e

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// languageServers is the folder of gopls, pyright, typescript-language-server and clangd.
func languageServers(t *testing.T) string {
	t.Helper()
	dir := ""
	for _, program := range []string{"gopls", "pyright-langserver", "typescript-language-server", "clangd"} {
		dir = filepath.Dir(installed(t, program, "languageservers", "bin", program))
	}
	return dir
}

// threeLanguages is a workspace with the same function in three languages. Each encoding counts the
// characters before its name differently.
var threeLanguages = map[string]string{
	"go.mod":            "module example.org/shop\n\ngo 1.24\n",
	"shop/shop.go":      "package shop\n\n// Priced has a price.\ntype Priced interface{ Cents() int }\n\n// Price is in cents.\ntype Price int\n\n// Cents returns the price.\nfunc (p Price) Cents() int { return int(p) }\n\n// Total adds prices.\nfunc Total(all []Price) Price {\n\tvar sum Price\n\tfor _, p := range all {\n\t\tsum += p\n\t}\n\treturn sum\n}\n",
	"cmd/main.go":       "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/shop/shop\"\n)\n\nfunc main() {\n\tfmt.Println(\"äö😀\", shop.Total([]shop.Price{1, 2}))\n}\n",
	"cmd/broken.go":     "package main\n\nfunc broken() (int, error) {\n\treturn 1\n}\n",
	"py/prices.py":      "def total(items: list[int]) -> int:\n    \"\"\"Adds prices.\"\"\"\n    return sum(items)\n\n\nprint(\"äö😀\", total([1]))\n",
	"py/use.py":         "from prices import total\n\nname: str = total([1, 2])\n",
	"web/tsconfig.json": `{"compilerOptions": {"strict": true, "target": "es2022", "module": "es2022", "types": []}, "include": ["*.ts"]}`,
	"web/shop.ts":       "export interface Priced { price: number }\n\n/** Adds prices. */\nexport function total(items: Priced[]): number {\n  return items.reduce((sum, i) => sum + i.price, 0);\n}\n\nexport class Book implements Priced {\n  price = 1;\n}\n",
	"web/use.ts":        "import { total } from \"./shop\";\n\nexport const use = [\"äö😀\", total([{ price: 1 }])];\nexport const name: string = total([]);\n",
}

// lspReply is a result of the tool.
type lspReply struct {
	Locations []struct {
		Path, Text string
		Line       int
	}
	Symbols []struct {
		Name, Kind, Path string
		Line             int
	}
	Diagnostics lspProblems
	Fixes       []struct{ Title, Kind string }
	Changed     []struct{ Path, Lines string }
	Text        string
	Server      string
	Error       string
	Complete    *bool
}

type lspProblem struct {
	Path, Severity, Message string
	Line                    int
}

// lspProblems are the problems in diagnostics. The result of an edit contains lines of text
// instead, about the editor's state at the moment: between the changes of two files, a renamed name
// may be unknown.
type lspProblems []lspProblem

func (p *lspProblems) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		return nil
	}
	return json.Unmarshal(data, (*[]lspProblem)(p))
}

func (r lspReply) places() (all []string) {
	for _, l := range r.Locations {
		all = append(all, fmt.Sprintf("%s:%d", l.Path, l.Line))
	}
	for _, s := range r.Symbols {
		all = append(all, fmt.Sprintf("%s %s:%d", s.Name, s.Path, s.Line))
	}
	for _, c := range r.Changed {
		all = append(all, c.Path+":"+c.Lines)
	}
	for _, d := range r.Diagnostics {
		all = append(all, fmt.Sprintf("%s %s:%d", d.Severity, d.Path, d.Line))
	}
	slices.Sort(all)
	return all
}

// lspEditor is a session in an editor with language servers.
type lspEditor struct {
	*reads
	servers map[string]string // names by language
}

// ask runs calls of the tool at the same time, which must succeed, and returns their results.
func (e lspEditor) ask(calls ...map[string]any) []lspReply {
	e.Helper()
	replies := e.run(calls...)
	for i, r := range replies {
		if r.Error != "" || r.Complete != nil && !*r.Complete {
			e.Errorf("%s: %v: %+v", e.name, calls[i], r)
		}
	}
	return replies
}

// run runs calls of the tool at the same time and returns their results.
func (e lspEditor) run(calls ...map[string]any) (replies []lspReply) {
	e.Helper()
	var all []string
	for _, args := range calls {
		data, err := json.Marshal(args)
		if err != nil {
			e.Fatal(err)
		}
		all = append(all, "lsp", string(data))
	}
	requests := e.say("Look it up", sayCalls("tool_calls", all...))
	results := resultsOf(requests[len(requests)-1])
	for i, args := range calls {
		var r lspReply
		if err := json.Unmarshal([]byte(results[i]), &r); err != nil {
			e.Fatalf("%v returned %q", args, results[i])
		}
		replies = append(replies, r)
	}
	return replies
}

// until repeats a call until its result satisfies has. A server may need a moment to find it,
// without reporting this.
func (e lspEditor) until(has func(lspReply) bool, args map[string]any) (r lspReply) {
	e.Helper()
	waitFor(e.T, fmt.Sprintf("%s: %v", e.name, args), func() bool {
		r = e.run(args)[0]
		if r.Error != "" {
			e.Fatalf("%v: %s", args, r.Error)
		}
		return has(r)
	})
	return r
}

func hasProblems(r lspReply) bool { return len(r.Diagnostics) > 0 }

func (e lspEditor) check(what string, got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: %s: %q, want %q", e.name, what, got, want)
	}
}

func at(action, path string, line int, symbol string) map[string]any {
	return map[string]any{"action": action, "path": path, "line": line, "symbol": symbol}
}

// read returns a file as it is on the disk.
func (e lspEditor) read(name string) string {
	text, err := os.ReadFile(filepath.Join(e.bed.workspace, name))
	if err != nil {
		e.Fatal(err)
	}
	return string(text)
}

// show opens a file in VS Code, because some servers look for problems only in visible files.
func (e lspEditor) show(name string) {
	if v, ok := e.host.(*readsVSCode); ok {
		v.do("open", name)
	}
}

func (e lspEditor) golang() {
	r := e.ask(
		at("references", "shop/shop.go", 13, "Total"), at("definition", "cmd/main.go", 10, "shop.Total"), at("implementation", "shop/shop.go", 4, "Priced"),
		at("type", "shop/shop.go", 16, "sum"), at("hover", "cmd/main.go", 10, "Total"),
	)
	e.check("references", r[0].places(), "cmd/main.go:10", "shop/shop.go:13")
	e.check("definition", r[1].places(), "shop/shop.go:13")
	e.check("implementation", r[2].places(), "shop/shop.go:7")
	e.check("type", r[3].places(), "shop/shop.go:7")
	e.want("the description", r[4].Text, "Total adds prices.")
	r = append(r, e.ask(
		map[string]any{"action": "symbols", "path": "shop/shop.go"}, map[string]any{"action": "find", "query": "Total"},
	)...)
	for _, want := range []string{"Price shop/shop.go:7", "Priced shop/shop.go:4", "Total shop/shop.go:13"} {
		if !slices.Contains(r[5].places(), want) {
			e.Errorf("%s: the symbols lack %s: %q", e.name, want, r[5].places())
		}
	}
	if !slices.ContainsFunc(r[6].places(), func(s string) bool { return strings.HasSuffix(s, "Total shop/shop.go:13") }) {
		e.Errorf("%s: the symbol is not found: %q", e.name, r[6].places())
	}
	for _, one := range r[:6] {
		if one.Server != e.servers["go"] {
			e.Errorf("%s: %q has answered", e.name, one.Server)
		}
	}
	broken := e.until(hasProblems, map[string]any{"action": "diagnostics", "path": "cmd/broken.go"})
	e.check("diagnostics", broken.places(), "error cmd/broken.go:4")
	const title = "Fill in return values"
	e.until(func(r lspReply) bool {
		return slices.ContainsFunc(r.Fixes, func(f struct{ Title, Kind string }) bool { return f.Title == title })
	}, map[string]any{"action": "fixes", "path": "cmd/broken.go", "line": 4})
	fixed := e.ask(map[string]any{"action": "fix", "path": "cmd/broken.go", "line": 4, "title": title})[0]
	renamed := e.ask(map[string]any{"action": "rename", "path": "shop/shop.go", "line": 13, "symbol": "Total", "new_name": "Sum"})[0]
	e.check("the rename", renamed.places(), "cmd/main.go:10", "shop/shop.go:12-13")
	e.until(func(r lspReply) bool { return !hasProblems(r) }, map[string]any{"action": "diagnostics", "path": "cmd/main.go"})
	e.check("the fix", fixed.places(), "cmd/broken.go:4")
	e.want("cmd/broken.go", e.read("cmd/broken.go"), "return 1, nil")
	e.want("cmd/main.go", e.read("cmd/main.go"), "\"äö😀\", shop.Sum([]")
	// The server knows the new text. The open file may be unsaved.
	again := e.ask(at("references", "shop/shop.go", 13, "Sum"))[0]
	e.check("references after the rename", again.places(), "cmd/main.go:10", "shop/shop.go:13")
}

// newFile checks that the servers know a file just written by the agent.
func (e lspEditor) newFile() {
	e.Helper()
	file, _ := json.Marshal(map[string]any{
		"path": "cmd/more.go", "content": "package main\n\nimport \"example.org/shop/shop\"\n\nvar more = shop.Sum(nil)\n",
	})
	e.say("Use it", sayCalls("tool_calls", "write_file", string(file)))
	e.until(func(r lspReply) bool {
		return slices.Equal(r.places(), []string{"cmd/main.go:10", "cmd/more.go:5", "shop/shop.go:13"})
	}, at("references", "shop/shop.go", 13, "Sum"))
}

func (e lspEditor) python() {
	r := e.ask(
		at("references", "py/prices.py", 1, "total"), at("definition", "py/prices.py", 6, "total"), at("hover", "py/use.py", 3, "total"),
		map[string]any{"action": "symbols", "path": "py/prices.py"},
	)
	e.check("references", r[0].places(), "py/prices.py:1", "py/prices.py:6", "py/use.py:1", "py/use.py:3")
	e.check("definition", r[1].places(), "py/prices.py:1")
	e.want("the description", r[2].Text, "Adds prices.")
	if !slices.Contains(r[3].places(), "total py/prices.py:1") {
		e.Errorf("%s: the symbols are %q", e.name, r[3].places())
	}
	e.show("use.py")
	used := e.until(hasProblems, map[string]any{"action": "diagnostics", "path": "py/use.py"})
	e.check("diagnostics", used.places(), "error py/use.py:3")
	if r[0].Server != e.servers["python"] {
		e.Errorf("%s: %q has answered", e.name, r[0].Server)
	}
	renamed := e.ask(map[string]any{"action": "rename", "path": "py/prices.py", "line": 1, "symbol": "total", "new_name": "sum_of"})[0]
	e.check("the rename", renamed.places(), "py/prices.py:1, 6", "py/use.py:1, 3")
	e.want("py/prices.py", e.read("py/prices.py"), "\"äö😀\", sum_of([1])")
	e.want("py/use.py", e.read("py/use.py"), "import sum_of\n", "= sum_of([1, 2])")
}

func (e lspEditor) typescript() {
	r := e.ask(
		at("references", "web/shop.ts", 4, "total"), at("definition", "web/use.ts", 3, "total"), at("implementation", "web/shop.ts", 1, "Priced"),
		at("hover", "web/use.ts", 3, "total"), map[string]any{"action": "symbols", "path": "web/shop.ts"},
	)
	e.check("references", r[0].places(), "web/shop.ts:4", "web/use.ts:1", "web/use.ts:3", "web/use.ts:4")
	e.check("definition", r[1].places(), "web/shop.ts:4")
	if !slices.Contains(r[2].places(), "web/shop.ts:8") {
		e.Errorf("%s: the implementations are %q", e.name, r[2].places())
	}
	e.want("the description", r[3].Text, "Adds prices.")
	if !slices.Contains(r[4].places(), "total web/shop.ts:4") {
		e.Errorf("%s: the symbols are %q", e.name, r[4].places())
	}
	if r[0].Server != e.servers["typescript"] {
		e.Errorf("%s: %q has answered", e.name, r[0].Server)
	}
	e.show("use.ts")
	used := e.until(hasProblems, map[string]any{"action": "diagnostics", "path": "web/use.ts"})
	e.check("diagnostics", used.places(), "error web/use.ts:4")
	renamed := e.ask(map[string]any{"action": "rename", "path": "web/shop.ts", "line": 8, "symbol": "Book", "new_name": "Volume"})[0]
	e.check("the rename", renamed.places(), "web/shop.ts:8")
	e.want("web/shop.ts", e.read("web/shop.ts"), "class Volume implements")
}

// TestLSPInEditors runs each action of the tool in editors whose language servers answer.
func TestLSPInEditors(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"go": "gopls", "python": "pyright-langserver", "typescript": "typescript-language-server"}
	extensions := map[string]string{"go": "test.gopls", "python": "test.pyright-langserver", "typescript": "vscode.typescript-language-features"}
	for _, host := range []struct {
		name    string
		open    func(*testing.T, bed) readsHost
		servers map[string]string
	}{
		{"Neovim 0.10", func(t *testing.T, b bed) readsHost { return newLSPNeovim(t, "0.10", b) }, programs},
		{"Neovim 0.12", func(t *testing.T, b bed) readsHost { return newLSPNeovim(t, "0.12", b) }, programs},
		{"VS Code", newLSPVSCode, extensions},
	} {
		t.Run(host.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, threeLanguages)
			endpoint := &readsEndpoint{}
			server := httptest.NewServer(endpoint)
			t.Cleanup(server.Close)
			write(t, filepath.Join(b.home, "config.yaml"),
				fmt.Sprintf("model: {provider: custom, default: gpt-5, base_url: %q, api_key: x}\nlsp: {mode: editor, wait_timeout: 60}\n", server.URL+"/v1"))
			e := lspEditor{&reads{T: t, bed: b, endpoint: endpoint, host: host.open(t, b), name: host.name}, host.servers}
			e.golang()
			e.newFile()
			e.python()
			e.typescript()
		})
	}
}

const lspInit = `
vim.env.PATH = %q .. ":" .. vim.env.PATH
local servers = {
  go = { "gopls" },
  python = { "pyright-langserver", "--stdio" },
  typescript = { "typescript-language-server", "--stdio" },
}
vim.api.nvim_create_autocmd("FileType", {
  pattern = vim.tbl_keys(servers),
  callback = function(event)
    local cmd = servers[event.match]
    vim.lsp.start({ name = cmd[1], cmd = cmd, root_dir = vim.env.HERMES_WS }, { bufnr = event.buf })
  end,
})
`

func newLSPNeovim(t *testing.T, version string, b bed) readsHost {
	t.Helper()
	p := newPlugin(t, version, b)
	write(t, filepath.Join(b.home, "init.lua"), pluginInit+fmt.Sprintf(lspInit, languageServers(t)))
	p.start(t, "shop/shop.go")
	return readsNeovim{p}
}

// newLSPVSCode is a VS Code with its own extension for TypeScript, and an extension for each other
// server.
func newLSPVSCode(t *testing.T, b bed) readsHost {
	t.Helper()
	dir := t.TempDir()
	return newVSCode(t, b, "shop/shop.go", packServer(t, dir, "gopls", "go"), packServer(t, dir, "pyright-langserver", "python", "--stdio"))
}

// packServer packs an extension for starting a language server, like the extensions of languages.
func packServer(t *testing.T, dir, program, language string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, program+".vsix")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z := zip.NewWriter(file)
	add := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	manifest, _ := json.Marshal(map[string]any{
		"name": program, "publisher": "test", "version": "1.0.0", "engines": map[string]any{"vscode": "^1.91.0"},
		"main": "./extension.js", "activationEvents": []string{"onLanguage:" + language},
	})
	// VS Code takes PATH from a login shell, which has other programs.
	servers := languageServers(t)
	command, _ := json.Marshal(map[string]any{
		"command": filepath.Join(servers, program), "args": append([]string{}, args...),
		"options": map[string]any{"env": map[string]string{
			"PATH": servers + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME": dir,
		}},
	})
	add("extension/package.json", string(manifest))
	add("extension/extension.js", fmt.Sprintf(`const { LanguageClient } = require("vscode-languageclient/node");
let client;
exports.activate = () => {
  client = new LanguageClient(%[1]q, %[1]q, %[2]s, { documentSelector: [{ scheme: "file", language: %[3]q }] });
  return client.start();
};
exports.deactivate = () => client.stop();
`, program, command, language))
	add("[Content_Types].xml", `<?xml version="1.0" encoding="utf-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>`)
	add("extension.vsixmanifest", fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata><Identity Language="en-US" Id="%[1]s" Version="1.0.0" Publisher="test"/><DisplayName>%[1]s</DisplayName><Description>test</Description></Metadata><Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/><Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets></PackageManifest>`, program))
	modules := filepath.Join(root(t), ".cache", "hosts", "languageservers", "node_modules")
	for _, name := range []string{"vscode-languageclient", "vscode-languageserver-protocol", "vscode-languageserver-types", "vscode-jsonrpc", "semver", "minimatch", "brace-expansion", "balanced-match"} {
		err := filepath.WalkDir(filepath.Join(modules, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".js", ".json"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(modules, path)
			add("extension/node_modules/"+filepath.ToSlash(rel), string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
