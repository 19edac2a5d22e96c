package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// Feature is an extension with its part of the configuration.
type Feature struct {
	extension.Extension
	// Section returns the extension's configuration section. An error is reported as a
	// problem of the configuration; the section applies all the same. If Section is
	// nil, there is no section.
	Section func(c *config.Loaded) (any, error)
}

// Store returns the store of sessions, which is opened by its first use.
func (s *Service) Store() *store.Store { return s.theStore(s.synchronous()) }

// openExtensions opens the session's extensions. Those that fail are left out.
func (x *Session) openExtensions() {
	var list []extension.Extension
	sections := map[string]func(*config.Loaded) (any, error){}
	for _, f := range x.svc.features {
		list = append(list, f.Extension)
		sections[f.Name()] = f.Section
	}
	set, err := extension.Open(x.ctx, list, func(name string) *extension.Session { return x.rights(name, sections[name]) })
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
		ID: x.id, Kind: extension.Main, Cwd: x.head.Cwd,
		Folders: x.ws.Folders, Files: x.toolFiles(), Editor: x.ws,
		Confine: func(ctx context.Context, c *proc.Cmd) error { return x.sandbox.Confine(ctx, c) },
		Ask:     asker{x},
		Notify:  x.tell,
		Wake:    x.wake,
		Redact:  func(text string) string { return x.secrets.Hide(text) },
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
		x.report([]config.Problem{{Source: config.Path(x.svc.Home), Text: err.Error()}})
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

// asker asks the session's user for its extensions.
type asker struct{ x *Session }

func (a asker) Approve(ctx context.Context, r extension.Request) error {
	verdict := approval.Verdict{Level: approval.Asks, Reason: r.Reason, Keys: r.Keys, Commands: []string{r.Title}, EveryMode: r.EveryMode}
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
