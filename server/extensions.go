package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Feature is an extension with its part of the configuration.
type Feature struct {
	extension.Extension
	// Core makes the extension of a session, in place of Extension, for features of the
	// program itself that need more of the session than an [extension.Session].
	Core func(*Core) extension.Extension
	// Commands are the extension's rows of the command table.
	Commands []extension.Command
	// Settings is the extension's own section of config.yaml; nil: it has none.
	Settings *config.Section
	// Section makes the extension's configuration of all settings. An error is
	// reported as a problem of the configuration; the result applies all the same. If it is nil,
	// the extension gets its own section.
	Section  func(c *config.Loaded) (any, error)
	Shutdown func() error                 // is called when the service is closed; may be nil
	Deleted  func(sessionID string) error // is called when a session is deleted; may be nil
}

// SchemaOf returns the schema of config.yaml with the sections of features.
func SchemaOf(features func(*Service) []Feature) *config.Schema {
	if features == nil {
		return config.NewSchema()
	}
	var sections []config.Section
	for _, f := range features(&Service{}) {
		if f.Settings != nil {
			sections = append(sections, *f.Settings)
		}
	}
	return config.NewSchema(sections...)
}

// section returns the function that reads the feature's settings; nil: it has none.
func (f Feature) section() func(*config.Loaded) (any, error) {
	if f.Settings == nil || f.Section != nil {
		return f.Section
	}
	return func(c *config.Loaded) (any, error) {
		settings := reflect.New(reflect.TypeOf(f.Settings.Defaults))
		c.Section(f.Settings.Name, settings.Interface())
		return settings.Elem().Interface(), nil
	}
}

// Core is what features of the program itself get of a session.
type Core struct {
	Workspace *workspace.Workspace
	Sandbox   *sandbox.Box
	Remote    bool   // commands run on another machine
	Editor    string // the host's name, for the model
	Sink      agent.Sink
	Show      func(text string) // shows a text to the user at once
	// Ask asks the user a question that the gate has no rule for, within its time limit.
	Ask func(ctx context.Context, q tools.Question) (tools.Decision, error)
	// Background returns the commands in the background; nil: there are none.
	Background func() *tools.Processes
	// Extensions returns the session's extensions, when all are open.
	Extensions func() *extension.Set
	// Model returns the model of a route, its name and context window.
	Model func(ctx context.Context, route string) (m model.Model, name string, window int, err error)
	// Exclusive runs work while no turn runs; prompts that come meanwhile wait. If a turn
	// runs, it returns [ErrRunning].
	Exclusive func(ctx context.Context, work func(context.Context) error) error
}

func (x *Session) core() *Core {
	return &Core{
		Workspace: x.ws, Sandbox: x.sandbox, Remote: x.away.away() || x.away.broken != nil, Editor: x.editor,
		Sink:       x.svc.Instruments.sink(x.id, x.host.Sink(x.id)),
		Show:       func(text string) { x.host.Sink(x.id).Event(agent.Notice{Text: text}) },
		Ask:        x.ask,
		Background: x.background,
		Extensions: x.Extensions,
		Model:      x.childModel,
		Exclusive:  x.exclusive,
	}
}

// ask asks the host's user. It waits as long as the gate would.
func (x *Session) ask(ctx context.Context, q tools.Question) (tools.Decision, error) {
	x.mu.Lock()
	limit := time.Duration(x.conf.Approvals.Timeout) * time.Second
	x.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, max(limit, time.Second))
	defer stop()
	q.SessionID = x.id
	return x.host.AskPermission(ctx, q)
}

// Store returns the store of sessions, which is opened by its first use.
func (s *Service) Store() *store.Store { return s.theStore(s.synchronous()) }

// Extensions returns the session's extensions.
func (x *Session) Extensions() *extension.Set { return x.extensions }

// Find returns the extension of a session that is a T. If there is none, it returns an
// error.
func Find[T any](x *Session) (T, error) {
	found, ok := extension.Find[T](x.extensions)
	if !ok {
		return found, fmt.Errorf("session %q has no such extension: %T", x.id, found)
	}
	return found, nil
}

// Begin reads the session and makes its tools, if that was not done yet.
func (x *Session) Begin(ctx context.Context) error {
	_, err := x.begin(ctx)
	return err
}

// exclusive runs work while no turn runs.
func (x *Session) exclusive(ctx context.Context, work func(context.Context) error) error {
	t, err := x.quiet(func(ctx context.Context) (agent.StopReason, error) { return "", work(ctx) })
	if err != nil {
		return err
	}
	stop, err := t.Run(ctx)
	if err == nil && stop == agent.Cancelled {
		err = context.Canceled
	}
	return err
}

// attach tells the extensions that a host has opened the session.
func (x *Session) attach(given []any) {
	start := x.extensions.Attach(given)
	x.applyMode() // for the secrets
	start()
}

// openExtensions opens the session's extensions. Those that fail are left out.
func (x *Session) openExtensions(draft bool) {
	x.extensions = &extension.Set{} // while they are opened
	var list []extension.Extension
	sections := map[string]func(*config.Loaded) (any, error){}
	core := x.core()
	for _, f := range x.svc.features {
		ext := f.Extension
		if f.Core != nil {
			ext = f.Core(core)
		}
		list = append(list, ext)
		sections[ext.Name()] = f.section()
	}
	set, err := extension.Open(x.ctx, list, func(name string) *extension.Session {
		rights := x.rights(name, sections[name])
		rights.New = draft
		return rights
	})
	if err != nil {
		x.Warn(err.Error())
	}
	set.Events().Failed = x.eventFailed
	x.extensions = set
}

func (x *Session) eventFailed(event, name string, err error) {
	x.svc.Log.Warn("an extension failed at an event", "session", x.id, "event", event, "extension", name, "error", err)
}

// rights returns what an extension gets of the session.
func (x *Session) rights(name string, section func(*config.Loaded) (any, error)) *extension.Session {
	return &extension.Session{
		ID: x.id, Name: name, Kind: extension.Main, Cwd: x.head.Cwd,
		Folders: x.ws.Folders, Files: x.toolFiles(), Editor: x.ws,
		Confine: func(ctx context.Context, c *proc.Cmd) error { return x.sandbox.Confine(ctx, c) },
		Ask:     asker{x},
		Notify:  x.tell,
		Wake:    x.wake,
		Redact:  func(text string) string { return x.secrets.Hide(text) },
		State:   x.svc.Store().State(x.id, name),
		Config:  func(into any) error { return x.section(section, into) },
	}
}

// section decodes an extension's configuration section.
func (x *Session) section(of func(*config.Loaded) (any, error), into any) error {
	if of == nil {
		return nil
	}
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	value, err := of(conf)
	if err != nil {
		x.report(problems(config.Path(x.svc.Home), err))
	}
	to, from := reflect.ValueOf(into), reflect.ValueOf(value)
	if to.Kind() == reflect.Pointer && from.IsValid() && from.Type().AssignableTo(to.Elem().Type()) {
		to.Elem().Set(from)
		return nil
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return nil
}

// problems are the parts of a joined error.
func problems(source string, err error) []config.Problem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []config.Problem
		for _, one := range joined.Unwrap() {
			all = append(all, problems(source, one)...)
		}
		return all
	}
	return []config.Problem{{Source: source, Text: err.Error()}}
}

// asker asks the session's user for its extensions.
type asker struct{ x *Session }

func (a asker) Approve(ctx context.Context, r extension.Request) error {
	verdict := policy.Verdict{Level: policy.Asks, Reason: r.Reason, Keys: r.Keys, Commands: []string{r.Title}, EveryMode: r.EveryMode}
	return a.x.gate.Check(ctx, &tools.Env{SessionID: a.x.id}, r.Call, r.Kind, r.Title, verdict)
}

func (a asker) CanClarify() bool {
	who, ok := a.x.host.(tools.Clarifier)
	return ok && who.CanClarify()
}

func (a asker) Clarify(ctx context.Context, q tools.Inquiry) (tools.Answer, error) {
	who, ok := a.x.host.(tools.Clarifier)
	if !ok {
		return tools.Answer{}, errors.New("nobody can be asked here")
	}
	return who.Clarify(ctx, q)
}

// tell shows a text to the user now, or, before the first turn, with that.
func (x *Session) tell(text string) {
	x.mu.Lock()
	begun := x.agent != nil
	x.mu.Unlock()
	if begun {
		x.host.Sink(x.id).Event(agent.Notice{Text: text})
		return
	}
	x.Warn(text)
}

// told returns the tools that the model was told of when a stored session began; nil:
// the session begins now.
func told(head store.Session) []tools.Spec {
	if head.System == "" {
		return nil
	}
	specs := make([]tools.Spec, len(head.Tools))
	for i, t := range head.Tools {
		specs[i] = tools.Spec(t)
	}
	return specs
}
