package server

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// remote is the backend for a session's commands. The zero value runs them on this machine.
type remote struct {
	kind    string // terminal.backend; empty: local
	backend backend.Backend
	files   *backend.Files // of the other machine; nil: the workspace is the same
	broken  error          // the reason why there is no backend
}

// newRemote makes the configured backend. If it fails, every command fails. warn gets texts for the
// user.
func newRemote(conf *config.Loaded, folders []string, warn func(string)) (a remote) {
	t := conf.Terminal
	if t.Backend == "" || t.Backend == "local" {
		return remote{}
	}
	a.kind = t.Backend
	a.backend, a.broken = backend.New(BackendConfig(conf, folders))
	if a.broken != nil {
		warn("Commands cannot run: " + a.broken.Error())
	} else if a.otherFiles() {
		if runtime.GOOS != "windows" { // its paths have another form
			a.files = backend.FilesOf(a.backend)
		}
		warn(fmt.Sprintf("Commands run on %s, and the file tools work on the files there, not on those of this editor. Scripts, checkpoints and unsaved buffers are not available for them.", t.SSHHost))
	}
	return a
}

// BackendConfig returns the configuration of the backend for a workspace of folders.
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
func (a remote) unknown() bool {
	return a.kind != "" && !slices.Contains([]string{"ssh", "docker", "singularity"}, a.kind)
}

// otherFiles reports whether commands see other files than this machine's.
func (a remote) otherFiles() bool { return a.kind == "ssh" }

// Needs says where a feature's tools work.
type Needs int

const (
	NeedsNothing      Needs = iota
	NeedsFiles              // on the files of commands
	NeedsLocalFiles         // on the files of this machine
	NeedsLocalProgram       // on the files of this machine, by programs that run commands, too
)

// without returns the toolsets that cannot work on the commands' files.
func (a remote) without(features []Feature) (toolsets []string) {
	for _, f := range features {
		lacks := a.otherFiles()
		switch f.Needs {
		case NeedsNothing:
			lacks = false
		case NeedsFiles:
			lacks = lacks && a.files == nil
		case NeedsLocalProgram:
			lacks = lacks || a.unknown()
		}
		if lacks {
			toolsets = append(toolsets, f.Toolset)
		}
	}
	return toolsets
}

// describe returns the description of the shell for the model.
func (a remote) describe(shell string) string {
	switch {
	case a.kind == "":
		return shell
	case a.unknown():
		return "none: terminal.backend in the configuration is wrong, and commands are rejected"
	}
	return "bash or sh"
}

// machine returns where commands run, for the system prompt. If it is this machine, machine
// returns "".
func (a remote) machine(conf *config.Loaded) string {
	switch t := conf.Terminal; {
	case a.kind == "" || a.unknown():
		return ""
	case a.kind == "ssh":
		return "on " + t.SSHHost + " over ssh"
	case a.kind == "docker":
		return "in a container of " + t.DockerImage
	}
	return "in a " + a.kind + " container"
}

// place names the machine and the working directory of commands for the model. If both are this
// machine's, it returns "".
func (a remote) place(conf *config.Loaded) string {
	t := conf.Terminal
	switch {
	case a.kind == "" || a.unknown():
		return ""
	case a.kind == "ssh":
		return fmt.Sprintf("ssh %s, directory %s", t.SSHHost, cmp.Or(t.Cwd, "~"))
	}
	return a.kind + " container"
}

func (a remote) close() {
	if a.backend != nil {
		a.backend.Close()
	}
}
