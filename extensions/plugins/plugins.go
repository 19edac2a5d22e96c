// Package plugins runs plugins: third-party programs with tools, hooks, slash commands and texts of
// the system prompt.
//
// A plugin is a directory in $HERMES_HOME/plugins with a plugin.yaml of Hermes Agent, a plugin.json
// of Agent Plugins, or a HOOK.yaml. Only the user enables a plugin, with hermes-ls plugin enable.
// The decision is valid for the directory's content and the plugin's offer at that time. A plugin
// runs in the sandbox with only the permissions of its manifest. Its first call or event starts its
// process. If the process ends three times, the plugin is off, and calls that it would have checked
// are blocked.
package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/running"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

var validTool = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// Config is the configuration of the extension.
type Config struct {
	Settings
	Getenv func(name string) string // of the environment and .env
}

// New returns the extension.
func New(o Options) extension.Extension {
	return &host{Options: o, runners: map[string]*runner{}, told: map[string]bool{}}
}

// Name implements [extension.Extension].
func (*host) Name() string { return "plugins" }

// Open reads the enabled plugins. It starts none.
func (h *host) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	x := &instance{host: h, session: s}
	var c Config
	if err := s.Config(&c); err != nil {
		return nil, err
	}
	if len(c.Enabled) == 0 {
		return x, nil
	}
	all, err := List(h.Home, c.Settings)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.State == Enabled {
			p := plugin{l, l.offered(), h.acquire(l, c.Of(l.Name), s.Folders(), c.Getenv), nil}
			p.hooks = h.bring(s, l, p.runner)
			x.plugins = append(x.plugins, p)
		} else if c.Enables(l.Name) {
			x.off = append(x.off, l)
		}
	}
	return x, nil
}

// plugin is an enabled plugin in a session.
type plugin struct {
	Listed
	offer  Offer
	runner *runner
	hooks  *hooks.Brought // of an Agent Plugin; other hooks are in the offer
}

// instance holds the plugins of a session.
type instance struct {
	host    *host
	session *extension.Session
	plugins []plugin
	off     []Listed // in plugins.enabled, and not usable

	mu  sync.Mutex
	env *tools.Env // of calls of the session
}

// Close ends the processes not used by other sessions.
func (x *instance) Close(context.Context) error {
	var ending sync.WaitGroup
	for _, p := range x.plugins {
		ending.Go(func() { x.host.release(p.runner) })
	}
	ending.Wait()
	return nil
}

// Hooks returns the hooks of the plugins, and lists the plugins.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{Events: x.events(), Opened: x.opened, ToolsListed: x.toolsListed, Entries: x.entries}
}

// toolsListed keeps the Env of calls.
func (x *instance) toolsListed(env *tools.Env) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.env = env
}

// opened reports unusable plugins, and hooks of Agent Plugins that cannot start.
func (x *instance) opened(given []any) (start func()) {
	var starts []func()
	for _, p := range x.plugins {
		if start := p.hooks.Hooks().Opened(given); start != nil {
			starts = append(starts, start)
		}
	}
	if len(x.off)+len(starts) == 0 {
		return nil
	}
	return func() {
		for _, start := range starts {
			start()
		}
		for _, l := range x.off {
			if text := l.Problem(); x.host.once(text) {
				x.session.Notify(text)
			}
		}
	}
}

// Problem returns a sentence about an unusable plugin.
func (l Listed) Problem() string {
	switch l.State {
	case NotGranted:
		return fmt.Sprintf("The plugin %s is in plugins.enabled, and you have not enabled it here. It is not loaded. `hermes-ls plugin enable %[1]s` shows its permissions and enables it.", l.Name)
	case Changed:
		return fmt.Sprintf("The files or the permissions of the plugin %s have changed since you enabled it. It is not loaded. `hermes-ls plugin enable %[1]s` enables it again.", l.Name)
	case Failed:
		return fmt.Sprintf("The plugin %s cannot be loaded: %v", l.Name, l.Err)
	}
	return ""
}

// toolsetOf returns the toolset of a tool.
func toolsetOf(p plugin, t ToolOffer) string {
	if t.Toolset != "" && validTool.MatchString(t.Toolset) {
		return t.Toolset
	}
	return "plugin-" + strings.ToLower(p.Name)
}

// Tools returns the tools of the plugins.
func (x *instance) Tools(context.Context, []tools.Spec) (all []tools.Tool, err error) {
	for _, p := range x.plugins {
		group := &tools.Group{Name: p.Name, About: oneLine(p.Description, 300)}
		for _, t := range p.offer.Tools {
			schema, err := parametersOf(t)
			if err != nil {
				continue // checked by enable
			}
			one := tools.Tool{
				Name: t.Name, Toolset: toolsetOf(p, t), Kind: tools.KindOther, Schema: schema, Group: group, ResultCap: 50_000, TellsRunning: true,
				Description: fmt.Sprintf("(plugin %s) %s", p.Name, plain(t.Description, 4000)),
				ReadOnly:    t.ReadOnly && p.Permissions.Files != Write, Plans: true,
				Override: slices.Contains(p.Permissions.Override, t.Name),
				Title:    func(args json.RawMessage) string { return titleOf(p, t, args) },
				Run: func(ctx context.Context, env *tools.Env, c tools.Call) (tools.Result, error) {
					return x.run(ctx, env, c, p, t)
				},
			}
			if one.ReadOnly {
				one.Kind = tools.KindFetch
			}
			all = append(all, one)
		}
	}
	return all, nil
}

func titleOf(p plugin, t ToolOffer, args json.RawMessage) string {
	title := p.Name + ": " + t.Name
	if len(args) > 2 {
		title += " " + oneLine(string(args), 80)
	}
	return title
}

// toolCall is the request tool.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	SessionID string          `json:"session_id"`
	Cwd       string          `json:"cwd"`
}

// run calls a tool of a plugin.
func (x *instance) run(ctx context.Context, env *tools.Env, c tools.Call, p plugin, t ToolOffer) (tools.Result, error) {
	free := t.ReadOnly && p.Permissions.Files != Write && !p.Permissions.Network
	if env.Planning && !free {
		return tools.Fail("%v", tools.Rejected("can change something, because its plugin does not mark it as read-only or may write files or use the network")), nil
	}
	if err := permit(ctx, env, c, p, t); err != nil {
		return tools.Fail("%v", err), nil
	}
	limited, stop := context.WithTimeoutCause(ctx, toolLimit, fmt.Errorf("no answer within %v", toolLimit))
	defer stop()
	var result json.RawMessage
	one := x.callOf(limited, p, env)
	show, quiet := running.Thin(func(text string) {
		if env.Progress != nil {
			env.Progress(tools.Progress{CallID: c.ID, Message: text})
		}
	})
	defer quiet()
	one.progress = show
	watched, err := x.watch(ctx, p)
	if err != nil {
		return tools.Result{}, err
	}
	ended := env.Running(limited)
	err = p.runner.call(limited, "tool", toolCall{t.Name, c.Args, env.SessionID, x.session.Cwd}, &result, one)
	ended()
	note := watched.Review(ctx, c)
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case errors.Is(err, errOff):
		return tools.Fail("The plugin %s exited three times and is off in this session. Continue without it and tell the user.", p.Name), nil
	case err != nil:
		return tools.Fail("%s of the plugin %s failed: %s. The user finds more in its log.", t.Name, p.Name, tools.OneLine(x.session.Redact(err.Error()), 400)), nil
	}
	if note != "" {
		return extension.WithNote(resultOf(result), note), nil
	}
	return resultOf(result), nil
}

// watch starts the review of changes by a plugin with write access to the workspace. It comes
// before each call: the call may start the plugin.
func (x *instance) watch(ctx context.Context, p plugin) (extension.Watched, error) {
	if p.Permissions.Files != Write || x.session.Watch == nil {
		return extension.Watched{Review: func(context.Context, tools.Call) string { return "" }, Later: func() {}}, nil
	}
	return x.session.Watch(ctx, "the plugin "+p.Name)
}

// resultOf returns the result of a plugin as an object.
func resultOf(result json.RawMessage) tools.Result {
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) == nil && object != nil {
		return tools.Result{JSON: result, IsError: object["error"] != nil}
	}
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	return tools.OK(map[string]json.RawMessage{"result": result})
}

// permit checks whether a call may run. If the plugin marks the tool as read-only and cannot write
// files, it runs. Other calls require approval.
func permit(ctx context.Context, env *tools.Env, c tools.Call, p plugin, t ToolOffer) error {
	v := policy.Verdict{Level: policy.Runs, Commands: []string{t.Name}}
	kind := tools.KindFetch
	if !t.ReadOnly || p.Permissions.Files == Write {
		sum := sha256.Sum256([]byte(p.Grant.Sum + t.Name))
		kind = tools.KindOther
		v.Level, v.Reason = policy.Asks, fmt.Sprintf("calls %s of the plugin %s", t.Name, p.Name)
		v.Keys = []string{"plugin " + p.Name + " " + t.Name + "@" + hex.EncodeToString(sum[:8])}
	}
	if env.Gate == nil {
		if v.Level == policy.Runs {
			return nil
		}
		return gate.NoApproval(v)
	}
	return env.Gate.Check(ctx, env, c, kind, fmt.Sprintf("%s: %s %s", p.Name, t.Name, c.Args), v)
}

// depth is the context key for the number of plugins a call has passed through.
type depth struct{}

// mostDepth limits nested calls between plugins.
const mostDepth = 3

// callOf returns the call for a request to a plugin. env belongs to the tool call behind the
// request.
func (x *instance) callOf(ctx context.Context, p plugin, env *tools.Env) *call {
	c := &call{ctx: ctx, session: x.session.ID}
	c.tool = func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		before, _ := ctx.Value(depth{}).(int)
		switch {
		case !slices.Contains(p.Permissions.Tools, name):
			return nil, fmt.Errorf("the plugin may not call %s; permissions.tools of its manifest lists the tools that it may call", name)
		case env == nil || env.Dispatch.Set == nil || !env.Dispatch.Offers(name):
			return nil, fmt.Errorf("there is no tool %s in this session", name)
		case before == mostDepth:
			return nil, errors.New("plugins have called each other too often in this call")
		}
		own := *env
		if env.Gate != nil {
			own.Gate = asks{env.Gate, p.Name}
		}
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		id := fmt.Sprintf("plugin-%s-%d", p.Name, time.Now().UnixNano())
		r, err := env.Dispatch.Set.Call(context.WithValue(ctx, depth{}, before+1), &own, tools.Call{ID: id, Name: name, Args: args})
		if err != nil {
			return nil, err
		}
		return r.JSON, nil
	}
	return c
}

// asks is the gate for calls of a plugin. Its requests name the plugin.
type asks struct {
	tools.Approver
	plugin string
}

// Check implements [tools.Approver].
func (a asks) Check(ctx context.Context, env *tools.Env, c tools.Call, kind tools.Kind, title string, v policy.Verdict) error {
	return a.Approver.Check(ctx, env, c, kind, fmt.Sprintf("The plugin %s: %s", a.plugin, title), v)
}

// events returns the hooks of the plugins.
func (x *instance) events() (all []extension.Handlers) {
	for _, p := range x.plugins {
		all = append(all, p.hooks.Hooks().Events...)
		for _, event := range p.offer.Hooks {
			handlers, _ := hooks.Handlers(x.session, hooks.Options{Transcript: x.host.Transcript}, p.Name, event, func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
				return x.hook(ctx, p, event, payload)
			})
			all = append(all, handlers...) // an unknown event never happens
		}
	}
	return all
}

// hook sends an event to a plugin.
func (x *instance) hook(ctx context.Context, p plugin, event string, payload json.RawMessage) (result json.RawMessage, err error) {
	x.mu.Lock()
	env := x.env
	x.mu.Unlock()
	if n, _ := ctx.Value(depth{}).(int); n == mostDepth {
		return nil, errors.New("plugins have called each other too often in this call")
	}
	params := struct {
		Event   string          `json:"event"`
		Payload json.RawMessage `json:"payload"`
	}{event, payload}
	watched, err := x.watch(ctx, p)
	if err != nil {
		return nil, err
	}
	defer watched.Later()
	if err = p.runner.call(ctx, "hook", params, &result, x.callOf(ctx, p, env)); err != nil {
		return nil, err
	}
	if string(result) == "null" || string(result) == "{}" || p.Kind == Observer {
		return nil, nil
	}
	var text string
	if json.Unmarshal(result, &text) == nil {
		return json.RawMessage(text), nil
	}
	return result, nil
}

// Order is the order of the commands of plugins in lists.
const Order = 560

// Commands returns /plugins and the commands of the plugins.
func (x *instance) Commands() []extension.Command {
	all := []extension.Command{command.With(x.list)}
	for _, p := range x.plugins {
		for _, c := range p.offer.Commands {
			all = append(all, extension.Command{
				Name: c.Name, Description: oneLine(c.Description, 200), Hint: oneLine(c.Hint, 60), Order: Order,
				Run: func(ctx context.Context, args string) (string, error) { return x.command(ctx, p, c, args) },
			})
		}
	}
	return all
}

func (x *instance) command(ctx context.Context, p plugin, c CommandOffer, args string) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, toolLimit, fmt.Errorf("no answer within %v", toolLimit))
	defer stop()
	x.mu.Lock()
	env := x.env
	x.mu.Unlock()
	var result struct {
		Text string `json:"text"`
	}
	params := map[string]string{"name": c.Name, "args": args, "session_id": x.session.ID, "cwd": x.session.Cwd}
	watched, err := x.watch(ctx, p)
	if err != nil {
		return "", err
	}
	defer watched.Later()
	if err := p.runner.call(ctx, "command", params, &result, x.callOf(ctx, p, env)); err != nil {
		return "", fmt.Errorf("the plugin %s: %w", p.Name, err)
	}
	return plain(x.session.Redact(result.Text), 100_000), nil
}

// Limits of texts in the system prompt, in bytes.
const (
	largestSection  = 2000
	largestSections = 4000
)

// Sections returns the texts of the plugins.
func (x *instance) Sections(context.Context) []prompt.Section {
	var b strings.Builder
	room := largestSections
	for _, p := range x.plugins {
		for _, s := range p.offer.Sections {
			text := strings.TrimSpace(plain(s.Text, min(largestSection, room)))
			if text == "" || room <= 0 {
				continue
			}
			room -= len(text)
			fmt.Fprintf(&b, "\n## From the plugin %s: %s\n\n%s\n", p.Name, oneLine(s.ID, 60), text)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []prompt.Section{{Slot: prompt.Project, Text: "\n# Plugins\n\nTexts of plugins that the user has enabled, with the rank of project instructions.\n" + b.String()}}
}

// Derive gives a subagent the tools of its parent's plugins. Their hooks see its calls.
func (x *instance) Derive(_ context.Context, kind extension.Kind, _ *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return parents{x}, nil
}

// parents are the plugins of a subagent's parent.
type parents struct{ parent *instance }

func (parents) Close(context.Context) error { return nil }

// Hooks returns the hooks of the parent's plugins, so a subagent cannot avoid their checks.
func (p parents) Hooks() extension.Hooks { return extension.Hooks{Events: p.parent.events()} }

// Tools returns the tools of the parent's plugins.
func (p parents) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	return p.parent.Tools(ctx, stored)
}

// plain returns a text without control and invisible characters, cut to limit bytes.
func plain(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(tools.Outside(text), ""))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:max(limit, 0)], "")
	}
	return text
}

func oneLine(text string, limit int) string {
	return strings.Join(strings.Fields(plain(text, limit)), " ")
}
