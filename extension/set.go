package extension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Set holds the instances of one session. The zero value is an empty set.
type Set struct {
	opened []opened
	events Dispatcher
}

// opened is an instance with the interfaces it implements.
type opened struct {
	ext      Extension
	session  *Session // its rights
	instance Instance // nil: a derived session gets nothing of ext
	tools    Tools
	sections Sections
	commands Commands
	notices  Notices
	derive   Derive
	hooks    Hooks
}

func implemented(ext Extension, session *Session, x Instance) opened {
	o := opened{ext: ext, session: session, instance: x}
	o.tools, _ = x.(Tools)
	o.sections, _ = x.(Sections)
	o.commands, _ = x.(Commands)
	o.notices, _ = x.(Notices)
	o.derive, _ = x.(Derive)
	if h, ok := x.(Hooked); ok {
		o.hooks = h.Hooks()
	}
	return o
}

// Open opens the extensions of a session in order. session returns the rights of each. The error
// joins the errors of extensions that failed to open; the set holds all others.
func Open(ctx context.Context, all []Extension, session func(name string) *Session) (*Set, error) {
	s := &Set{}
	var failed error
	for _, ext := range all {
		rights := s.with(session(ext.Name()))
		x, err := open(ctx, ext, rights)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("the extension %s is not available in this session: %w", ext.Name(), err))
			continue
		}
		s.opened = append(s.opened, implemented(ext, rights, x))
	}
	s.collectEvents(nil)
	return s, failed
}

// with gives an extension the services for extensions with bounds.
func (s *Set) with(rights *Session) *Session {
	if rights != nil && rights.Bounds != (tools.Bounds{}) {
		rights.Edits = s.Edits
	}
	return rights
}

func open(ctx context.Context, ext Extension, session *Session) (x Instance, err error) {
	defer recovered(&err)
	x, err = ext.Open(ctx, session)
	if err == nil && x == nil {
		err = errors.New("it opened nothing")
	}
	return x, err
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it failed by a mistake: %v", p)
	}
}

// Derive opens the set of a subagent, a script or a replay of s's session. The error joins the
// errors of instances that failed; the set holds all others.
func (s *Set) Derive(ctx context.Context, kind Kind, own Own) (*Set, error) {
	d := &Set{}
	d.events.kind, d.events.Failed = kind, s.events.Failed
	var failed error
	for _, o := range s.opened {
		rights := d.with(o.session.derive(kind, own))
		x, err := derived(ctx, o, kind, rights)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("the extension %s is not available in this %s: %w", o.ext.Name(), kind, err))
		}
		d.opened = append(d.opened, implemented(o.ext, rights, x))
	}
	d.collectEvents(s)
	return d, failed
}

// Derives reports whether an extension may give something to derived sessions.
func (s *Set) Derives(name string) bool {
	return slices.ContainsFunc(s.opened, func(o opened) bool { return o.ext.Name() == name && o.derive != nil })
}

func derived(ctx context.Context, o opened, kind Kind, rights *Session) (x Instance, err error) {
	defer recovered(&err)
	if o.derive == nil {
		return nil, nil
	}
	return o.derive.Derive(ctx, kind, rights)
}

// Tools returns the tools of all instances in order. See [Tools].
func (s *Set) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	var all []tools.Tool
	for _, o := range s.opened {
		if o.tools == nil {
			continue
		}
		list, err := o.tools.Tools(ctx, stored)
		if err != nil {
			return nil, fmt.Errorf("listing the tools of %s: %w", o.ext.Name(), err)
		}
		for i := range list {
			list[i].Owner = o.ext.Name()
		}
		all = append(all, list...)
	}
	return all, nil
}

// Arrange lets instances decide which tools of a set requests contain. See [Hooks].
func (s *Set) Arrange(ctx context.Context, set *tools.Set, stored []tools.Spec) error {
	for _, o := range s.opened {
		if o.hooks.Arrange == nil {
			continue
		}
		if err := o.hooks.Arrange(ctx, set, stored); err != nil {
			return fmt.Errorf("arranging the tools: %w", err)
		}
	}
	return nil
}

// LateTools returns the tools changed since the versions in known, and updates known.
func (s *Set) LateTools(known map[string]int) (all []tools.Tool) {
	for _, o := range s.opened {
		if o.hooks.Late == nil {
			continue
		}
		name := o.ext.Name()
		version, list := o.hooks.Late(known[name])
		known[name] = version
		for i := range list {
			list[i].Owner = name
		}
		all = append(all, list...)
	}
	return all
}

// Expects reports whether an instance may add tools later.
func (s *Set) Expects() bool {
	return slices.ContainsFunc(s.opened, func(o opened) bool { return o.hooks.More != nil && o.hooks.More() })
}

// Placeholders returns a tool of each instance that expects this name.
func (s *Set) Placeholders(name string) (all []tools.Tool) {
	for _, o := range s.opened {
		if o.hooks.Placeholder == nil {
			continue
		}
		if t, ok := o.hooks.Placeholder(name); ok {
			all = append(all, t)
		}
	}
	return all
}

// Sections returns the prompt sections of all instances in order.
func (s *Set) Sections(ctx context.Context) []prompt.Section {
	var all []prompt.Section
	for _, o := range s.opened {
		if o.sections != nil {
			all = append(all, o.sections.Sections(ctx)...)
		}
	}
	return all
}

// Commands returns the slash commands of all instances.
func (s *Set) Commands() (all []*Command) {
	for _, o := range s.opened {
		if o.commands == nil {
			continue
		}
		list := o.commands.Commands()
		all = slices.Grow(all, len(list))
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// Notices returns the notices of all instances in order.
func (s *Set) Notices(ctx context.Context, when When) []string {
	var all []string
	for _, o := range s.opened {
		if o.notices != nil {
			all = append(all, o.notices.Notices(ctx, when)...)
		}
	}
	return all
}

// Waiting reports whether an instance has pending notices for the user.
func (s *Set) Waiting() bool {
	return slices.ContainsFunc(s.opened, func(o opened) bool { return o.hooks.Waiting != nil && o.hooks.Waiting() })
}

// StartsTurn reports whether an instance has pending notices that start a turn.
func (s *Set) StartsTurn() bool {
	return slices.ContainsFunc(s.opened, func(o opened) bool {
		h := o.hooks
		return h.Waiting != nil && h.StartsTurn != nil && h.StartsTurn() && h.Waiting()
	})
}

// Cancel cancels the work in the background of all instances. If nothing ran, it returns false.
func (s *Set) Cancel(cause error) (canceled bool) {
	for _, o := range s.opened {
		canceled = o.hooks.Cancel != nil && o.hooks.Cancel(cause) || canceled
	}
	return canceled
}

// Opened notifies all instances that a host has opened the session. The caller calls start after
// redacting their secrets.
func (s *Set) Opened(given []any) (start func()) {
	var all []func()
	for _, o := range s.opened {
		if o.hooks.Opened == nil {
			continue
		}
		if start := o.hooks.Opened(given); start != nil {
			all = append(all, start)
		}
	}
	return func() {
		for _, start := range all {
			start()
		}
	}
}

// Environment returns the texts about editor and workspace for the next prompt.
func (s *Set) Environment(ctx context.Context) string {
	var all []string
	for _, o := range s.opened {
		if o.hooks.Environment == nil {
			continue
		}
		if text := o.hooks.Environment(ctx); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// Warm lets all instances prepare for the first prompt.
func (s *Set) Warm() { s.tell(func(h Hooks) func() { return h.Warm }) }

// FoldersChanged notifies all instances of changed workspace folders.
func (s *Set) FoldersChanged() { s.tell(func(h Hooks) func() { return h.FoldersChanged }) }

// TrustChanged notifies all instances of changed trust.
func (s *Set) TrustChanged() { s.tell(func(h Hooks) func() { return h.TrustChanged }) }

// tell calls a function of all instances.
func (s *Set) tell(of func(Hooks) func()) {
	for _, o := range s.opened {
		if f := of(o.hooks); f != nil {
			f()
		}
	}
}

// HistoryChanged notifies all instances that the model may have lost a part of the history.
func (s *Set) HistoryChanged(c Change) {
	for _, o := range s.opened {
		if o.hooks.HistoryChanged != nil {
			o.hooks.HistoryChanged(c)
		}
	}
}

// PassEnv passes variables to programs that instances start for the model from now on.
func (s *Set) PassEnv(vars []string) {
	for _, o := range s.opened {
		if o.hooks.PassEnv != nil {
			o.hooks.PassEnv(vars)
		}
	}
}

// ToolsListed gives all instances the Env of calls of the session's tools.
func (s *Set) ToolsListed(env *tools.Env) {
	for _, o := range s.opened {
		if o.hooks.ToolsListed != nil {
			o.hooks.ToolsListed(env)
		}
	}
}

// Status calls line with the status lines, starting with the last extension.
func (s *Set) Status(ctx context.Context, line func(name, text string)) {
	for _, o := range slices.Backward(s.opened) {
		if o.hooks.Status == nil {
			continue
		}
		if name, text := o.hooks.Status(ctx); text != "" {
			line(name, text)
		}
	}
}

// Secrets returns the texts to redact, of all instances.
func (s *Set) Secrets() map[string]string {
	all := map[string]string{}
	for _, o := range s.opened {
		if o.hooks.Secrets != nil {
			maps.Copy(all, o.hooks.Secrets())
		}
	}
	return all
}

// Entries returns the lists for editors, of all instances.
func (s *Set) Entries(ctx context.Context) (map[string]any, error) {
	all := map[string]any{}
	for _, o := range s.opened {
		if o.hooks.Entries == nil {
			continue
		}
		part, err := o.hooks.Entries(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, part)
	}
	return all, nil
}

// Document returns the file for a command that opens an entry. If no instance has the command, ok
// is false.
func (s *Set) Document(ctx context.Context, command, name string) (path string, ok bool, err error) {
	for _, o := range s.opened {
		if o.hooks.Document == nil {
			continue
		}
		if path, ok, err := o.hooks.Document(ctx, command, name); ok || err != nil {
			return path, ok, err
		}
	}
	return "", false, nil
}

// Close closes all instances in reverse order, and returns their errors.
func (s *Set) Close(ctx context.Context) error {
	failed := s.events.close(ctx)
	for _, o := range slices.Backward(s.opened) {
		if o.instance == nil {
			continue
		}
		if err := closeOne(ctx, o.instance); err != nil {
			failed = errors.Join(failed, fmt.Errorf("closing %s: %w", o.ext.Name(), err))
		}
	}
	return failed
}

func closeOne(ctx context.Context, x Instance) (err error) {
	defer recovered(&err)
	return x.Close(ctx)
}
