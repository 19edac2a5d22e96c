package server

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// away is where a session's commands run, if that is not here. The zero value is
// here.
type away struct {
	kind    string // terminal.backend; empty: local
	backend backend.Backend
	files   *backend.Files // those there; nil: the workspace is the same there and here
	broken  error          // why there is no backend
}

// newAway readies the configured backend. What cannot be had makes every command
// fail: none runs in another place than was asked for.
func (x *Session) newAway(conf *config.Loaded) (a away) {
	t := conf.Terminal
	if t.Backend == "" || t.Backend == "local" {
		return away{}
	}
	a.kind = t.Backend
	a.backend, a.broken = backend.New(BackendConfig(conf, x.ws.Folders()))
	if a.broken != nil {
		x.problems = append(x.problems, "Commands cannot run: "+a.broken.Error())
	} else if a.away() {
		if runtime.GOOS != "windows" { // paths are spelled in another way here
			a.files = backend.FilesOf(a.backend)
		}
		x.problems = append(x.problems, fmt.Sprintf("Commands run on %s, and the file tools work on the files there, not on those of this editor. Scripts (execute_code), checkpoints and the editor's unsaved text have no part in that.", t.SSHHost))
	}
	return a
}

// BackendConfig is what the configuration says of the place where commands run, for a
// workspace of folders.
func BackendConfig(conf *config.Loaded, folders []string) backend.Config {
	t := conf.Terminal
	c := backend.Config{
		Kind: t.Backend, Cwd: t.Cwd, Folders: folders, Network: conf.Sandbox.Network,
		SSH: backend.SSHConfig{Host: t.SSHHost, User: t.SSHUser, Port: t.SSHPort, Key: t.SSHKey, Options: t.SSHOptions},
	}
	switch t.Backend {
	case "docker":
		c.Image, c.Program = t.DockerImage, t.DockerProgram
	case "singularity":
		c.Image = t.SingularityImage
	}
	return c
}

// unknown reports whether the configured backend does not exist.
func (a away) unknown() bool {
	return a.kind != "" && !slices.Contains([]string{"ssh", "docker", "singularity"}, a.kind)
}

// away tells whether commands see other files than those here.
func (a away) away() bool { return a.kind == "ssh" }

// without are the toolsets that would work on other files than the commands.
func (a away) without() []string {
	switch {
	case a.unknown(): // scripts run commands, too
		return []string{"code_execution"}
	case !a.away():
		return nil
	case a.files == nil:
		return []string{"file", "code_execution", "checkpoint"}
	}
	return []string{"code_execution", "checkpoint"}
}

// toolFiles are what the file tools work on.
func (x *Session) toolFiles() tools.Files {
	if x.away.files != nil {
		return x.away.files
	}
	return x.ws
}

// describe tells the model what runs its commands.
func (a away) describe(shell string) string {
	switch {
	case a.kind == "":
		return shell
	case a.unknown():
		return "no shell: terminal.backend in the configuration is wrong, and commands are rejected"
	}
	switch a.kind {
	case "ssh":
		if a.files == nil {
			return "bash or sh, on another machine over ssh; the files to work with are there, and terminal is the way to them"
		}
		return "bash or sh, on another machine over ssh; the file tools work there, too, and relative paths begin where commands begin (pwd tells)"
	}
	return "bash or sh, in a container; the workspace is in it"
}

func (a away) close() {
	if a.backend != nil {
		a.backend.Close()
	}
}

func (x *Session) newShell(conf *config.Loaded) *tools.Shell {
	var shell *tools.Shell
	if x.away.kind == "" {
		shell = tools.NewShell(x.ws.Folders()[0], conf.Terminal.EnvPassthrough)
		shell.Use(conf.Terminal.Shell)
	} else {
		shell = tools.NewShellOn(x.away.backend, x.away.broken, x.ws.Folders()[0])
	}
	shell.Timeout = time.Duration(conf.Terminal.Timeout) * time.Second
	return shell
}
