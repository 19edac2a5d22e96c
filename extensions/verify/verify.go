// Package verify asks the model to check its changes, and reports a turn with file changes but
// without a check. It looks up the commands that check a project at the first changed file. It runs
// nothing itself: the model runs commands, by the rules of approvals.
package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// scanLimit limits the time to list the files changed by commands.
const scanLimit = 2 * time.Second

// New returns the extension.
func New() extension.Extension { return verify{} }

type verify struct{}

func (verify) Name() string { return "verify" }

func (verify) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s}, nil
}

// Instance follows the changes and checks of a session.
type Instance struct {
	session *extension.Session

	mu      sync.Mutex
	looked  bool    // the files of the workspace were looked through
	project []found // the commands in them
	asked   bool    // the model was asked to check
	shown   bool    // the user has seen the commands
	turn    turn
}

// turn is the state of a turn.
type turn struct {
	began   time.Time
	changed []string            // files changed by tools after the last check
	any     bool                // a tool has changed a file
	ran     bool                // a command other than a check ran
	checked bool                // a check ran
	failed  string              // the last check, if it failed
	unsaved []string            // documents changed by tools, but stale on disk when a command ran
	running map[string][]string // the unsaved documents when a call began, by its id
}

// Close does nothing.
func (*Instance) Close(context.Context) error { return nil }

// Hooks follows calls, and reports unverified changes at the end of a turn.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events:         []extension.Handlers{{Limit: extension.NoLimit, Turn: x.begin, PreToolCall: x.calls, PostToolCall: x.called, AfterTurn: x.afterTurn}},
		HistoryChanged: x.historyChanged, Status: x.status,
	}
}

func (x *Instance) begin(context.Context, extension.Prompt) (ended func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turn = turn{began: time.Now(), running: map[string][]string{}}
	return nil, nil
}

// unsaved names the unsaved documents that tools have changed in the editor.
func (x *Instance) unsaved(ctx context.Context) []string {
	files, ok := x.session.Editor.(interface {
		UnsavedEdits(ctx context.Context) []string
	})
	if !ok || x.session.Files != x.session.Editor {
		return nil
	}
	return files.UnsavedEdits(ctx)
}

// runs reports whether a call runs programs, which read the disk.
func runs(t tools.Tool) bool {
	return t.RunsCommands || t.Kind == tools.KindExecute || t.WritesAnywhere()
}

// calls records the unsaved documents at the start of a command or a script.
func (x *Instance) calls(ctx context.Context, c extension.ToolCall) (d extension.Decision, err error) {
	if !runs(c.Tool) {
		return d, nil
	}
	if names := x.unsaved(ctx); len(names) > 0 {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.turn.running == nil {
			x.turn.running = map[string][]string{}
		}
		x.turn.running[c.SessionID+" "+c.ID] = names
	}
	return d, nil
}

// sawOld removes and returns the documents unsaved when a call began. note names them,
// unless the result does. The lock is held.
func (x *Instance) sawOld(c extension.ToolCall, r tools.Result) (names []string, note string) {
	id := c.SessionID + " " + c.ID
	names = x.turn.running[id]
	delete(x.turn.running, id)
	if len(names) == 0 || r.IsError && c.Tool.RunsCommands && !strings.Contains(string(r.JSON), "exit_code") {
		return nil, "" // it did not run
	}
	x.turn.unsaved = append(x.turn.unsaved, names...)
	if !strings.Contains(string(r.JSON), "not saved in the editor") {
		note = fmt.Sprintf("not saved in the editor: %s; it saw the versions on the disk", strings.Join(names, ", "))
	}
	return names, note
}

func (x *Instance) settings() (s Settings) {
	if x.session.Config(&s) != nil {
		return Settings{}
	}
	return s
}

// called follows a call. It returns a note for the model after its first change.
func (x *Instance) called(_ context.Context, c extension.ToolCall, r tools.Result) (string, error) {
	s := x.settings()
	x.mu.Lock()
	defer x.mu.Unlock()
	old, note := x.sawOld(c, r)
	if c.Tool.ReadOnly || r.IsError && !c.Tool.RunsCommands || !s.Enabled {
		return note, nil
	}
	if c.Tool.RunsCommands {
		x.ranCommand(c, r, s, old)
		return note, nil
	}
	files := changedIn(c, r)
	if len(files) == 0 {
		return note, nil
	}
	x.turn.changed, x.turn.any = append(x.turn.changed, files...), true
	commands := x.commands(s)
	if x.asked || len(commands) == 0 || c.Kind != extension.Main || c.SessionID != x.session.ID {
		return note, nil
	}
	x.asked = true
	if note != "" {
		note += ". "
	}
	return note + askText(commands), nil
}

// askText asks the model to check its changes.
func askText(commands []string) string {
	return "Checks of this project: " + strings.Join(commands, "; ") + ". When your changes are complete, run the narrowest check that covers them before you end the turn."
}

// Notices asks the model to check changes of scripts, whose notes it does not see.
func (x *Instance) Notices(_ context.Context, when extension.When) []string {
	if when != extension.WithRequest {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked || len(x.turn.changed) == 0 {
		return nil
	}
	commands := x.commands(x.settings())
	if len(commands) == 0 {
		return nil
	}
	x.asked = true
	return []string{askText(commands)}
}

// historyChanged asks the model again after a compaction.
func (x *Instance) historyChanged(extension.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = false
}

// changedIn returns the files changed by a call. Prose files need no check.
func changedIn(c extension.ToolCall, r tools.Result) (files []string) {
	for _, content := range r.Shown {
		if content.Diff != nil && !isProse(content.Diff.Path) {
			files = append(files, content.Diff.Path)
		}
	}
	if len(r.Shown) == 0 && c.Tool.Tracked && c.Tool.Kind == tools.KindEdit {
		files = append(files, "a file")
	}
	return files
}

var prose = []string{".md", ".markdown", ".rst", ".txt", ".adoc"}

func isProse(path string) bool { return slices.Contains(prose, strings.ToLower(filepath.Ext(path))) }

// ranCommand follows a command. old are documents with unsaved changes when it ran: then it has
// checked nothing. The lock is held.
func (x *Instance) ranCommand(c extension.ToolCall, r tools.Result, s Settings, old []string) {
	var in struct{ Command string }
	if json.Unmarshal(c.Args, &in) != nil || in.Command == "" {
		return
	}
	var out struct {
		ExitCode *int `json:"exit_code"`
		TimedOut bool `json:"timed_out"`
	}
	_ = json.Unmarshal(r.JSON, &out) // a background command has no exit code yet
	if r.IsError && out.ExitCode == nil {
		return // it did not run
	}
	checks := checksIn(in.Command, s.Commands)
	if len(checks) == 0 {
		x.turn.ran = true
		return
	}
	x.turn.checked, x.turn.failed = true, ""
	if len(old) == 0 {
		x.turn.changed, x.turn.unsaved = nil, nil
	}
	if out.ExitCode != nil && *out.ExitCode != 0 || out.TimedOut {
		x.turn.failed = checks[len(checks)-1]
	}
}

// commands returns the check commands of the project. The lock is held.
func (x *Instance) commands(s Settings) []string {
	if len(s.Commands) > 0 || !s.Enabled {
		return s.Commands
	}
	if !x.looked && x.session.Files == x.session.Editor { // else the files are on another machine
		for _, folder := range x.session.Folders() {
			for _, f := range find(folder) {
				if !slices.ContainsFunc(x.project, func(o found) bool { return o.Command == f.Command }) {
					x.project = append(x.project, f)
				}
			}
		}
	}
	x.looked = true
	var list []string
	for _, f := range x.project[:min(len(x.project), maxFound)] {
		list = append(list, "`"+f.Command+"`")
	}
	return list
}

// status is the line of /status.
func (x *Instance) status(context.Context) (name, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.settings()
	if !x.looked && len(s.Commands) == 0 {
		return "", ""
	}
	return "Checks", strings.Join(x.commands(s), "; ")
}

func (x *Instance) afterTurn(ctx context.Context, _ extension.TurnEnd) (d extension.TurnDecision, err error) {
	s := x.settings()
	if s.Enabled {
		d, err = x.verified(ctx, s)
	}
	x.mu.Lock()
	old := slices.Clone(x.turn.unsaved)
	x.mu.Unlock()
	now := x.unsaved(ctx)
	var line string
	switch {
	case len(old) > 0:
		d.Brief, d.Summary = "not verified", ""
		line = "Not verified: commands ran while " + oldOnDisk(old)
	case len(now) > 0:
		d.Brief = cmp.Or(d.Brief, "not saved")
		line = fmt.Sprintf("Not saved in the editor: %s. Commands see the version on the disk.", listed(now))
	default:
		return d, err
	}
	d.Summary = strings.TrimSpace(line + " " + d.Summary)
	return d, err
}

// oldOnDisk is a sentence about documents that were stale on disk for commands.
func oldOnDisk(names []string) string {
	if slices.Sort(names); len(slices.Compact(names)) == 1 {
		return names[0] + " was not saved in the editor, and saw the version on the disk."
	}
	return listed(names) + " were not saved in the editor, and saw the versions on the disk."
}

// mostListed is how many documents a line names.
const mostListed = 5

// listed names documents, each once.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostListed; more > 0 {
		names = append(names[:mostListed:mostListed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// verified reports whether the changes of the turn were checked.
func (x *Instance) verified(ctx context.Context, s Settings) (d extension.TurnDecision, err error) {
	x.mu.Lock()
	t := x.turn
	x.mu.Unlock()
	if len(t.changed) == 0 && t.ran && !t.checked {
		t.changed = x.changedByCommands(ctx, t.began)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	failed := t.failed != "" && t.any && len(t.changed) == 0
	if len(t.changed) == 0 && !failed {
		return d, nil
	}
	commands := x.commands(s)
	if len(commands) == 0 {
		return d, nil
	}
	if !x.shown && len(s.Commands) == 0 {
		x.shown = true
		d.Notice = fmt.Sprintf("Checks of this project: %s. `verify.commands` in config.yaml replaces them.", x.origins())
	}
	if failed {
		d.Brief, d.Summary = "not verified", fmt.Sprintf("Not verified: the last check failed (%s).", shorten.OneLine(t.failed, 100))
		return d, nil
	}
	files := slices.Compact(slices.Sorted(slices.Values(t.changed)))
	count := "1 changed file was"
	if len(files) != 1 {
		count = fmt.Sprintf("%d changed files were", len(files))
	}
	d.Brief, d.Summary = "not verified", fmt.Sprintf("Not verified: %s not checked afterwards (%s).", count, strings.Join(commands, "; "))
	return d, nil
}

// origins lists the found commands, with their files. The lock is held.
func (x *Instance) origins() string {
	var list []string
	for _, f := range x.project[:min(len(x.project), maxFound)] {
		list = append(list, fmt.Sprintf("`%s` (%s)", f.Command, f.File))
	}
	return strings.Join(list, "; ")
}

// changedByCommands returns the files changed by commands since a time. If this takes too long, it
// returns none.
func (x *Instance) changedByCommands(ctx context.Context, since time.Time) (files []string) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	kept, ok := x.session.Extensions().Changes()
	if !ok {
		return nil
	}
	all, err := kept.ChangedSince(ctx, since)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, isProse)
}
