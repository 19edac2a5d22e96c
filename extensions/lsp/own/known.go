package own

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/program"
)

// Custom is an entry of lsp.servers. Its nonempty fields override a built-in server of the same
// name.
type Custom struct {
	Command     []string          `json:"command" doc:"Program and arguments. Empty: the program of the built-in server, from PATH."`
	Extensions  []string          `json:"extensions" doc:"Extensions of files, such as .ex."`
	RootMarkers []string          `json:"root_markers" doc:"Files that mark the root of a project, such as mix.exs."`
	Init        json.RawMessage   `json:"initialization_options" doc:"Initialization options of the server."`
	Settings    json.RawMessage   `json:"settings" doc:"Settings of the server, by section."`
	Env         map[string]string `json:"env" doc:"Environment variables of the server."`
	Disabled    bool              `json:"disabled" doc:"The server is not started."`
}

// spec is a language server, and how it is started.
type spec struct {
	name       string
	language   string // of its files, for people
	command    []string
	args       []string          // after the program found on PATH; for a built-in server
	extensions map[string]string // language ids by extension
	markers    []string          // of the root of a project
	env        map[string]string
	builds     []string // variables for the folder in which it builds the project
	status     bool     // it reports experimental/serverStatus
	loaded     string   // part of the message that the project is loaded; empty: there is none
	push       bool     // settings are sent, too, not only answered
	repeats    bool     // it publishes diagnostics of a version again, when included files are read

	// initialize and settings return its options. They may be nil.
	initialize func(f found) (any, error)
	settings   func(f found) any
}

// found holds the known values at the start of a server.
type found struct {
	program string // absolute path
	python  string // interpreter; empty: none is known
}

func same(id string, extensions ...string) map[string]string {
	all := map[string]string{}
	for _, e := range extensions {
		all[e] = id
	}
	return all
}

// builtIn are the known servers, in order of preference within a language.
var builtIn = []spec{
	{name: "gopls", language: "Go", command: []string{"gopls"}, extensions: same("go", ".go"), markers: []string{"go.work", "go.mod"}, initialize: goplsOptions},
	{name: "basedpyright", language: "Python", command: []string{"basedpyright-langserver"}, args: []string{"--stdio"}, extensions: python, markers: pythonRoots, settings: pyrightSettings, loaded: pyrightLoaded},
	{name: "pyright", language: "Python", command: []string{"pyright-langserver"}, args: []string{"--stdio"}, extensions: python, markers: pythonRoots, settings: pyrightSettings, loaded: pyrightLoaded},
	{name: "ty", language: "Python", command: []string{"ty"}, args: []string{"server"}, extensions: python, markers: pythonRoots, initialize: tyOptions},
	{
		name: "typescript-language-server", language: "TypeScript", command: []string{"typescript-language-server"}, args: []string{"--stdio"},
		extensions: map[string]string{
			".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
			".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
		},
		markers: []string{"tsconfig.json", "jsconfig.json", "package.json"}, initialize: typescriptOptions,
	},
	{name: "rust-analyzer", language: "Rust", command: []string{"rust-analyzer"}, extensions: same("rust", ".rs"), markers: []string{"Cargo.toml", "rust-project.json"}, status: true, builds: []string{"CARGO_TARGET_DIR"}},
	{
		name: "clangd", language: "C and C++", command: []string{"clangd"},
		extensions: map[string]string{
			".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
			".m": "objective-c", ".mm": "objective-cpp", ".cu": "cuda",
		},
		markers: []string{"compile_commands.json", "compile_flags.txt", ".clangd"}, repeats: true,
	},
	{name: "jdtls", language: "Java", command: []string{"jdtls"}, extensions: same("java", ".java"), markers: []string{"pom.xml", "build.gradle", "build.gradle.kts"}},
	{name: "ruby-lsp", language: "Ruby", command: []string{"ruby-lsp"}, extensions: same("ruby", ".rb"), markers: []string{"Gemfile"}},
	{name: "lua-language-server", language: "Lua", command: []string{"lua-language-server"}, extensions: same("lua", ".lua"), markers: []string{".luarc.json", ".luarc.jsonc"}},
	{name: "zls", language: "Zig", command: []string{"zls"}, extensions: same("zig", ".zig"), markers: []string{"build.zig"}, builds: []string{"ZIG_LOCAL_CACHE_DIR"}},
	{name: "bash-language-server", language: "shell", command: []string{"bash-language-server"}, args: []string{"start"}, extensions: same("shellscript", ".sh", ".bash")},
}

var (
	python      = same("python", ".py", ".pyi")
	pythonRoots = []string{"pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"}
)

// goplsOptions limit searches for symbols to the workspace.
func goplsOptions(found) (any, error) { return map[string]any{"symbolScope": "workspace"}, nil }

// pyrightLoaded is in the message "Found 2 source files", and in "No source files found."
const pyrightLoaded = "source file"

// pyrightSettings give pyright the interpreter of scripts.
func pyrightSettings(f found) any {
	settings := map[string]any{"analysis": map[string]any{"diagnosticMode": "openFilesOnly", "useLibraryCodeForTypes": true}}
	if f.python != "" {
		settings["pythonPath"] = f.python
	}
	return map[string]any{"python": settings}
}

func tyOptions(f found) (any, error) {
	if f.python == "" {
		return nil, nil
	}
	return map[string]any{"configuration": map[string]any{"environment": map[string]any{"python": f.python}}}, nil
}

// typescriptOptions names the tsserver of the server's installation: without it, the server starts
// the workspace's tsserver. The syntax server is off, because it answers from single files while
// the project loads.
func typescriptOptions(f found) (any, error) {
	path := tsserver(f.program)
	if path == "" {
		return nil, errors.New("typescript-language-server was not started, because typescript is not installed beside it. Use search_files; the user can install typescript")
	}
	return map[string]any{
		"tsserver": map[string]any{"path": path, "useSyntaxServer": "never"}, "disableAutomaticTypingAcquisition": true,
		"preferences": map[string]any{"providePrefixAndSuffixTextForRename": false},
	}, nil
}

// tsserver returns the tsserver.js installed beside a program of npm. If there is none, it returns
// "".
func tsserver(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if file := filepath.Join(dir, "typescript", "lib", "tsserver.js"); filepath.Base(dir) == "node_modules" && isFile(file) {
			return file
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// specs returns the configured servers, then the built-in servers.
func specs(custom map[string]Custom) (all []spec) {
	changed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		c := custom[name]
		changed[name] = true
		s := spec{name: name, language: name}
		if i := slices.IndexFunc(builtIn, func(b spec) bool { return b.name == name }); i >= 0 {
			s = builtIn[i]
		}
		if !c.Disabled {
			all = append(all, s.with(c))
		}
	}
	for _, s := range builtIn {
		if !changed[s.name] {
			all = append(all, s)
		}
	}
	return all
}

// with returns the server with the fields of the configuration.
func (s spec) with(c Custom) spec {
	if len(c.Command) > 0 {
		s.command, s.args = slices.Clone(c.Command), nil
		for i, word := range s.command {
			s.command[i] = program.InHome(word)
		}
	}
	if len(c.Extensions) > 0 {
		known := s.extensions
		s.extensions = map[string]string{}
		for _, e := range c.Extensions {
			e = "." + strings.TrimPrefix(e, ".")
			s.extensions[e] = cmp.Or(known[e], strings.TrimPrefix(e, "."))
		}
	}
	if len(c.RootMarkers) > 0 {
		s.markers = c.RootMarkers
	}
	if len(c.Init) > 0 {
		built := s.initialize
		s.initialize = func(f found) (any, error) {
			var ours any
			if built != nil {
				var err error
				if ours, err = built(f); err != nil {
					return nil, err
				}
			}
			return merged(asTree(ours), asTree(c.Init)), nil
		}
	}
	if len(c.Settings) > 0 {
		s.settings, s.push = func(found) any { return c.Settings }, true
	}
	s.env = c.Env
	return s
}

// merged returns the members of both objects. Members of b override a's.
func merged(a, b any) any {
	into, ok := a.(map[string]any)
	from, both := b.(map[string]any)
	if !ok || !both {
		return b
	}
	for name, value := range from {
		into[name] = merged(into[name], value)
	}
	return into
}

// buildsIn returns the environment in which a server builds the project in its own folder: it
// cannot write in the workspace. If own is empty, it returns nothing.
func (s spec) buildsIn(own string) (env []string) {
	if own == "" {
		return nil
	}
	for _, name := range s.builds {
		env = append(env, name+"="+filepath.Join(own, strings.ToLower(name)))
	}
	return env
}

// locate returns the server's program. A single-word command is looked up on PATH, outside of the
// workspace; a command of the user's configuration may be anywhere.
func (s spec) locate(path string, workspace []string) (string, bool) {
	if len(s.command) == 0 {
		return "", false
	}
	if strings.ContainsAny(s.command[0], `/\`) {
		return s.command[0], isFile(s.command[0])
	}
	file, err := program.FindTool(path, s.command[0], workspace)
	return file, err == nil
}

// interpreter matches the names of programs that run a file from their arguments.
var interpreter = lazyregexp.New(`^(?:python|pypy|node|deno|bun|ruby|perl|php|lua|luajit|java|dotnet|bash|sh|zsh)[\d.]*(?:\.exe)?$`)

// script returns the file run by the interpreter in a user-configured command, or nothing. Other
// arguments stay hidden.
func (s spec) script() []string {
	if len(s.command) == 0 || !interpreter.MatchString(filepath.Base(s.command[0])) {
		return nil
	}
	for _, word := range s.command[1:] {
		if filepath.IsAbs(word) && isFile(word) {
			return []string{word}
		}
	}
	return nil
}

// root returns the outermost folder with a marker, from the file up to its workspace folder. If
// there is none, it returns the workspace folder.
func (s spec) root(file string, workspace []string) string {
	top := ""
	for _, folder := range workspace {
		if rel, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(rel) && len(folder) > len(top) {
			top = folder
		}
	}
	if top == "" {
		return filepath.Dir(file)
	}
	root := top
	for dir := filepath.Dir(file); len(dir) >= len(top); dir = filepath.Dir(dir) {
		if slices.ContainsFunc(s.markers, func(m string) bool { return isFile(filepath.Join(dir, m)) }) {
			root = dir
		}
		if dir == top {
			break
		}
	}
	return root
}
