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
	arranger Arranger
	late     Late
	sections Sections
	commands Commands
	events   Events
	notices  Notices
	waiting  Waiting
	starts   StartsTurn
	cancels  Cancels
	attach   Attach
	secrets  Secrets
	forget   Forget
	folders  Folders
	begun    Begun
	status   Status
	derive   Derive

	environment Environment
	warm        Warm
	rewritten   Rewritten
}

func implemented(ext Extension, session *Session, x Instance) opened {
	o := opened{ext: ext, session: session, instance: x}
	o.tools, _ = x.(Tools)
	o.arranger, _ = x.(Arranger)
	o.late, _ = x.(Late)
	o.sections, _ = x.(Sections)
	o.commands, _ = x.(Commands)
	o.events, _ = x.(Events)
	o.notices, _ = x.(Notices)
	o.waiting, _ = x.(Waiting)
	o.starts, _ = x.(StartsTurn)
	o.cancels, _ = x.(Cancels)
	o.attach, _ = x.(Attach)
	o.secrets, _ = x.(Secrets)
	o.forget, _ = x.(Forget)
	o.folders, _ = x.(Folders)
	o.begun, _ = x.(Begun)
	o.status, _ = x.(Status)
	o.derive, _ = x.(Derive)
	o.environment, _ = x.(Environment)
	o.warm, _ = x.(Warm)
	o.rewritten, _ = x.(Rewritten)
	return o
}

// Open opens the extensions of a session in order. session returns the rights of each. The error
// joins the errors of extensions that failed to open; the set holds all others.
func Open(ctx context.Context, all []Extension, session func(name string) *Session) (*Set, error) {
	s := &Set{}
	var failed error
	for _, ext := range all {
		rights := session(ext.Name())
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
		rights := o.session.derive(kind, own)
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

// Arrange lets instances decide which tools of a set requests contain. See [Arranger].
func (s *Set) Arrange(ctx context.Context, set *tools.Set, stored []tools.Spec) error {
	for _, o := range s.opened {
		if o.arranger == nil {
			continue
		}
		if err := o.arranger.Arrange(ctx, set, stored); err != nil {
			return fmt.Errorf("arranging the tools: %w", err)
		}
	}
	return nil
}

// LateTools returns the tools changed since the versions in known, and updates known.
func (s *Set) LateTools(known map[string]int) (all []tools.Tool) {
	for _, o := range s.opened {
		if o.late == nil {
			continue
		}
		name := o.ext.Name()
		version, list := o.late.LateTools(known[name])
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
	return slices.ContainsFunc(s.opened, func(o opened) bool { return o.late != nil && o.late.Expects() })
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
	return slices.ContainsFunc(s.opened, func(o opened) bool { return o.waiting != nil && o.waiting.Waiting() })
}

// StartsTurn reports whether an instance has pending notices that start a turn.
func (s *Set) StartsTurn() bool {
	return slices.ContainsFunc(s.opened, func(o opened) bool {
		return o.waiting != nil && o.starts != nil && o.starts.StartsTurn() && o.waiting.Waiting()
	})
}

// CancelBackground ends the work in the background of all instances. If nothing ran, it returns false.
func (s *Set) CancelBackground(cause error) (canceled bool) {
	for _, o := range s.opened {
		canceled = o.cancels != nil && o.cancels.CancelBackground(cause) || canceled
	}
	return canceled
}

// Attach notifies all instances that a host has opened the session. The caller calls start after
// redacting their secrets.
func (s *Set) Attach(given []any) (start func()) {
	var all []func()
	for _, o := range s.opened {
		if o.attach == nil {
			continue
		}
		if start := o.attach.Attach(given); start != nil {
			all = append(all, start)
		}
	}
	return func() {
		for _, start := range all {
			start()
		}
	}
}

// Forget notifies all instances that the model may have lost the text of earlier results.
func (s *Set) Forget() {
	for _, o := range s.opened {
		if o.forget != nil {
			o.forget.Forget()
		}
	}
}

// Environment returns the texts about editor and workspace for the next prompt.
func (s *Set) Environment(ctx context.Context) string {
	var all []string
	for _, o := range s.opened {
		if o.environment == nil {
			continue
		}
		if text := o.environment.Environment(ctx); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// Warm lets all instances prepare for the first prompt.
func (s *Set) Warm() {
	for _, o := range s.opened {
		if o.warm != nil {
			o.warm.Warm()
		}
	}
}

// Rewritten notifies all instances that the model may have lost earlier messages.
func (s *Set) Rewritten() {
	for _, o := range s.opened {
		if o.rewritten != nil {
			o.rewritten.Rewritten()
		}
	}
}

// FoldersChanged notifies all instances of changed workspace folders.
func (s *Set) FoldersChanged() {
	for _, o := range s.opened {
		if o.folders != nil {
			o.folders.FoldersChanged()
		}
	}
}

// Begun gives all instances the Env of calls of the session's tools.
func (s *Set) Begun(env *tools.Env) {
	for _, o := range s.opened {
		if o.begun != nil {
			o.begun.Begun(env)
		}
	}
}

// Status calls line with the status lines, starting with the last extension.
func (s *Set) Status(ctx context.Context, line func(name, text string)) {
	for _, o := range slices.Backward(s.opened) {
		if o.status == nil {
			continue
		}
		if name, text := o.status.StatusLine(ctx); text != "" {
			line(name, text)
		}
	}
}

// Secrets returns the texts to redact, of all instances.
func (s *Set) Secrets() map[string]string {
	all := map[string]string{}
	for _, o := range s.opened {
		if o.secrets != nil {
			maps.Copy(all, o.secrets.Secrets())
		}
	}
	return all
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
