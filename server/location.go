package server

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// location contains the files of a session, and the machine and the sandbox of its commands.
type location struct {
	ws     *workspace.Workspace
	box    *sandbox.Box
	remote remote

	unsubscribe func() // from saves of the editor

	pictures tools.Pictures // limits
}

// openLocation opens the folders of a session.
func openLocation(svc *Service, head store.Session, documents workspace.Documents) (*location, error) {
	unfinished := workspace.UnfinishedIn(svc.Home)
	workspace.Sweep(unfinished)
	ws, err := workspace.Open(append([]string{head.Cwd}, head.Folders...), documents)
	if err != nil {
		return nil, badInput("cwd", "%v", err)
	}
	ws.Unfinished = unfinished
	return &location{ws: ws}, nil
}

// configure makes the sandbox and the backend.
func (l *location) configure(svc *Service, conf *config.Loaded, n *notifier) {
	l.box = newSandbox(svc, conf, l.ws, n)
	l.ws.Wrote = svc.noted(l.box)
	l.unsubscribe = l.ws.OnSave(func(path string, s workspace.Save) {
		if (s.Base == nil || bytes.Equal(s.Base, s.Text)) && s.Before != nil {
			s.Base = s.Before // the server has heard of the change after the save
		}
		l.box.Note(sandbox.Wrote{Path: path, Old: s.Base, New: s.Text})
	})
	l.ws.Ripgrep = ripgrep(l.ws.Folders(), l.box)
	l.ws.SetSaving(savingOf(conf))
	l.pictures = tools.Pictures(conf.Images)
	l.remote = newRemote(conf, l.ws.Folders(), n.warn)
}

// noted reports the writes of one session's file tools to the reviews of all sessions. box is that
// session's sandbox.
func (s *Service) noted(box *sandbox.Box) func(path string, old, now workspace.Image) {
	return func(path string, old, now workspace.Image) {
		gate.Noted(box)(path, old, now)
		for _, x := range s.open() {
			if x.location.box != box {
				gate.Noted(x.location.box)(path, old, now)
			}
		}
	}
}

// bounds returns the limits of the session's calls.
func (l *location) bounds(svc *Service, secrets *tools.Secrets) tools.Bounds {
	return tools.Bounds{Files: l.files(), Sandbox: l.box, Secrets: secrets, HermesHome: svc.Home, Pictures: l.pictures}
}

// files returns the files of the tools.
func (l *location) files() tools.Files {
	if l.remote.files != nil {
		return l.remote.files
	}
	return l.ws
}

// diagnoser returns the host's function for diagnostics of edited files. If the host has none, or
// if the files are not the editor's, diagnoser returns nil.
func (l *location) diagnoser(h Host) file.Diagnoser {
	d, ok := h.(file.Diagnoser)
	if !ok || l.remote.otherFiles() {
		return nil
	}
	return d
}

// apply applies the sandbox's configuration to later commands.
func (l *location) apply(conf *config.Loaded) {
	want := conf.Sandbox
	l.box.Set(sandbox.Mode(want.Mode), want.Network)
	l.box.SetHome(want.Caches, want.Read)
	l.ws.SetSaving(savingOf(conf))
}

func savingOf(conf *config.Loaded) workspace.Saving {
	return workspace.Saving{Disk: conf.Files.Open == "disk", Save: conf.Files.Save}
}

// facts returns the limits of commands and scripts for the system prompt.
func (l *location) facts(s *settings) prompt.Facts {
	conf := s.config()
	return prompt.Facts{
		Approvals: s.mode(), Sandbox: conf.Sandbox.Mode, Network: conf.Sandbox.Network,
		Remote: l.remote.machine(conf), Elsewhere: l.remote.otherFiles(),
	}
}

func (l *location) close() error {
	l.remote.close()
	l.unsubscribe()
	l.box.Close()
	return l.ws.Close()
}

// newSandbox makes the sandbox of a session. The first command reports the enforced limits to the
// user.
func newSandbox(svc *Service, conf *config.Loaded, ws *workspace.Workspace, n *notifier) *sandbox.Box {
	return sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(conf.Sandbox.Mode), Network: conf.Sandbox.Network,
		Caches: conf.Sandbox.Caches, Read: conf.Sandbox.Read,
		Roots: ws.Folders, HermesHome: svc.Home,
		Visible: []string{svc.outputDir(n.id), filepath.Join(svc.Home, "skills")},
		Environ: svc.Environ, Path: svc.KnownPath, Alone: svc.Static,
		Notice: func(text string) { n.show("Sandbox: " + text + ".") },
		Report: func(brief string, gaps []string) {
			svc.Log.Info("sandbox", "session", n.id, "limits", brief, "gaps", gaps)
			n.limits(brief, gaps)
		},
	})
}

// searchLimit is the timeout of one search by rg. After it, the built-in engine searches.
const searchLimit = 30 * time.Second

// searchMemory is a limit in megabytes, far more than a search needs. A file in the place of an
// ignore file may be endless.
const searchMemory = 2048

// ripgrep returns a function that runs rg, read-only, in the session's sandbox. If there is no rg
// on PATH outside of the workspace, ripgrep returns nil.
func ripgrep(folders []string, box *sandbox.Box) search.Runner {
	path, err := program.Find("rg", folders)
	if err != nil {
		return nil
	}
	env, _ := proc.Environ(nil)
	env = program.Environ(env, folders)
	return func(ctx context.Context, args []string, dir string, stdout io.Writer) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, searchLimit)
		defer cancel()
		c := proc.Cmd{
			Args: append([]string{path}, args...), Dir: dir, Env: env, Stdout: stdout,
			Limits: proc.Limits{MemoryMB: searchMemory},
		}
		if err := box.ConfineOwn(ctx, &c, sandbox.Own{}); err != nil {
			return 0, err
		}
		exit, err := proc.Run(ctx, c)
		return exit.Code, err
	}
}

// PicturesOf returns the files of a session, and the limits of its pictures.
func PicturesOf(x *Session) (tools.Files, tools.Pictures) {
	return x.location.files(), x.location.pictures
}
