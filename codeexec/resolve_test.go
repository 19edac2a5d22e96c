//go:build unix

package codeexec

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// systemPython is a real interpreter, not a shim.
func systemPython(t *testing.T) string {
	t.Helper()
	found, err := NewPythons().Find(t.Context(), Search{Environ: plainEnviron()})
	if err != nil {
		t.Fatalf("the tests need Python: %v", err)
	}
	return found.Path
}

// place is where a case of resolution plays: a home, a workspace, another folder.
type place struct {
	t                       *testing.T
	python                  string
	workspace, other, paths string
	home                    string
}

func newPlace(t *testing.T) *place {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, python: systemPython(t)}
	for name, dir := range map[string]*string{"ws": &p.workspace, "other": &p.other, "bin": &p.paths, "home": &p.home} {
		*dir = filepath.Join(root, name)
		if err := os.Mkdir(*dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.link(p.paths, "python3")
	return p
}

// venv makes a real virtual environment.
func (p *place) venv(dir string) string {
	p.t.Helper()
	if out, err := exec.Command(p.python, "-I", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		p.t.Fatalf("making a venv: %v\n%s", err, out)
	}
	return dir
}

// link makes an interpreter with this name that runs the real interpreter.
func (p *place) link(dir, name string) string {
	return p.program(dir, name, `exec `+p.python+` "$@"`)
}

// program makes a program.
func (p *place) program(dir, name, script string) string {
	p.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	// As in copyFor.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) file(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) search(environ ...string) Search {
	return Search{
		Folders: []string{p.workspace, p.other},
		Environ: append([]string{"PATH=" + p.paths + ":/usr/bin:/bin", "HOME=" + p.home}, environ...),
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	tooOld := `printf '3.7.16\n/x\n/x\n/x\n'`
	tests := []struct {
		name string
		// make prepares the place. It returns the search and its expected result: the path, a part
		// of why, and a part of the skipped candidates.
		make func(p *place) (s Search, path, why, passed string)
	}{
		{"nothing but PATH", func(p *place) (Search, string, string, string) {
			return p.search(), p.paths + "/python3", "PATH", ""
		}},
		{"configured before all", func(p *place) (Search, string, string, string) {
			s := p.search("VIRTUAL_ENV=" + p.venv(p.home+"/v"))
			s.Configured = p.link(p.home, "mine")
			return s, s.Configured, "code_execution.python", ""
		}},
		{"configured folder of an environment", func(p *place) (Search, string, string, string) {
			s := p.search()
			s.Configured = p.venv(p.home + "/v")
			return s, p.home + "/v/bin/python3", "code_execution.python", ""
		}},
		{"configured name on PATH", func(p *place) (Search, string, string, string) {
			s := p.search()
			s.Configured = "python3.99"
			return s, p.link(p.paths, "python3.99"), "code_execution.python", ""
		}},
		{"configured relative to the workspace, as editors write it", func(p *place) (Search, string, string, string) {
			s := p.search()
			s.Configured = "${workspaceFolder}/tools/py"
			return s, p.link(p.workspace+"/tools", "py"), "code_execution.python", ""
		}},
		{"configured in the home folder", func(p *place) (Search, string, string, string) {
			s := p.search()
			s.Configured = "~/py"
			return s, p.link(p.home, "py"), "code_execution.python", ""
		}},
		{"configured but not there", func(p *place) (Search, string, string, string) {
			s := p.search()
			s.Configured = p.home + "/gone"
			return s, p.paths + "/python3", "PATH", "gone, the configured interpreter (code_execution.python), does not exist"
		}},
		{"VIRTUAL_ENV before .venv", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/.venv")
			return p.search("VIRTUAL_ENV=" + p.venv(p.home+"/v")), p.home + "/v/bin/python3", "VIRTUAL_ENV", ""
		}},
		{"CONDA_PREFIX after VIRTUAL_ENV that is gone", func(p *place) (Search, string, string, string) {
			p.link(p.home+"/conda/bin", "python")
			return p.search("VIRTUAL_ENV="+p.home+"/v", "CONDA_PREFIX="+p.home+"/conda"), p.home + "/conda/bin/python", "CONDA_PREFIX", "VIRTUAL_ENV"
		}},
		{".venv before venv before env", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/env")
			p.venv(p.workspace + "/venv")
			p.venv(p.workspace + "/.venv")
			return p.search(), p.workspace + "/.venv/bin/python3", "the workspace's .venv", ""
		}},
		{"venv before env", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/env")
			p.venv(p.workspace + "/venv")
			return p.search(), p.workspace + "/venv/bin/python3", "the workspace's venv", ""
		}},
		{"env that is just a folder", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/env/bin", "other", "")
			return p.search(), p.paths + "/python3", "PATH", ""
		}},
		{"another workspace folder's", func(p *place) (Search, string, string, string) {
			p.venv(p.other + "/.venv")
			return p.search(), p.other + "/.venv/bin/python3", "the workspace's .venv", ""
		}},
		{"uv's folder", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/uvenv")
			return p.search("UV_PROJECT_ENVIRONMENT=uvenv"), p.workspace + "/uvenv/bin/python3", "UV_PROJECT_ENVIRONMENT", ""
		}},
		{"PDM's choice", func(p *place) (Search, string, string, string) {
			path := p.link(p.home, "pdm-python")
			p.file(p.workspace+"/.pdm-python", path+"\n")
			return p.search(), path, ".pdm-python", ""
		}},
		{"conda in the workspace", func(p *place) (Search, string, string, string) {
			path := p.link(p.workspace+"/.conda/bin", "python")
			return p.search(), path, "the workspace's .conda", ""
		}},
		{"pyenv's version", func(p *place) (Search, string, string, string) {
			path := p.link(p.home+"/.pyenv/versions/3.12.1/bin", "python3")
			p.file(p.workspace+"/.python-version", "3.12.1\n")
			return p.search(), path, "pyenv's 3.12.1", "asks for Python 3.12.1" // its version differs
		}},
		{"pyenv's newest of a line", func(p *place) (Search, string, string, string) {
			p.link(p.home+"/pe/versions/3.12.9/bin", "python3")
			path := p.link(p.home+"/pe/versions/3.12.10/bin", "python3")
			p.file(p.workspace+"/.python-version", "3.12\n")
			return p.search("PYENV_ROOT=" + p.home + "/pe"), path, "pyenv's 3.12", "asks for Python 3.12"
		}},
		{"a version that leaves pyenv's folder", func(p *place) (Search, string, string, string) {
			p.link(p.home+"/bin", "python3")
			p.file(p.workspace+"/.python-version", "../..\n")
			return p.search(), p.paths + "/python3", "PATH", ""
		}},
		{"a venv whose Python is gone", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/.venv")
			os.Remove(p.workspace + "/.venv/bin/python3")
			os.Remove(p.workspace + "/.venv/bin/python")
			if err := os.Symlink("/nowhere/python", p.workspace+"/.venv/bin/python3"); err != nil {
				p.t.Fatal(err)
			}
			return p.search(), p.paths + "/python3", "PATH", "the workspace's .venv, has no interpreter that exists"
		}},
		{"one that is broken", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/.venv/bin", "python3", "echo 'Fatal Python error: no encodings' >&2; exit 1")
			return p.search(), p.paths + "/python3", "PATH", "exit code 1: Fatal Python error: no encodings"
		}},
		{"one that is too old", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/.venv/bin", "python3", tooOld)
			return p.search(), p.paths + "/python3", "PATH", "it is Python 3.7.16, and 3.8 or newer is needed"
		}},
		{"one that is no Python", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/.venv/bin", "python3", "echo hello")
			return p.search(), p.paths + "/python3", "PATH", "does not behave like Python"
		}},
		{"one that hangs", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/.venv/bin", "python3", "sleep 60")
			return p.search(), p.paths + "/python3", "PATH", "did not answer"
		}},
		{"one that floods", func(p *place) (Search, string, string, string) {
			p.program(p.workspace+"/.venv/bin", "python3", "yes | head -c 50000000")
			return p.search(), p.paths + "/python3", "PATH", "does not behave like Python"
		}},
		{"an old python3 on PATH and a good python behind it", func(p *place) (Search, string, string, string) {
			p.program(p.paths, "python3", tooOld)
			s := p.search()
			s.Environ[0] = "PATH=" + p.paths + ":" + p.home
			return s, p.link(p.home, "python3"), "PATH", "3.7.16"
		}},
		{"strict knows PATH only", func(p *place) (Search, string, string, string) {
			p.venv(p.workspace + "/.venv")
			s := p.search("VIRTUAL_ENV=" + p.venv(p.home+"/v"))
			s.Configured, s.Strict = p.link(p.home, "mine"), true
			return s, p.paths + "/python3", "PATH", ""
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s, path, why, passed := tc.make(p)
			pythons := NewPythons()
			if strings.Contains(tc.name, "hangs") {
				pythons.limit = 10 * time.Second // enough for the others on a busy machine
			}
			got, err := pythons.Find(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Path != path || !strings.Contains(got.Why, why) {
				t.Errorf("found %s (%s), want %s (%s)", got.Path, got.Why, path, why)
			}
			if all := strings.Join(got.Passed, "; "); passed == "" && all != "" || !strings.Contains(all, passed) {
				t.Errorf("passed over %q, want %q", all, passed)
			}
			if !s.Likely() {
				t.Error("what was found is not likely")
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.program(p.home, "python3", "exit 3")
	s := Search{Strict: true, Environ: []string{"PATH=" + p.home}}
	_, err := NewPythons().Find(t.Context(), s)
	if err == nil {
		t.Fatal("something was found")
	}
	for _, want := range []string{"no Python 3.8 or newer was found", "exit code 3", "code_execution.python"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	s.Environ = []string{"PATH=" + p.other}
	if s.Likely() {
		t.Error("an empty folder is likely")
	}
}

func TestProbeIsRemembered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	log := p.home + "/log"
	script := `echo run >> ` + log + `; exec ` + p.python + ` "$@"`
	path := p.program(p.paths, "python3", script)
	pythons, s := NewPythons(), p.search()
	find := func() int {
		t.Helper()
		if got, err := pythons.Find(t.Context(), s); err != nil || got.Path != path {
			t.Fatalf("found %s, %v", got.Path, err)
		}
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "run")
	}
	if first, second := find(), find(); first != 1 || second != 1 {
		t.Errorf("ran %d times, then %d in all; want one", first, second)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 2 {
		t.Errorf("ran %d times after it had changed, want 2", n)
	}
}

func TestShimFollowsItsFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, two := p.link(p.home+"/one/bin", "python3"), p.link(p.home+"/two/bin", "python3")
	// Like pyenv's: the version file of the folder decides.
	shim := p.program(p.home+"/shims", "python3", `printf '3.12.1\n'; printf '%s\n' "`+p.home+`/$(cat "$PWD/.tool-versions")/bin/python3"; printf '/p\n/p\n'`)
	s := p.search()
	s.Environ[0] = "PATH=" + filepath.Dir(shim) + ":/usr/bin:/bin"
	pythons := NewPythons()
	for _, step := range []struct{ version, want string }{{"one", one}, {"two", two}} {
		p.file(p.workspace+"/.tool-versions", step.version)
		later := time.Now().Add(time.Duration(len(step.want)) * time.Hour)
		if step.version == "two" {
			later = later.Add(time.Hour)
		}
		if err := os.Chtimes(p.workspace+"/.tool-versions", later, later); err != nil {
			t.Fatal(err)
		}
		got, err := pythons.Find(t.Context(), s)
		if err != nil || got.Path != step.want {
			t.Errorf("%s: found %s, %v, want %s", step.version, got.Path, err, step.want)
		}
	}
}

func TestFindIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	begun := filepath.Join(p.workspace, "begun")
	p.program(p.workspace+"/.venv/bin", "python3", ": >"+begun+"; sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for !isFile(begun) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	pythons := NewPythons()
	pythons.limit = maxWait // only the cancel may end it
	if _, err := pythons.Find(ctx, p.search()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPassedOverIsTold(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	p := newPlace(t)
	p.program(b.dir+"/.venv/bin", "python3", "exit 9")
	a := b.run("print(1)")
	if !strings.Contains(a.Note, "exit code 9") || !strings.Contains(a.Python, a.Python) || a.Python == "" {
		t.Errorf("python %q, note %q", a.Python, a.Note)
	}
}

// The venv's packages are there, and its programs are found by name.
func TestVirtualEnvironmentIsUsed(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, map[string]string{"pkg/__init__.py": "where = 'workspace'\n"})
	p := newPlace(t)
	venv := p.venv(b.dir + "/.venv")
	sites, _ := filepath.Glob(venv + "/lib/python3*/site-packages")
	if len(sites) != 1 {
		t.Fatalf("site-packages: %q", sites)
	}
	p.file(sites[0]+"/onlyhere.py", "x = 42\n")
	p.file(sites[0]+"/pkg.py", "where = 'installed'\n")
	p.file(b.dir+"/editable.py", "")
	if err := os.Mkdir(b.dir+"/src", 0o755); err != nil {
		t.Fatal(err)
	}
	p.file(b.dir+"/src/linked.py", "x = 43\n")
	p.file(sites[0]+"/linked.pth", b.dir+"/src\n")
	p.program(venv+"/bin", "mytool", "echo from the venv")
	a := b.run(`
import onlyhere, linked, pkg, sys, os, subprocess
print(onlyhere.x, linked.x, pkg.where, sys.prefix == os.environ["VIRTUAL_ENV"])
print(subprocess.check_output(["mytool"], text=True))
`)
	if want := "42 43 workspace True\nfrom the venv\n"; !strings.HasPrefix(a.Output, want) || a.Python != "" {
		t.Errorf("got %q, python %q", a.Output, a.Python)
	}
}
