package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// Choice is one of several things that a user may choose.
type Choice struct{ ID, Name, Description string }

// Option is a setting of a session with its value.
type Option struct {
	Choice
	Category string // "mode", "model", "thought_level"
	Value    string // the ID of one of Choices
	Choices  []Choice
}

// Modes of a session: what its commands and edits do without asking.
const (
	ModeAsk  = "ask"
	ModeAuto = "auto"
)

// Modes are the modes of every session.
func Modes() []Choice {
	return []Choice{
		{ModeAsk, "Ask", "Asks before what is risky, such as deleting or force-pushing. The rest runs."},
		{ModeAuto, "Auto", "Runs without asking. What is never allowed stays refused."},
	}
}

// Mode is the session's mode: the one chosen, else the configured one.
func (x *Session) Mode() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mode()
}

func (x *Session) mode() string {
	switch {
	case x.head.Mode != "":
		return x.head.Mode
	case x.conf.Approvals.Mode == "off":
		return ModeAuto
	}
	return ModeAsk
}

// SetMode chooses a mode for this session alone. It is kept with the session.
func (x *Session) SetMode(ctx context.Context, id string) error {
	if !slices.ContainsFunc(Modes(), func(c Choice) bool { return c.ID == id }) {
		return badInput("modeId", "%q is not a mode; there are %s", id, ids(Modes()))
	}
	err := x.save(ctx, func(h *store.Session) { h.Mode = id })
	x.applyMode()
	x.settingsChanged()
	return err
}

// SettingsViewer is a [Host] that shows the settings of sessions, wherever they are
// changed.
type SettingsViewer interface {
	SettingsChanged(x *Session)
}

func (x *Session) settingsChanged() {
	if v, ok := x.host.(SettingsViewer); ok {
		v.SettingsChanged(x)
	}
}

// save changes the head where it is kept.
func (x *Session) save(ctx context.Context, change func(*store.Session)) error {
	x.mu.Lock()
	change(&x.head)
	made := x.agent
	x.mu.Unlock()
	if made != nil {
		return made.Update(ctx, change)
	}
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	if head, draft := x.svc.drafts[x.id]; draft {
		change(&head)
		x.svc.drafts[x.id] = head
	}
	return nil
}

// applyMode tells the gate, and who hides secrets, what the configuration and the
// session's mode say.
func (x *Session) applyMode() {
	known := x.extensions.Secrets()
	x.mu.Lock()
	mode, configured := x.mode(), x.conf.Approvals.Mode
	x.gate.SetRules(x.conf.Approvals.Deny, x.conf.CommandAllowlist)
	hidden := secrets(x.conf)
	maps.Copy(hidden, known)
	x.secrets.Set(hidden)
	x.mu.Unlock()
	switch {
	case mode == ModeAuto:
		x.gate.SetMode("off")
	case configured == "off":
		x.gate.SetMode("ask")
	default:
		x.gate.SetMode(configured)
	}
}

// Options of a session.
const (
	optionMode    = "mode"
	optionModel   = "model"
	optionThought = "thought_level"
	thoughtAuto   = "default"
)

// Options are the session's settings.
func (x *Session) Options() []Option {
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	x.model.mu.Lock()
	name, effort := x.model.name, x.model.effort
	x.model.mu.Unlock()

	names := []string{conf.Model.Default}
	if conf.Model.Provider == "embedded" {
		names[0] = "embedded"
	}
	for _, m := range conf.Model.Fallback {
		if !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	if !slices.Contains(names, name) {
		name = names[0]
	}
	if effort == "" {
		effort = thoughtAuto
	}
	models := make([]Choice, len(names))
	for i, m := range names {
		models[i] = Choice{ID: m, Name: m}
	}
	return []Option{
		{Choice{optionMode, "Approvals", "What asks before it runs."}, "mode", x.Mode(), Modes()},
		{Choice{optionModel, "Model", "Which configured model answers first; the others stand in when it fails."}, "model", name, models},
		{Choice{optionThought, "Thinking", "How long the model thinks before it answers, where it can be told."}, "thought_level", effort, []Choice{
			{thoughtAuto, "Default", "As the model likes."}, {"low", "Low", ""}, {"medium", "Medium", ""}, {"high", "High", ""},
		}},
	}
}

// SetOption chooses a value. It counts from the next request to the model on, and is
// kept with the session.
func (x *Session) SetOption(ctx context.Context, id, value string) error {
	options := x.Options()
	i := slices.IndexFunc(options, func(o Option) bool { return o.ID == id })
	if i < 0 {
		var known []Choice
		for _, o := range options {
			known = append(known, o.Choice)
		}
		return badInput("configId", "%q is not an option; there are %s", id, ids(known))
	}
	if !slices.ContainsFunc(options[i].Choices, func(c Choice) bool { return c.ID == value }) {
		return badInput("value", "%q is not a value of %s; there are %s", value, id, ids(options[i].Choices))
	}
	if id == optionMode {
		return x.SetMode(ctx, value)
	}
	err := x.save(ctx, func(h *store.Session) {
		switch {
		case id == optionModel:
			h.Preferred = value
		case value == thoughtAuto:
			h.Thinking = ""
		default:
			h.Thinking = value
		}
	})
	wasSet := x.model.choose(x.Head())
	x.settingsChanged()
	if id == optionModel && wasSet {
		err = errors.Join(err, x.ready()) // a turn that runs goes on with the new model
	}
	return err
}

func ids(choices []Choice) string {
	all := make([]string, len(choices))
	for i, c := range choices {
		all[i] = c.ID
	}
	return strings.Join(all, ", ")
}
