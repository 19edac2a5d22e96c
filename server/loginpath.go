package server

import (
	"context"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

func (s *Service) newLogin() *userpath.Login {
	return LoginPath(s.Environ, func() *config.Loaded { return s.Config(nil) })
}

// LoginPath returns the PATH of commands for the environment of this process and the user's
// configuration. The caller must close it. The login shell runs in the home folder, in the sandbox.
// It can read the home but write nothing: a command may have changed a file that a profile reads.
func LoginPath(environ []string, conf func() *config.Loaded) *userpath.Login {
	return userpath.New(userpath.Config{
		Environ: environ,
		Enabled: func() bool { return conf().Terminal.LoginPath },
		Confine: func(ctx context.Context, c *proc.Cmd, home string) (func(), error) {
			l := conf()
			mode := sandbox.Mode(l.Sandbox.Mode)
			if err := mode.Check(); err != nil {
				return nil, err
			}
			box := sandbox.New(sandbox.Config{Mode: mode, HermesHome: l.Home, Roots: func() []string { return nil }, Environ: environ, Alone: true})
			if err := box.ConfineOwn(ctx, c, sandbox.Own{Reads: []string{home}}); err != nil {
				box.Close()
				return nil, err
			}
			return func() { box.Close() }, nil
		},
	})
}

// Path returns the PATH of all programs that the user or the model starts. The first call asks the
// login shell. If ctx ends before its answer, ok is false. If path is empty, use the PATH of
// Environ. See [userpath.Login].
func (s *Service) Path(ctx context.Context) (path string, ok bool) {
	if s.login == nil {
		return "", true
	}
	return s.login.Path(ctx)
}

// KnownPath is Path without waiting.
func (s *Service) KnownPath() string {
	if s.login == nil {
		return ""
	}
	return s.login.Known()
}

// PathFrom says where PATH comes from.
func (s *Service) PathFrom() string {
	if s.login == nil {
		return userpath.FromServer
	}
	return s.login.From()
}
