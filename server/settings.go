package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/server/models"
	"github.com/hermes-ls/hermes-ls/server/spending"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// Choice is a value for an option.
type Choice struct{ ID, Name, Description string }

// Option is a setting of a session with its value.
type Option struct {
	Choice
	Category string // "mode", "model", "thought_level"
	Value    string // the ID of an element of Choices
	Choices  []Choice
}

// Modes of a session. They decide which actions run, and which require approval.
const (
	ModeAsk  = "ask"
	ModeAuto = "auto"
	ModePlan = "plan"

	ModeCareful = "careful"
)

// Modes are the modes of every session.
func Modes() []Choice {
	return []Choice{
		{ModeAsk, "Ask", "Risky actions, such as deleting or force-pushing, require approval. All others run."},
		{ModeCareful, "Ask before edits", "As Ask, and each edit of a file requires approval before it is made."},
		{ModeAuto, "Auto", "No action requires approval. Blocked actions stay blocked."},
		{ModePlan, "Plan", "Only reads, and ends with a plan. Work starts when you approve it."},
	}
}

func checkMode(id string) error {
	if !slices.ContainsFunc(Modes(), func(c Choice) bool { return c.ID == id }) {
		return badInput("modeId", "%q is not a mode; there are %s", id, ids(Modes()))
	}
	return nil
}

// settings are the configuration of a session and the options chosen by its user.
type settings struct {
	svc     *Service
	record  *record
	gate    *gate.Gate
	secrets *tools.Secrets // follow the configuration
	model   *models.Chosen
	routed  atomic.Bool // model belongs to a route, for one turn
	// spending limits what the session's requests cost.
	spending *spending.Ledger
	small    atomic.Bool // the session uses the profile for small context windows

	mu   sync.Mutex
	conf *config.Loaded
}

func newSettings(svc *Service, r *record, conf *config.Loaded, asker tools.Asker) *settings {
	s := &settings{svc: svc, record: r, secrets: &tools.Secrets{}, model: &models.Chosen{}, conf: conf}
	head := r.head()
	s.model.Choose(head.Preferred, head.Thinking)
	s.gate = gate.New(gate.Config{
		Mode:    conf.Approvals.Mode,
		Timeout: time.Duration(conf.Approvals.Timeout) * time.Second,
		Asker:   asker,
		Judge:   s.judge,
		Always:  func(key string) error { return config.AppendAllowlist(svc.Home, key) },
	})
	return s
}

// config returns the configuration as it is now.
func (s *settings) config() *config.Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conf
}

// setConfig replaces the configuration. [settings.apply] must follow.
func (s *settings) setConfig(conf *config.Loaded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conf = conf
}

// mode returns the chosen mode. If there is none, it returns the configured mode.
func (s *settings) mode() string {
	return modeOf(s.record.chosenMode(), s.config())
}

func modeOf(chosen string, conf *config.Loaded) string {
	switch {
	case chosen != "":
		return chosen
	case conf.Approvals.Mode == "off":
		return ModeAuto
	case conf.Approvals.Mode == ModeCareful:
		return ModeCareful
	}
	return ModeAsk
}

// setMode chooses a mode.
func (s *settings) setMode(ctx context.Context, id string) error {
	return s.record.save(ctx, func(h *store.Session) { h.Mode = id })
}

// apply gives the gate the mode and the rules. It registers the configuration's secrets, and known,
// for redaction.
func (s *settings) apply(known map[string]string) {
	chosen := s.record.chosenMode()
	s.mu.Lock()
	defer s.mu.Unlock()
	mode, configured := modeOf(chosen, s.conf), s.conf.Approvals.Mode
	s.gate.SetRules(s.conf.Approvals.Deny, s.conf.CommandAllowlist)
	all := secrets(s.conf)
	maps.Copy(all, known)
	s.secrets.Set(all)
	s.gate.SetPlanning(mode == ModePlan)
	s.gate.SetCareful(mode == ModeCareful)
	switch {
	case mode == ModeAuto:
		s.gate.SetMode("off")
	case configured == "off", configured == ModeCareful:
		s.gate.SetMode("ask")
	default:
		s.gate.SetMode(configured)
	}
}

// secrets returns the keys of the configuration, and the environment variables hidden from
// commands.
func secrets(conf *config.Loaded) map[string]string {
	return conf.Secrets(func(name string) bool {
		return proc.Secret(name) && !slices.Contains(conf.Terminal.EnvPassthrough, name)
	})
}

// Options of a session.
const (
	optionMode    = "mode"
	optionModel   = "model"
	optionThought = "thought_level"
	thoughtAuto   = "default"
)

func (s *settings) options() []Option {
	conf := s.config()
	name, effort := s.model.Choice()

	names := conf.ModelNames()
	if name = config.FindModel(names, name); name == "" {
		name = names[0]
	}
	if effort == "" {
		effort = thoughtAuto
	}
	choices := make([]Choice, len(names))
	for i, m := range names {
		window := configuredWindow(conf, m)
		if m == name && !s.routed.Load() {
			window = cmp.Or(s.windowInUse(), window)
		}
		choices[i] = Choice{ID: m, Name: m, Description: modelText(conf, m, window)}
		if m == name {
			lines, _ := s.spending.Left(context.Background()) // without them, the description is shorter
			choices[i].Description = strings.TrimPrefix(strings.Join(append([]string{choices[i].Description}, lines...), "; "), "; ")
		}
	}
	return []Option{
		{Choice{optionMode, "Mode", "What runs, and what requires approval."}, "mode", s.mode(), Modes()},
		{Choice{optionModel, "Model", "Which configured model answers first; the others stand in when it fails."}, "model", name, choices},
		{Choice{optionThought, "Thinking", "How long the model thinks before it answers, where it can be told."}, "thought_level", effort, []Choice{
			{thoughtAuto, "Default", "As the model likes."}, {"low", "Low", ""}, {"medium", "Medium", ""}, {"high", "High", ""},
		}},
	}
}

// windowInUse describes the window of the primary model. If the window does not come from the
// program's table, it also names the source. If the window is unknown, windowInUse returns "".
func (s *settings) windowInUse() string {
	from := s.model.WindowFrom()
	switch from {
	case "", model.FromGuess:
		return ""
	case model.FromTable:
		return windowText(s.model.Window())
	}
	return windowText(s.model.Window()) + " (" + from + ")"
}

// configuredWindow describes the window of a model as the configuration or the table has it. If neither does,
// it returns "".
func configuredWindow(conf *config.Loaded, name string) string {
	e := conf.Facts(name)
	switch {
	case e.Window > 0:
		return windowText(e.Window) + " (config.yaml)"
	case e.Table.Window > 0:
		return windowText(e.Table.Window)
	}
	return ""
}

// modelText describes a model by its context window and its price, as far as they are known.
func modelText(conf *config.Loaded, name, window string) string {
	e := conf.Facts(name)
	var parts []string
	if window != "" {
		parts = append(parts, window)
	}
	price := e.Price
	if p := e.Table.Price; price == nil && p != nil {
		price = &config.Price{Input: p.Input, Output: p.Output}
	}
	if price != nil {
		parts = append(parts, fmt.Sprintf("$%g in and $%g out for a million", price.Input, price.Output))
	}
	return strings.Join(parts, ", ")
}

// check returns the option's value for the text value: a model may be named without its provider.
// If there is none, it returns an error.
func (s *settings) check(id, value string) (string, error) {
	options := s.options()
	i := slices.IndexFunc(options, func(o Option) bool { return o.ID == id })
	if i < 0 {
		var known []Choice
		for _, o := range options {
			known = append(known, o.Choice)
		}
		return "", badInput("configId", "%q is not an option; there are %s", id, ids(known))
	}
	if id == optionModel {
		value = cmp.Or(config.FindModel(s.config().ModelNames(), value), value)
	}
	if !slices.ContainsFunc(options[i].Choices, func(c Choice) bool { return c.ID == value }) {
		return "", badInput("value", "%q is not a value of %s; there are %s", value, id, ids(options[i].Choices))
	}
	return value, nil
}

// setModel chooses a model or a thinking level for later requests.
func (s *settings) setModel(ctx context.Context, id, value string) error {
	err := s.record.save(ctx, func(h *store.Session) {
		switch {
		case id == optionModel:
			h.Preferred = value
		case value == thoughtAuto:
			h.Thinking = ""
		default:
			h.Thinking = value
		}
	})
	head := s.record.head()
	wasSet := s.model.Choose(head.Preferred, head.Thinking)
	if id == optionModel && wasSet {
		err = errors.Join(err, s.ready()) // a running turn continues with the new model
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
