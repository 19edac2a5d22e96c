//go:build unix

package codeexec

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tool's environment for the project is found in every location.
func TestProjectEnvironments(t *testing.T) {
	t.Parallel()
	short := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return base64.URLEncoding.EncodeToString(sum[:])[:8]
	}
	for name, c := range map[string]struct {
		files   map[string]string // in the workspace
		env     func(p *place) (dir string, environ []string)
		missing string // without the environment
	}{
		"Poetry": {map[string]string{"pyproject.toml": "[tool.poetry]\nname = \"My App\"\n"}, func(p *place) (string, []string) {
			return p.home + "/venvs/my_app-" + short(p.workspace) + "-py3.12", []string{"POETRY_VIRTUALENVS_PATH=" + p.home + "/venvs"}
		}, ""},
		"Poetry's cache": {map[string]string{"pyproject.toml": "[project]\nname = \"app\"\n", "poetry.lock": "# lock\n"}, func(p *place) (string, []string) {
			return p.home + "/c/virtualenvs/app-" + short(p.workspace) + "-py3.12", []string{"POETRY_CACHE_DIR=" + p.home + "/c"}
		}, ""},
		"Pipenv": {map[string]string{"Pipfile": "[packages]\n"}, func(p *place) (string, []string) {
			return p.home + "/.local/share/virtualenvs/ws-" + short(p.workspace+"/Pipfile"), nil
		}, ""},
		"Hatch": {map[string]string{"pyproject.toml": "[project]\nname = \"my_app\"\n"}, func(p *place) (string, []string) {
			return p.home + "/h/env/virtual/my-app/" + short(p.workspace) + "/my-app", []string{"HATCH_DATA_DIR=" + p.home + "/h"}
		}, ""},
		"conda": {map[string]string{"environment.yml": "name: science\ndependencies: [python]\n"}, func(p *place) (string, []string) {
			return p.home + "/miniforge3/envs/science", nil
		}, "the conda environment science of environment.yml was not found"},
		"mamba": {map[string]string{"environment.yaml": "name: science\n"}, func(p *place) (string, []string) {
			return p.home + "/mm/envs/science", []string{"MAMBA_ROOT_PREFIX=" + p.home + "/mm"}
		}, "was not found"},
		"pixi":         {nil, func(p *place) (string, []string) { return p.workspace + "/.pixi/envs/default", nil }, ""},
		"direnv":       {nil, func(p *place) (string, []string) { return p.workspace + "/.direnv/python-3.12", nil }, ""},
		"a file .venv": {map[string]string{".venv": "mine\n"}, func(p *place) (string, []string) { return p.home + "/.virtualenvs/mine", nil }, ""},
		"another name": {map[string]string{"my-env/pyvenv.cfg": "home = /usr\n"}, func(p *place) (string, []string) { return p.workspace + "/my-env", nil }, ""},
		"VS Code's settings": {map[string]string{".vscode/settings.json": `{ // "python.pythonPath": "/turned-off/python",
			"python.defaultInterpreterPath": "${workspaceFolder}/tools/py/bin/python"}`}, func(p *place) (string, []string) { return p.workspace + "/tools/py", nil }, "named in .vscode/settings.json, does not exist"},
		"a dev container": {map[string]string{".devcontainer/devcontainer.json": `{"customizations": {"vscode": {"settings": {"python.defaultInterpreterPath": "/nowhere/bin/python"}}}}`}, nil, "/nowhere/bin/python, named in .devcontainer/devcontainer.json, does not exist"},
		"Windows":         {map[string]string{".venv/Scripts/python.exe": "MZ", ".venv/pyvenv.cfg": "home = C\n"}, nil, ".venv was made on Windows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for file, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(p.workspace, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				p.file(filepath.Join(p.workspace, file), text)
			}
			var environ []string
			dir := ""
			if c.env != nil {
				dir, environ = c.env(p)
			}
			found, err := NewPythons().Find(t.Context(), p.search(environ...))
			passed := strings.Join(found.Passed, "; ")
			if err != nil || !strings.HasPrefix(found.Path, p.paths) || !strings.Contains(passed, c.missing) || strings.Contains(passed, "turned-off") {
				t.Errorf("without it: %+v, %v", found, err)
			}
			if dir == "" {
				return
			}
			p.link(dir+"/bin", "python")
			if found, err = NewPythons().Find(t.Context(), p.search(environ...)); err != nil || found.Path != dir+"/bin/python" {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// If a file of the workspace names an interpreter in an unusual location, it starts only after
// approval.
func TestUnusualInterpreter(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		".vscode/settings.json":           `{"python.defaultInterpreterPath": "${userHome}/odd/bin/python3"}`,
		".devcontainer/devcontainer.json": `{"customizations": {"vscode": {"settings": {"python.pythonPath": "HOME/odd/bin/python3"}}}}`,
		".venv":                           "HOME/odd\n",
		"environment.yml":                 "prefix: HOME/odd\n",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			odd := p.link(p.home+"/odd/bin", "python3")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(p.workspace, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			p.file(filepath.Join(p.workspace, file), strings.ReplaceAll(text, "HOME", p.home))
			found, err := NewPythons().Find(t.Context(), p.search())
			if err != nil || found.Path != p.paths+"/python3" || !strings.Contains(strings.Join(found.Passed, "; "), odd+" was not started, because only "+file) {
				t.Errorf("it ran without a question, or is not told: %+v, %v", found, err)
			}
			for _, answer := range []error{nil, errors.New("denied")} {
				asked := ""
				s := p.search()
				s.Allow = func(_ context.Context, path string) error { asked = path; return answer }
				found, err = NewPythons().Find(t.Context(), s)
				if err != nil || asked != odd || (found.Path == odd) != (answer == nil) {
					t.Errorf("answer %v: asked about %q, %+v, %v", answer, asked, found, err)
				}
			}
			// The same path is used without a question if the user's environment names it.
			if found, err = NewPythons().Find(t.Context(), p.search("VIRTUAL_ENV="+p.home+"/odd")); err != nil || found.Path != odd {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// The version requested by the project is used, or the result reports that it is missing.
func TestDemandedVersions(t *testing.T) {
	t.Parallel()
	fake := func(version string) string { return `printf '` + version + `\n/x\n/x\n/x\n'` }
	for file, text := range map[string]string{
		".python-version": "3.99\n", "pyproject.toml": "[project]\nrequires-python = \">=3.99,<4\"\n", ".tool-versions": "nodejs 22\npython 3.99.1\n",
		"mise.toml": "[tools]\npython = \"3.99\"\n", "runtime.txt": "python-3.99.2\n", "Pipfile": "[requires]\npython_version = \"3.99\"\n",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.file(filepath.Join(p.workspace, file), text)
			found, err := NewPythons().Find(t.Context(), p.search())
			if err != nil || found.Path != p.paths+"/python3" || !strings.Contains(strings.Join(found.Passed, "; "), "3.99") || !strings.Contains(strings.Join(found.Passed, "; "), file) {
				t.Errorf("it is not told: %+v, %v", found, err)
			}
			p.program(p.home+"/.local/share/uv/python/cpython-3.99.7-linux-x86_64-gnu/bin", "python3", fake("3.99.7"))
			exact := strings.Contains(text, "3.99.")
			found, err = NewPythons().Find(t.Context(), p.search())
			if err != nil || (found.Version == "3.99.7") == exact {
				t.Errorf("with uv's: %+v, %v", found, err)
			}
		})
	}
}

func TestFitsVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, version string
		fits          bool
	}{
		{">=3.11", "3.12.1", true}, {">=3.11", "3.10.9", false}, {">=3.11,<3.13", "3.13.0", false}, {">=3.11, <3.13", "3.12", true},
		{"3.12", "3.12.7", true}, {"3.12", "3.1.2", false}, {"==3.12.*", "3.12.7", true}, {"~=3.11", "3.14.0", true}, {"~=3.11.2", "3.12.0", false},
		{"^3.11", "3.12", true}, {"^3.11", "4.0", false}, {"~3.11", "3.11.9", true}, {"~3.11", "3.12.0", false}, {"!=3.12.*", "3.12.1", false},
		{">=3.9 || ^4", "4.1", true}, {">3.11", "3.11.4", false}, {">=3.8", "3.8.0", true}, {"<=3.12", "3.12.9", true},
	} {
		if got := fitsVersion(c.want, c.version); got != c.fits {
			t.Errorf("%s and %s: %v", c.want, c.version, got)
		}
	}
}
