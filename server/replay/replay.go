// Package replay runs a recorded session again. The model's responses come from the record, and
// tools run for real in a copy of the workspace. Their results are compared with the recorded
// results.
//
// Nothing leaves the machine, and no file of the user changes: the session has its own home
// directory, commands run in the sandbox without network, and external calls (the web, subagents,
// questions, MCP servers) are not played.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Config is a record and where it is played. All but Log and OnCall are required.
type Config struct {
	Head     store.Session
	Messages []store.Message // the whole log, in order
	// Workspace stands for the session's working directory. It is changed.
	Workspace string
	Home      string // for the played session: an empty folder
	Version   string
	// Approve runs the calls approved by the user in the record. Otherwise, calls that require
	// approval are not played.
	Approve bool
	OnCall  func(Call) // called after each call
	Log     *slog.Logger
}

// Verdict says how a call went, compared with the record.
type Verdict string

const (
	Same      Verdict = "same"
	Differs   Verdict = "differs"
	NotPlayed Verdict = "not played"
)

// Call is a replayed call.
type Call struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Title   string          `json:"title"`
	Args    json.RawMessage `json:"arguments"`
	Verdict Verdict         `json:"verdict"`
	Why     string          `json:"why,omitempty"`  // it was not played
	Diff    string          `json:"diff,omitempty"` // from then to now
}

// Report is all calls of a session, in order.
type Report struct {
	Prompts int    `json:"prompts"`
	Calls   []Call `json:"calls"`
}

// Count returns the number of calls with a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, c := range r.Calls {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Play plays the record. If it cannot be played, Play returns an error. Different results are no
// error.
func Play(ctx context.Context, c Config) (*Report, error) {
	box := sandbox.Detect(ctx)
	enforced := box.Kind != sandbox.None && box.Kind != sandbox.Unknown && box.NoNetwork
	p := &player{Config: c, then: results(c.Messages), enforced: enforced}
	m := &recorded{}
	svc := app.New(server.Options{Home: c.Home, Version: c.Version, Model: m, Log: c.Log, Static: true, Offers: p.offers})
	defer svc.Close() // the replayed session is discarded
	settings, err := json.Marshal(map[string]any{
		"sandbox":     map[string]any{"mode": "workspace-write", "network": false},
		"checkpoints": map[string]any{"enabled": false},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the session: %w", err)
	}
	svc.SetInit(settings)
	x, err := svc.NewSession(ctx, server.Place{Cwd: c.Workspace, Preset: "acp"}, p)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	for _, turn := range turnsOf(c.Messages) {
		m.load(turn.replies, c.Head.Cwd, c.Workspace)
		p.report.Prompts++
		in := agent.Input{Text: turn.prompt.Text(), Images: turn.prompt.Images()}
		if _, err := x.Prompt(ctx, in, nil); err != nil && !errors.Is(err, errEnd) && !ended(err) {
			return &p.report, fmt.Errorf("playing %q: %w", shorten.FirstLine(turn.prompt.Text()), err)
		}
		if ctx.Err() != nil {
			return &p.report, ctx.Err()
		}
	}
	return &p.report, nil
}

// ended reports whether a turn ended where its record does.
func ended(err error) bool {
	var failure *model.Error
	return errors.As(err, &failure) && errors.Is(failure.Err, errEnd)
}

// CopyWorkspace copies a folder to a new folder. Links stay links. It leaves out pipes, sockets and
// devices.
func CopyWorkspace(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("copying the workspace: %w", err)
	}
	if err := os.CopyFS(to, copiedFS{os.DirFS(from).(fs.ReadLinkFS)}); err != nil {
		return fmt.Errorf("copying the workspace: %w", err)
	}
	return nil
}

// copiedFS lists only files, folders and links.
type copiedFS struct{ fs.ReadLinkFS }

// ReadDir implements [fs.ReadDirFS].
func (c copiedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.ReadLinkFS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
	}), err
}

// player is the host of the played session. It compares as results come.
type player struct {
	Config
	then     map[string]string // results by their call
	enforced bool              // there is a sandbox
	unsafe   map[string]bool   // tools left out for lack of a sandbox
	report   Report
	asked    map[string]bool // denied calls
	titles   map[string]string
}

// offers reports whether calls of a tool are repeated.
func (p *player) offers(t tools.Tool) bool {
	if t.Replay == tools.ReplayedIf && !p.enforced {
		if p.unsafe == nil {
			p.unsafe = map[string]bool{}
		}
		p.unsafe[t.Name] = true
		return false
	}
	return t.Replay != tools.NotReplayed
}

func (p *player) Documents(string) workspace.Documents { return nil }
func (p *player) Terminals(string) shell.Terminals     { return nil }
func (p *player) Sink(string) agent.Sink               { return p }

// AskPermission allows the calls approved by the user in the record, if Approve is set.
func (p *player) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if p.Approve && !strings.HasPrefix(p.then[q.Call.ID], `{"error"`) {
		return tools.DecisionOnce, nil
	}
	if p.asked == nil {
		p.asked = map[string]bool{}
	}
	p.asked[q.Call.ID] = true
	return tools.DecisionDeny, nil
}

// Event makes player an [agent.Sink].
func (p *player) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.CallStarted:
		if p.titles == nil {
			p.titles = map[string]string{}
		}
		p.titles[e.Call.ID] = e.Title
	case agent.CallEnded:
		p.ended(e)
	}
}

func (p *player) ended(e agent.CallEnded) {
	c := Call{ID: e.Call.ID, Tool: e.Call.Name, Title: p.titles[e.Call.ID], Args: e.Call.Args}
	now := string(e.Result.JSON)
	then, recorded := p.then[e.Call.ID]
	switch {
	case !recorded:
		c.Verdict, c.Why = NotPlayed, "the record has no result of it"
	case strings.HasPrefix(now, `{"error":"Unknown tool`) && !strings.HasPrefix(then, `{"error":"Unknown tool`):
		c.Verdict, c.Why = NotPlayed, "it works outside the workspace"
		if p.unsafe[c.Tool] {
			c.Why = "no sandbox works here, and a command could do anything"
		}
	case p.asked[e.Call.ID] && !strings.HasPrefix(then, `{"error"`):
		c.Verdict, c.Why = NotPlayed, "it asks before it runs; --approve plays what was allowed then"
	default:
		c.Diff = difference(then, strings.ReplaceAll(now, p.Workspace, p.Head.Cwd))
		c.Verdict = Same
		if c.Diff != "" {
			c.Verdict = Differs
		}
	}
	p.report.Calls = append(p.report.Calls, c)
	if p.OnCall != nil {
		p.OnCall(c)
	}
}
