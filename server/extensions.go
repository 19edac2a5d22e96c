package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/builder"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/backend"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Feature is an extension with its part of the configuration.
type Feature struct {
	extension.Extension
	// Core makes the extension of a session, in place of Extension. It is for features of the
	// program itself, which need more than an [extension.Session].
	Core func(*Core) extension.Extension
	// Commands are the extension's rows of the command table.
	Commands []extension.Command
	// Toolset is the toolset of the extension's tools. Configuration may name it even if no
	// tool is there; empty: it has none of a fixed name.
	Toolset string
	// Needs says where the tools work. If the session's commands run elsewhere, the tools are left out.
	Needs Needs
	// Settings is the extension's own section of config.yaml; nil: it has none.
	Settings *config.Section
	// Section makes the extension's configuration of all settings. An error is
	// reported as a problem of the configuration; the result applies all the same. If it is nil,
	// the extension gets its own section.
	Section  func(c *config.Loaded) (any, error)
	Stored   bool                         // the extension also works for closed sessions, see [Stored]
	Preload  func()                       // prepares shared data of sessions before a prompt needs it; may be nil
	Shutdown func() error                 // is called when the service is closed; may be nil
	Deleted  func(sessionID string) error // is called when a session is deleted; may be nil
	// Moved moves the feature's data of a folder to its new path, and describes it, such as "2
	// trusted folders"; empty: nothing. It may be nil.
	Moved func(ctx context.Context, m Move) (string, error)
	// Loads are files and folders of a workspace: the extension loads them as instructions or
	// programs. A folder ends with a slash. They are protected: see the package protected.
	Loads []string
	// CLI is the feature's command of hermes-ls, and Doctor its part of `hermes-ls doctor`. Each may be nil.
	CLI    cli.Command
	Doctor cli.Doctor
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

// CommandsOf returns the commands of hermes-ls that features bring.
func CommandsOf(features func(*Service) []Feature, h cli.Home) (all []*cobra.Command) {
	for _, f := range features(&Service{}) {
		if f.CLI != nil {
			all = append(all, f.CLI(h))
		}
	}
	return all
}

// Doctor runs the checks of features, in the order of their list.
func Doctor(ctx context.Context, features func(*Service) []Feature, h cli.Home, c *config.Loaded) (all []cli.Finding) {
	for _, f := range features(&Service{}) {
		if f.Doctor != nil {
			all = append(all, f.Doctor(ctx, h, c)...)
		}
	}
	return all
}

// Toolsets returns the toolsets of features.
func Toolsets(features []Feature) (names []string) {
	for _, f := range features {
		if f.Toolset != "" {
			names = append(names, f.Toolset)
		}
	}
	return names
}

// section returns the function that reads the feature's settings. If there are none, it returns
// nil.
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

// Core is a part of a session for features of the program itself: checkpoints, subagents and
// commands. Other features have an [extension.Session] only.
type Core struct {
	Workspace *workspace.Workspace
	Remote    bool                // commands run on another machine
	Editor    string              // the host's name, for the model
	Facts     func() prompt.Facts // for the model
	Sink      agent.Sink
	Terminals shell.Terminals // the editor's own; nil: it has none
	Backend   Backend
	// Exclusive runs work while no turn runs, here or in another process. Prompts wait until work
	// is done. If a turn runs, it returns [ErrRunning] or [store.ErrClaimed].
	Exclusive func(ctx context.Context, work func(context.Context) error) error
}

// Backend runs the commands of a session. Its zero value is this machine.
type Backend struct {
	backend.Backend       // nil: this machine
	Broken          error // why the configured backend is missing
}

func coreOf(x *Session) *Core {
	at := x.location
	return &Core{
		Workspace: at.ws, Remote: at.remote.otherFiles() || at.remote.broken != nil, Editor: x.place.Editor,
		Facts: func() prompt.Facts { return at.facts(x.settings) },
		Sink:  x.svc.Instruments.sink(x.id, x.notifier.sink(nil)), Terminals: x.host.Terminals(x.id),
		Backend: Backend{at.remote.backend, at.remote.broken}, Exclusive: x.runExclusive,
	}
}

// openURL returns the function with which the host opens a page, if it can.
func openURL(x *Session) func(ctx context.Context, server, address string) bool {
	return func(ctx context.Context, server, address string) bool {
		h, ok := x.host.(interface {
			OpenAddress(ctx context.Context, sessionID, server, address string) bool
		})
		return ok && h.OpenAddress(ctx, x.id, server, address)
	}
}

// Store returns the store of sessions, which is opened by its first use.
func (s *Service) Store() *store.Store { return s.theStore(s.synchronous()) }

// Find returns the session's extension of type T. If there is none, it returns an error.
func Find[T extension.Instance](x *Session) (T, error) {
	found, ok := extension.Find[T](x.extensions)
	if !ok {
		return found, fmt.Errorf("session %q has no such extension: %T", x.id, found)
	}
	return found, nil
}

// Extensions returns the extensions of the session.
func (x *Session) Extensions() *extension.Set { return x.extensions }

// attach tells the extensions: a host has opened the session.
func (x *Session) attach(given []any) {
	start := x.extensions.Opened(given)
	x.applySettings() // for the secrets
	start()
}

// openExtensions opens the wanted extensions of the session. It leaves out those that fail.
func openExtensions(x *Session, draft bool, wanted func(Feature) bool) {
	x.extensions = &extension.Set{} // while they are opened
	var list []extension.Extension
	sections := map[string]func(*config.Loaded) (any, error){}
	core := coreOf(x)
	for _, f := range x.svc.features {
		if !wanted(f) {
			continue
		}
		ext := f.Extension
		if f.Core != nil {
			ext = f.Core(core)
		}
		list = append(list, ext)
		sections[ext.Name()] = f.section()
	}
	set, err := extension.Open(x.queue.ctx, list, func(name string) *extension.Session {
		rights := rightsOf(x, name, sections[name])
		rights.New = draft
		return rights
	})
	if err != nil {
		x.Warn(err.Error())
	}
	set.Events().Failed = func(event, name string, err error) {
		x.svc.Log.Warn("an extension failed at an event", "session", x.id, "event", event, "extension", name, "error", err)
	}
	x.extensions = set
}

// rightsOf returns the rights of an extension in the session.
func rightsOf(x *Session, name string, section func(*config.Loaded) (any, error)) *extension.Session {
	at := x.location
	return &extension.Session{
		ID: x.id, Name: name, Kind: extension.Main, Cwd: x.Cwd(),
		Folders: at.ws.Folders, Files: at.files(), Editor: at.ws,
		Bounds: at.bounds(x.svc, x.settings.secrets), Processes: processesOf(x), Host: hostOf(x), Models: modelsOf(x, name),
		Ask:  askerOf(x),
		Emit: func(e extension.Event) { x.emit(name, e) },
		Wake: x.wake,
		Mode: x.settings.mode, SetMode: x.SetMode,
		Situation: func() extension.Situation { return situationOf(x) },
		Spawn:     func(ctx context.Context, t extension.Task) (extension.Report, error) { return Spawn(ctx, x, t) },
		Redact:    func(text string) string { return x.settings.secrets.Hide(text) },
		State:     x.svc.Store().State(x.id, name),
		Plan:      x.record.plan,
		Config:    func(into any) error { return decodeSection(x, section, into) },

		Extensions: func() *extension.Set { return x.extensions },
	}
}

func processesOf(x *Session) extension.Processes {
	box := func() *sandbox.Box { return gate.BoxOf(x.location.box, x.settings.gate) }
	return extension.Processes{
		Confine: func(ctx context.Context, c *proc.Cmd) error { return box().Confine(ctx, c) },
		ConfineReader: func(ctx context.Context, c *proc.Cmd, name string) (string, error) {
			return box().ConfineReader(ctx, c, name)
		},
		Watch: func(ctx context.Context, by string) (extension.Watched, error) {
			env := &tools.Env{SessionID: x.id, Gate: x.settings.gate}
			return builder.Watched(gate.Stand(ctx, x.queue.ctx, env, x.location.box, x.settings.secrets.Hide, by))
		},
	}
}

func hostOf(x *Session) extension.Host {
	_, offers := x.host.(interface{ ShowsOffers() })
	h := extension.Host{
		Decide: x.ask, Offers: offers,
		OpenURL: openURL(x), Diagnoser: x.location.diagnoser(x.host),
		CommandsChanged: func() {
			if v, ok := x.host.(CommandViewer); ok {
				v.CommandsChanged(x)
			}
		},
	}
	if v, ok := x.host.(EditorViewer); ok {
		h.EditorState, h.Problems, h.LanguageServers = v.EditorState, v.Problems, v.LanguageServers()
	}
	return h
}

// modelsOf returns the models for an extension. A named route is of the section delegation; without
// one, the section of the extension chooses.
func modelsOf(x *Session, name string) extension.Models {
	return extension.Models{
		Complete: func(ctx context.Context, system, prompt string) (string, error) {
			return x.settings.complete(ctx, "goal_judge", system, prompt)
		},
		Model: func(ctx context.Context, route string) (model.Model, string, int, error) {
			section := name
			if route != "" {
				section = "delegation"
			}
			return x.settings.childModel(ctx, section, route)
		},
		Spend: x.record.spend, Looks: x.settings.looks, Look: x.settings.look, Describe: x.settings.describe,
	}
}

// CommandViewer is a [Host] with a view of the sessions' slash commands.
type CommandViewer interface {
	CommandsChanged(x *Session)
}

// EditorViewer is a [Host] with access to the state of its editor.
type EditorViewer interface {
	EditorState() extension.EditorState
	Problems(ctx context.Context) ([]extension.Problem, error) // see [extension.Session]
	LanguageServers() extension.ServerQuery                    // nil: the editor does not pass requests on
}

func situationOf(x *Session) extension.Situation {
	conf := x.settings.config()
	return extension.Situation{
		Mode: x.settings.mode(), Sandbox: conf.Sandbox.Mode, Network: conf.Sandbox.Network,
		Model: x.settings.modelName(), Window: x.settings.model.Window(), Small: x.settings.small.Load(), Remote: x.location.remote.place(conf),
	}
}

// decodeSection decodes the configuration section of an extension.
func decodeSection(x *Session, of func(*config.Loaded) (any, error), into any) error {
	if of == nil {
		return nil
	}
	value, err := of(x.settings.config())
	if err != nil {
		x.notifier.report(config.Problems(config.Path(x.svc.Home), err))
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

// askerOf returns the Asker of a session's extensions.
func askerOf(x *Session) builder.Asker {
	a := builder.Asker{Gate: x.settings.gate, ID: x.id}
	if _, ok := x.host.(tools.Clarifier); ok {
		a.Questions = x.questions
	}
	return a
}

// Spawn runs a subagent of a session, with the extension for subagents. [Session.Begin] must have
// been called.
func Spawn(ctx context.Context, x *Session, t extension.Task) (extension.Report, error) {
	own, ok := x.extensions.Spawner()
	if !ok {
		return extension.Report{}, errors.New("there are no subagents in this session")
	}
	return own.Spawn(ctx, t)
}

// ask asks the user a question for which the gate has no rule, with the gate's timeout.
func (x *Session) ask(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	limit := time.Duration(x.settings.config().Approvals.Timeout) * time.Second
	ctx, stop := context.WithTimeout(ctx, max(limit, time.Second))
	defer stop()
	q.SessionID = x.id
	return x.questions.AskPermission(ctx, q)
}

// emit shows an event of an extension. If it is a question, it goes to the host alone, not to the
// client of the running turn.
func (x *Session) emit(name string, e extension.Event) {
	n := agent.Notice{Text: e.Title, More: e.Text}
	switch e.Kind {
	case extension.EventQuestion:
		n.Asks = true
		x.notifier.sink(nil).Event(n)
		return
	case extension.EventNotice:
		if x.record.opened() == nil {
			x.notifier.later(n)
			return
		}
	case extension.EventNow:
	default:
		n.Own = &agent.ExtensionEvent{Extension: name, Kind: e.Kind, Data: e.Data}
	}
	x.notifier.post(n)
}
