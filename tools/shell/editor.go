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

// Terminals runs foreground commands in terminals that the editor owns and shows.
type Terminals interface {
	// Run starts args in dir with env and waits. shown is called at once with the
	// terminal's id. Output is capped by the editor at limit bytes, oldest cut.
	Run(ctx context.Context, args []string, dir string, env []string, limit int, shown func(id string)) (output string, truncated bool, exitCode int, err error)
}

// editorOutputLimit is the output of a command that the editor's terminal keeps.
const editorOutputLimit = 1 << 20

// editorTerminal runs a command in a terminal of the editor's, which shows it. The
// editor starts our own binary, so that environment, folder and end are the same
// as without it.
type editorTerminal struct {
	env  *callEnv
	call tools.Call
	id   string // once there is one
	cut  bool   // the editor has not kept all of the output
}

// useEditorTerminal lets c run in the editor's terminal, if it lends one.
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
