package shell

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Terminals runs foreground commands in the editor's own terminals.
type Terminals interface {
	// Run starts args in dir with env and waits. shown is called at once with the
	// terminal's id. Output is capped by the editor at limit bytes, oldest cut.
	Run(ctx context.Context, args []string, dir string, env []string, limit int, shown func(id string)) (output string, truncated bool, exitCode int, err error)
}

// editorOutputLimit is the maximum output kept by the editor's terminal.
const editorOutputLimit = 1 << 20

// editorTerminal runs a command visibly in an editor's terminal. The editor starts our own binary,
// so environment, directory and end of the command are unchanged.
type editorTerminal struct {
	env  *callEnv
	call tools.Call
	id   string // empty until it exists
	cut  bool   // the editor has dropped some of the output
}

// useEditorTerminal runs c in the editor's terminal, if available.
func useEditorTerminal(env *callEnv, call tools.Call, c *Command) *editorTerminal {
	if env.Terminals == nil || c.pty || env.Shell.on != nil || runtime.GOOS == "windows" {
		return nil
	}
	t := &editorTerminal{env: env, call: call}
	c.start = t.run
	return t
}

func (t *editorTerminal) run(ctx context.Context, c proc.Cmd, limit time.Duration) (proc.Exit, bool, error) {
	dir := ""
	if t.env.HermesHome != "" {
		dir = filepath.Join(t.env.HermesHome, "run") // commands do not see it
	}
	guest, err := proc.ForEditorTerminal(c, dir)
	if err != nil {
		return proc.Exit{}, false, err
	}
	defer guest.Close()
	release := context.AfterFunc(ctx, func() { guest.Stop(c.Grace) })
	defer release()
	var expired atomic.Bool
	timer := time.AfterFunc(limit, func() { expired.Store(true); guest.Stop(timeoutGrace) })
	defer timer.Stop()

	output, cut, code, err := t.env.Terminals.Run(ctx, guest.Args, c.Dir, nil, editorOutputLimit, t.shown)
	io.WriteString(c.Stdout, output) // a capture never fails
	t.cut = cut
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return proc.Exit{Code: code}, expired.Load(), err
}

func (t *editorTerminal) shown(id string) {
	t.id = id
	if t.env.Progress != nil {
		t.env.Progress(tools.Progress{CallID: t.call.ID, Shown: []tools.Content{{Terminal: id}}})
	}
}

func (t *editorTerminal) note() string {
	if t.cut {
		return fmt.Sprintf("the editor's terminal kept only the last %d bytes of the output", editorOutputLimit)
	}
	return ""
}
