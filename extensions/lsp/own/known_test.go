package own

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A server of the repository, in its folders or its node_modules, is never found.
func TestLocate(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ws := filepath.Join(dir, "ws")
	for _, name := range []string{"ws/bin/gopls", "ws/node_modules/.bin/gopls", "tools/node_modules/.bin/gopls", "usr/bin/gopls", "usr/bin/clangd", "ws/own", "ws/.venv/bin/ty", "home/tools/ty/bin/ty"} {
		put(t, filepath.Join(dir, name), "#!/bin/sh\n", 0o755)
	}
	if err := os.Symlink(filepath.Join(ws, "bin/gopls"), filepath.Join(dir, "usr/bin/zls")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "home/tools/ty/pyvenv.cfg"), "", 0o644) // as pipx and uv install it
	put(t, filepath.Join(dir, "home/bin/other"), "", 0o644)
	if err := os.Symlink("../tools/ty/bin/ty", filepath.Join(dir, "home/bin/ty")); err != nil {
		t.Fatal(err)
	}
	paths := func(names ...string) string {
		for i, n := range names {
			names[i] = filepath.Join(dir, n)
		}
		return strings.Join(names, string(filepath.ListSeparator))
	}
	for name, tt := range map[string]struct{ server, path, want string }{
		"in the workspace":      {"gopls", paths("ws/bin"), ""},
		"of the workspace":      {"gopls", paths("ws/node_modules/.bin"), ""},
		"of another project":    {"gopls", paths("tools/node_modules/.bin"), ""},
		"installed":             {"gopls", paths("ws/bin", "usr/bin"), "usr/bin/gopls"},
		"a link into the ws":    {"zls", paths("usr/bin"), ""},
		"in an environment":     {"ty", paths("ws/.venv/bin", "home/bin"), "home/bin/ty"},
		"relative":              {"gopls", "bin:" + paths("ws/bin"), ""},
		"not there":             {"ty", paths("usr/bin"), ""},
		"the user's command":    {"mine", "", "ws/own"},
		"a missing command":     {"gone", paths("usr/bin"), ""},
		"a name in the setting": {"named", paths("usr/bin"), "usr/bin/clangd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := specs(map[string]Custom{"mine": {Command: []string{filepath.Join(ws, "own")}}, "gone": {Command: []string{filepath.Join(ws, "gone")}}, "named": {Command: []string{"clangd", "-x"}}})
			i := slices.IndexFunc(all, func(s spec) bool { return s.name == tt.server })
			got, ok := all[i].locate(tt.path, []string{ws})
			if tt.want == "" && ok || tt.want != "" && got != filepath.Join(dir, tt.want) {
				t.Errorf("%q, %v", got, ok)
			}
		})
	}
}

// ~ in a command is the user's home, and a script in it is shown to its interpreter.
func TestCommandInHome(t *testing.T) {
	home := folder(t)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	script := filepath.Join(home, "src/server.py")
	put(t, script, "", 0o644)
	put(t, filepath.Join(home, "src/data"), "", 0o644)
	s := specs(map[string]Custom{"mine": {Command: []string{"python3", "~/src/server.py", "--log=~/log", "~/gone"}}})[0]
	if want := []string{"python3", script, "--log=" + home + "/log", home + "/gone"}; !slices.Equal(s.command, want) {
		t.Errorf("%q, want %q", s.command, want)
	}
	for _, tt := range []struct {
		command, want []string
	}{
		{[]string{"python3", "~/src/server.py", "~/src/data"}, []string{script}},
		{[]string{"/usr/bin/python3.12", "-X", "dev", "~/src/server.py"}, []string{script}},
		{[]string{"python3", "-m", "server", "--key=~/src/data"}, nil},
		{[]string{"my-server", "~/src/data"}, nil},
		{nil, nil},
	} {
		if got := specs(map[string]Custom{"mine": {Command: tt.command}})[0].script(); !slices.Equal(got, tt.want) {
			t.Errorf("%q: shown %q, want %q", tt.command, got, tt.want)
		}
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, name := range []string{"ws/one/go.mod", "ws/one/two/go.mod", "ws/one/two/a.go", "ws/a.go", "go.mod", "other/a.go"} {
		put(t, filepath.Join(dir, name), "", 0o644)
	}
	for file, want := range map[string]string{"ws/one/two/a.go": "ws/one", "ws/a.go": "ws", "other/a.go": "other"} {
		if got := builtIn[0].root(filepath.Join(dir, file), []string{filepath.Join(dir, "ws")}); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// The configuration changes and adds servers.
func TestSpecs(t *testing.T) {
	t.Parallel()
	all := specs(map[string]Custom{
		"gopls":  {Disabled: true},
		"clangd": {Command: []string{"/opt/clangd", "--x"}, Env: map[string]string{"A": "b"}},
		"elixir": {Command: []string{"/opt/elixir-ls"}, Extensions: []string{"ex", ".exs"}, RootMarkers: []string{"mix.exs"}, Init: json.RawMessage(`{"a":1}`)},
	})
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	if len(all) != len(builtIn) || names[0] != "clangd" || names[1] != "elixir" || slices.Contains(names, "gopls") {
		t.Errorf("%q", names)
	}
	changed := specs(map[string]Custom{"gopls": {Init: json.RawMessage(`{"staticcheck":true}`)}})[0]
	if got := options(changed); got != `{"staticcheck":true,"symbolScope":"workspace"}` {
		t.Errorf("gopls: %s", got)
	}
	if c := all[0]; strings.Join(append(c.command, c.args...), " ") != "/opt/clangd --x" || c.extensions[".cc"] != "cpp" || c.env["A"] != "b" {
		t.Errorf("%+v", c)
	}
	if e := all[1]; e.extensions[".ex"] != "ex" || e.extensions[".exs"] != "exs" || e.markers[0] != "mix.exs" || options(e) != `{"a":1}` {
		t.Errorf("%+v", e)
	}
}

func options(s spec) string {
	given, _ := s.initialize(found{})
	data, err := json.Marshal(given)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TypeScript's compiler comes from the installation of the server.
func TestTsserver(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, filepath.Join(dir, "lib/node_modules/typescript-language-server/lib/cli.mjs"), "", 0o755)
	put(t, filepath.Join(dir, "lib/node_modules/typescript/lib/tsserver.js"), "", 0o644)
	put(t, filepath.Join(dir, "alone/bin/server"), "", 0o755)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/node_modules/typescript-language-server/lib/cli.mjs", filepath.Join(dir, "bin/typescript-language-server")); err != nil {
		t.Fatal(err)
	}
	if got := tsserver(filepath.Join(dir, "bin/typescript-language-server")); got != filepath.Join(dir, "lib/node_modules/typescript/lib/tsserver.js") {
		t.Errorf("%q", got)
	}
	if got := tsserver(filepath.Join(dir, "alone/bin/server")); got != "" {
		t.Errorf("%q", got)
	}
}
