package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

// event is the canonical name of an event.
type event string

const (
	preTool       event = "pre_tool_call"
	transformTool event = "transform_tool_result"
	postTool      event = "post_tool_call"
	preLLM        event = "pre_llm_call"
	transformLLM  event = "transform_llm_output"
	preCompress   event = "pre_compress"
	sessionStart  event = "on_session_start"
	sessionEnd    event = "on_session_end"
	subagentStart event = "subagent_start"
	subagentStop  event = "subagent_stop"
)

// names lists the names of each event. Claude Code's names are in claudeNames.
var names = map[event][]string{
	preTool:       {"before-tool-call", "PreToolUse"},
	transformTool: {"after-tool-call"},
	postTool:      {"PostToolUse"},
	preLLM:        {"UserPromptSubmit", "prompt-submit"},
	transformLLM:  {"before-response", "Stop"},
	preCompress:   {"context-compress", "PreCompact"},
	sessionStart:  {"SessionStart"},
	sessionEnd:    {"SessionEnd"},
	subagentStart: {"SubagentStart"},
	subagentStop:  {"SubagentStop"},
}

// claudeNames are the names of Claude Code, in its spelling.
var claudeNames = []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "PreCompact", "SessionStart", "SessionEnd", "SubagentStart", "SubagentStop"}

// eventOf returns the event of a name, ignoring case, dashes and underscores. claude is the name in
// Claude Code's spelling, or "". For an unknown event, ok is false.
func eventOf(name string) (e event, claude string, ok bool) {
	want := plain(name)
	for e, others := range names {
		if plain(string(e)) == want {
			return e, claudeOf(name), true
		}
		for _, other := range others {
			if plain(other) == want {
				return e, claudeOf(name), true
			}
		}
	}
	return "", "", false
}

// claudeOf returns a name in Claude Code's spelling. Names with underscores belong to Hermes.
func claudeOf(name string) string {
	for _, c := range claudeNames {
		if plain(c) == plain(name) && !strings.Contains(name, "_") {
			return c
		}
	}
	return ""
}

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// Hook is a program run at an event.
type Hook struct {
	Event   string // canonical
	Command string // as it is configured
	Matcher string // empty: all tools
	Timeout time.Duration
	Sandbox bool

	label      string // the name of its plugin; empty: configured by the user
	event      event
	claude     string // Claude Code's name, if the configuration uses it
	failClosed *bool
	matcher    *regexp.Regexp // nil: all tools
	words      []string
	invalid    error  // why the hook cannot run; nil: it can
	unfit      string // why it never runs; empty: it may
	runner     Runner // runs in place of a program; nil: the program runs
}

// Runner answers an event in place of a program. It gets the payload of a hook and returns the
// hook's output on stdout.
type Runner func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)

// Handlers returns the functions of a hook without a program, for example from a plugin. Name is
// its name for messages. For an unknown event, ok is false.
func Handlers(s *extension.Session, o Options, name, at string, run Runner) (all []extension.Handlers, ok bool) {
	e, claude, ok := eventOf(at)
	if !ok {
		return nil, false
	}
	x := &instance{Options: o, session: s, hooks: []Hook{{Event: string(e), Command: name, Timeout: defaultTimeout, event: e, claude: claude, runner: run}}}
	return x.events(), true
}

// Brought are a plugin's hooks that are programs.
type Brought struct{ instance }

// Bring returns the hooks in a section of a plugin, whose texts have been checked by [Parse]. They start in the directory
// of the options, bound by their Confine. Replace replaces names in the words of their commands.
func Bring(s *extension.Session, o Options, plugin string, section map[string]any, replace func(string) string) *Brought {
	all, _ := Parse(section)
	for i := range all {
		h := &all[i]
		h.label, h.Sandbox = plugin, true
		for j, w := range h.words {
			h.words[j] = replace(w)
		}
		if len(h.words) > 0 && strings.HasPrefix(h.words[0], "./") {
			h.words[0] = filepath.Join(o.Dir, h.words[0])
		}
	}
	return &Brought{instance: instance{Options: o, session: s, hooks: all}}
}

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 300 * time.Second
)

// Section describes the section hooks of config.yaml.
func Section() *config.Section {
	return &config.Section{Name: "hooks", Doc: "Programs that run at events: EVENT: [{matcher, command, timeout, fail_closed, sandbox}]. See docs/hooks.md.", Defaults: map[string]any{}}
}

// entry is a hook in config.yaml.
type entry struct {
	Matcher    string  `json:"matcher"`
	Command    string  `json:"command"`
	Timeout    float64 `json:"timeout"` // in seconds
	FailClosed *bool   `json:"fail_closed"`
	Sandbox    bool    `json:"sandbox"`
}

// Of returns the hooks of the configuration, in its order. See [Parse].
func Of(c *config.Loaded) (all []Hook, problems []error) {
	section := config.SectionOf[map[string]any](c, Section().Name)
	names := slices.Sorted(maps.Keys(section))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(config.LineOf(c, Section().Name+"."+a), config.LineOf(c, Section().Name+"."+b))
	})
	return parse(section, names)
}

// Parse reads the section. An invalid hook is reported and left out, unless its event blocks if the
// hook fails. Then the hook stays, runs at each tool, and fails.
func Parse(section map[string]any) (all []Hook, problems []error) {
	return parse(section, slices.Sorted(maps.Keys(section)))
}

func parse(section map[string]any, names []string) (all []Hook, problems []error) {
	for _, name := range names {
		if name == "output_spill" { // of Hermes Agent
			continue
		}
		e, claude, ok := eventOf(name)
		if inner, _ := section[name].(map[string]any); !ok && name == "hooks" && len(inner) > 0 {
			problems = append(problems, fmt.Errorf("hooks.hooks: %s. Its hooks do not run", nestedForm))
			continue
		}
		if !ok {
			problems = append(problems, fmt.Errorf("hooks.%s is not an event; it is ignored. The events are %s", name, strings.Join(eventNames(), ", ")))
			continue
		}
		list, err := entries(section[name])
		if err != nil {
			h := Hook{Event: string(e), event: e, claude: claude, Command: name, Timeout: defaultTimeout}
			all, problems = h.reject(all, problems, fmt.Errorf("hooks.%s: %w", name, err))
			continue
		}
		for i, one := range list {
			h, err := newHook(e, claude, one)
			if err != nil {
				all, problems = h.reject(all, problems, fmt.Errorf("hooks.%s, hook %d: %w", name, i+1, err))
				continue
			}
			all = append(all, h)
		}
	}
	return all, problems
}

// reject adds the problem of an invalid hook, and the hook if calls must not run without it.
func (h Hook) reject(all []Hook, problems []error, err error) ([]Hook, []error) {
	if h.event != preTool || h.failClosed != nil && !*h.failClosed {
		return all, append(problems, fmt.Errorf("%w; it is ignored", err))
	}
	h.invalid, h.matcher = err, nil
	return append(all, h), append(problems, fmt.Errorf("%w; until it is fixed, no tool can be called", err))
}

func eventNames() (all []string) {
	for e := range names {
		all = append(all, string(e))
	}
	slices.Sort(all)
	return all
}

func entries(value any) (list []entry, err error) {
	if nested(value) {
		return nil, errors.New(nestedForm)
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, errors.New("it must be a list of {matcher, command, timeout, fail_closed, sandbox}")
	}
	return list, nil
}

func newHook(e event, claude string, c entry) (h Hook, err error) {
	c.Matcher = cleanMatcher(c.Matcher)
	h = Hook{Event: string(e), Command: c.Command, Matcher: c.Matcher, Sandbox: c.Sandbox, event: e, claude: claude, failClosed: c.FailClosed}
	h.Timeout = min(time.Duration(c.Timeout*float64(time.Second)), maxTimeout)
	if h.Timeout <= 0 {
		h.Timeout = defaultTimeout
	}
	if c.Matcher != "" && c.Matcher != "*" {
		if h.matcher, err = regexp.Compile(`^(?:` + c.Matcher + `)$`); err != nil {
			return h, fmt.Errorf("matcher is not a regular expression: %w", err)
		}
	}
	if h.words, err = split(c.Command); err != nil {
		return h, fmt.Errorf("command: %w", err)
	}
	return h, nil
}

// Name is the hook's command, cut and without possibly secret values, or the name of its plugin,
// for messages to the user and to the model.
func (h Hook) Name() string {
	if h.label != "" {
		return h.label
	}
	return shorten.OneLine(new(redact.Set).Line(strings.Join(strings.Fields(h.Command), " ")), 60)
}

// split splits a command into words as a shell does, and expands ~. Nothing else is expanded.
func split(command string) (words []string, err error) {
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(command)) {
		if err != nil {
			return nil, fmt.Errorf("it is run without a shell, and %w", err)
		}
		words = append(words, literal(w.Parts))
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("it is empty")
	}
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "~"); ok && (rest == "" || rest[0] == '/') {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			words[i] = filepath.Join(home, rest)
		}
	}
	return words, nil
}

var unescaped = lazyregexp.New(`\\(.)`)

// literal returns the text of a word without its quotes.
func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped.ReplaceAllString(p.Value, "$1"))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(p.Parts))
		default:
			_ = syntax.NewPrinter().Print(&b, part) // as it is written
		}
	}
	return b.String()
}

// reaches describes the work that hooks can change, by event.
var reaches = map[event]string{
	preTool:       "the arguments of each call, such as the text of a file that is written",
	transformTool: "each result that the model reads",
	preLLM:        "what the model gets with a prompt",
	transformLLM:  "the answers",
}

// Reach returns the work that hooks for events can change, such as "the answers", for the user's
// decision about them.
func Reach(events []string) (all []string) {
	for _, e := range []event{preTool, transformTool, preLLM, transformLLM} {
		if slices.ContainsFunc(events, func(name string) bool { is, _, _ := eventOf(name); return is == e }) {
			all = append(all, reaches[e])
		}
	}
	return all
}

// IsEvent reports whether name is an event's name.
func IsEvent(name string) bool {
	_, _, ok := eventOf(name)
	return ok
}
