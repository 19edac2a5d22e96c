package server

import (
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
	name, effort := s.model.Choice()
	offers := s.offers()
	name = s.primary(offers, name)
	if effort == "" {
		effort = thoughtAuto
	}
	choices := make([]Choice, len(offers))
	for i, m := range offers {
		choices[i] = Choice{ID: m.Name, Name: m.Name, Description: s.described(m, m.Name == name)}
	}
	return []Option{
		{Choice{optionMode, "Mode", "What runs, and what requires approval."}, "mode", s.mode(), Modes()},
		{Choice{optionModel, "Model", "The model to use. If it fails, the fallbacks are tried."}, "model", name, choices},
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

// described describes a model. With the first model, it has the window in use, and what of the limits is
// spent and left.
func (s *settings) described(m models.Offer, first bool) string {
	window := ""
	if first && !s.routed.Load() {
		window = s.windowInUse()
	}
	text := modelText(m, window)
	if first {
		lines, _ := s.spending.Left(context.Background()) // without them, the description is shorter
		text = strings.TrimPrefix(strings.Join(append([]string{text}, lines...), "; "), "; ")
	}
	return text
}

// modelText describes a model by its context window, its price, and whether it accepts pictures, as
// far as they are known. If window is not empty, it describes the window in use.
func modelText(m models.Offer, window string) string {
	var parts []string
	switch {
	case window != "":
		parts = append(parts, window)
	case m.Configured:
		parts = append(parts, windowText(m.Window)+" (config.yaml)")
	case m.Window > 0:
		parts = append(parts, windowText(m.Window))
	}
	if m.Price != nil {
		parts = append(parts, fmt.Sprintf("$%g in and $%g out for a million", m.Price.Input, m.Price.Output))
	}
	if m.Images {
		parts = append(parts, "pictures")
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
		if name := s.find(value); name != "" {
			return name, nil
		}
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
	if id == optionModel {
		s.svc.lists.Use(ctx, value)
	}
	if id == optionModel && wasSet {
		err = errors.Join(err, s.ready()) // a running turn continues with the new model
	}
	return err
}

// ids lists the first choices.
func ids(choices []Choice) string {
	const most = 20
	all := make([]string, 0, most)
	for _, c := range choices[:min(len(choices), most)] {
		all = append(all, c.ID)
	}
	text := strings.Join(all, ", ")
	if more := len(choices) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
