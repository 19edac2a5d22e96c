package mcp

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/chatanswer"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/resources"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/sampling"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Section is the configuration section.
type Section struct {
	Servers []Server                  // in the order of their names
	Wrong   []error                   // why others cannot be used; the session reports them
	Offers  func(toolset string) bool // reports whether the tools of a toolset are offered
	Logins  *login.Store              // holds the tokens of logins
	// Workspace returns the servers of plugins, the approved servers of workspace folders, and the
	// unapproved servers. On another machine, there are no folders. Nil: there are no such servers.
	Workspace func(folders []string) (approved []Server, offered []Offered, problems []error)
}

// Dir returns the directory in which servers start. It is empty, and commands of the agent
// cannot write to it.
func Dir(home string) string { return filepath.Join(home, "mcp", "cwd") }

// Extension returns the extension. c has the parts of the process; the session sets the others.
func Extension(c Config) extension.Extension { return servers{c} }

type servers struct{ Config }

func (servers) Name() string { return "mcp" }

func (e servers) Open(ctx context.Context, s *extension.Session) (extension.Instance, error) {
	x := &Instance{session: s}
	c := e.Config
	c.Confine = func(ctx context.Context, p *proc.Cmd, files map[string][]byte) error {
		return s.Bounds.Sandbox.With(sandbox.Opening{Frozen: files}).Confine(ctx, p)
	}
	c.Sampling = sampling.User{Spend: s.Spend, Model: func(ctx context.Context, route string) (model.Model, string, error) {
		m, name, _, err := s.Model(ctx, route)
		return m, name, err
	}}
	c.Roots, c.Pictures = s.Folders(), s.Bounds.Pictures
	var section Section
	_ = s.Config(&section) // opened reports the error
	c.Logins = section.Logins
	c.Later = x.later
	c.Watch = s.Watch
	c.Permit, c.Notice, c.Hide, c.Ask, c.SessionID = x.permit, s.Notify, s.Redact, s.Ask, s.ID
	c.CommandsChanged, c.Sampling.Approve, c.Values = s.CommandsChanged, x.approveSampling, x.values
	if s.Bounds.Secrets != nil {
		c.Secret = s.Bounds.Secrets.Add
	}
	x.Servers = New(ctx, c)
	return x, nil
}

// Instance holds the MCP servers of a session, from the host and from the user's configuration.
type Instance struct {
	*Servers
	session *extension.Session
	logins  login.Attempts
	waiting chatanswer.Waiting // questions to be answered with /answer

	mu    sync.Mutex
	given []Server // by the host; nil: opened was not called yet
}

// permit asks the user whether a server may start and run files of the workspace.
func (x *Instance) permit(ctx context.Context, p Permission) error {
	return x.session.Ask.Approve(ctx, extension.Request{
		Kind: tools.KindExecute, Title: p.Title, Reason: p.Reason, Keys: []string{p.Key}, EveryMode: !p.Sandboxed,
		Call: tools.Call{ID: "mcp-server-" + p.Server, Name: x.session.Name},
	})
}

// approveSampling asks the user whether a server may ask the model. It asks in every mode, each
// time.
func (x *Instance) approveSampling(ctx context.Context, server, request string) error {
	return x.session.Ask.Approve(ctx, extension.Request{
		Kind: tools.KindOther, Title: "Ask the model for the MCP server " + server, EveryMode: true,
		Reason: "sends this to the model, and its answer to the server:\n\n" + request,
		Call:   tools.Call{ID: "mcp-sampling-" + server, Name: x.session.Name},
	})
}

// Given are a host's servers for a session.
type Given []Server

// Hooks connects the servers, and lists their tools and states.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events: []extension.Handlers{{Limit: extension.NoLimit, PreLLMCall: x.beforePrompt}},
		Opened: x.opened, Late: x.LateTools, More: x.expects, Placeholder: x.placeholder,
		FoldersChanged: func() { x.SetRoots(x.session.Folders()) }, TrustChanged: x.trustChanged,
		Status: x.status, Secrets: x.secrets, Entries: x.entries,
	}
}

// opened returns a function that connects the host's servers and the configured servers. If a later
// call passes no servers of the host, opened returns nil.
func (x *Instance) opened(given []any) (start func()) {
	var own []Server
	for _, g := range given {
		if list, ok := g.(Given); ok {
			own = append([]Server{}, list...)
		}
	}
	x.mu.Lock()
	if own == nil && x.given != nil {
		x.mu.Unlock()
		return nil
	}
	x.given = append([]Server{}, own...)
	x.mu.Unlock()
	list := x.servers(own)
	return func() { x.Connect(list) }
}

// servers returns the host's servers, then the configured servers, then the approved servers of the
// workspace. For each name, the first server is used.
func (x *Instance) servers(own []Server) []Server {
	c, brought, problems := x.configured()
	for _, p := range problems {
		x.session.Notify(p.Error())
	}
	all := slices.Concat(own, brought)
	var list []Server
	for _, s := range all {
		double := slices.ContainsFunc(list, func(l Server) bool { return l.Name == s.Name })
		if !double && (c.Offers == nil || c.Offers(Toolset(s.Name))) {
			list = append(list, s)
		}
	}
	return list
}

// configured returns the configured servers, then the approved servers of the workspace. problems
// are the workspace's.
func (x *Instance) configured() (c Section, list []Server, problems []error) {
	if err := x.session.Config(&c); err != nil {
		problems = append(problems, err)
	}
	if c.Workspace == nil {
		return c, c.Servers, problems
	}
	var folders []string
	if tools.Local(x.session.Editor) != nil {
		folders = x.session.Folders()
	}
	approved, _, wrong := c.Workspace(folders)
	return c, slices.Concat(c.Servers, approved), append(problems, wrong...)
}

// trustChanged connects newly approved servers, and ends servers without approval.
func (x *Instance) trustChanged() {
	x.mu.Lock()
	own := slices.Clone(x.given)
	x.mu.Unlock()
	x.Connect(x.servers(own))
}

// offered returns the unapproved servers of the workspace.
func (x *Instance) offered() (offered []Offered) {
	var c Section
	if x.session.Config(&c) == nil && c.Workspace != nil && tools.Local(x.session.Editor) != nil {
		_, offered, _ = c.Workspace(x.session.Folders())
	}
	return offered
}

// expects reports whether a server may add tools later. The user can approve a server during the
// session, if the folder is trusted.
func (x *Instance) expects() bool {
	return x.Servers.Expects() || slices.ContainsFunc(x.offered(), func(o Offered) bool { return o.Trusted && o.Problem == "" })
}

// NotApproved is the state of an unapproved server of the workspace.
const NotApproved = "not approved"

// All returns the servers of the session by name, including unapproved servers.
func (x *Instance) All() []Status {
	all := x.Status()
	for i := range all {
		if all[i].State == NeedsApproval {
			all[i].State = NotApproved
		}
	}
	for _, o := range x.offered() {
		st := Status{Name: o.Name, State: NotApproved, From: "the workspace", Error: o.Problem, Approved: o.Approved}
		if o.Approved {
			st.State = Failed
		}
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Tools returns the tools of the connected servers. For a stored session, it returns the model's
// existing tools.
func (x *Instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	if stored == nil {
		x.Approve(ctx)
		late := time.AfterFunc(firstWait, func() { x.session.Show(x.awaited()) })
		x.Wait(ctx, mostWait)
		late.Stop()
		return x.Servers.Tools(), ctx.Err()
	}
	var recalled []tools.Tool
	for _, t := range stored {
		if IsTool(t.Name) {
			recalled = append(recalled, x.Recalled(t.Name, t.Description, t.Schema))
		}
		if t.Name == resources.ToolName {
			recalled = append(recalled, resources.Tool(x.sources, x.cfg.Pictures))
		}
	}
	return recalled, nil
}

// firstWait is how long the first prompt waits for servers before the user gets a notice.
const firstWait = time.Second

// mostWait is how long the first prompt waits for servers. The tools of slower servers come later.
const mostWait = 3 * time.Second

func (x *Instance) awaited() string {
	var names []string
	for _, s := range x.Status() {
		if s.State == Connecting {
			names = append(names, s.Name)
		}
	}
	return "Waiting for MCP servers to start: " + strings.Join(names, ", ")
}

// Derive returns an instance with which a subagent calls the tools of the parent's
// servers.
func (x *Instance) Derive(_ context.Context, kind extension.Kind, _ *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return parentServers{x}, nil
}

// parentServers gives a subagent the servers of its parent. The parent still owns them.
type parentServers struct{ *Instance }

func (parentServers) Close(context.Context) error   { return nil }
func (parentServers) Commands() []extension.Command { return nil }
func (parentServers) Hooks() extension.Hooks        { return extension.Hooks{} }

// Tools returns the tools of the parent's connected servers.
func (l parentServers) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return l.Servers.Tools(), nil
}

// secrets returns the secrets in the configuration of the servers, and the tokens of logins.
func (x *Instance) secrets() map[string]string {
	x.mu.Lock()
	list := slices.Clone(x.given)
	x.mu.Unlock()
	var c Section
	_ = x.session.Config(&c) // opened reports the error
	all := SecretsOf(append(list, c.Servers...))
	if x.cfg.Logins != nil {
		maps.Copy(all, x.cfg.Logins.Secrets())
	}
	return all
}

// SecretsOf returns the secrets in the configuration of servers. Their names identify their source
// for the user.
func SecretsOf(list []Server) map[string]string {
	found := map[string]string{}
	add := func(name, value string) {
		found[name] = value
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
			found[name+" token"] = token
		}
	}
	for _, s := range list {
		for _, kv := range s.Env {
			if name, value, _ := strings.Cut(kv, "="); proc.Secret(name) {
				add(s.Name+" "+name, value)
			}
		}
		for name, value := range s.Headers {
			if proc.Secret(name) || strings.EqualFold(name, "cookie") {
				add(s.Name+" "+name, value)
			}
		}
		if len(s.Certificate) > 2 {
			add(s.Name+" client_cert password", s.Certificate[2])
		}
		if u, err := url.Parse(s.URL); err == nil {
			for name, values := range u.Query() {
				if proc.Secret(name) {
					add(s.Name+" "+name, values[0])
				}
			}
			if password, ok := u.User.Password(); ok {
				add(s.Name+" password", password)
			}
		}
	}
	return found
}

// status returns the line for /status. If there are no servers, it is empty.
func (x *Instance) status(context.Context) (name, text string) {
	if n := len(x.Status()); n > 0 {
		return "MCP servers", fmt.Sprintf("%d, see `/mcp`", n)
	}
	return "", ""
}

func (x *Instance) list(ctx context.Context) (string, error) {
	starting, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	x.Wait(starting, mostWait)
	x.recheck(starting)
	servers := x.Status()
	offered := x.offered()
	if len(servers)+len(offered) == 0 {
		return "There are no MCP servers: neither the editor nor `mcp_servers` in your config.yaml names any.", nil
	}
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "- **%s** (`%s`): %s", s.Name, s.From, s.State)
		if s.Error != "" {
			b.WriteString(": " + s.Error)
		}
		if len(s.Tools) > 0 {
			b.WriteString("; " + extension.CodeList(s.Tools))
		}
		if len(s.LeftOut) > 0 {
			b.WriteString("; left out, because they run only as tasks: " + extension.CodeList(s.LeftOut))
		}
		b.WriteByte('\n')
	}
	for _, o := range offered {
		next := fmt.Sprintf("`/mcp approve %s` approves it", o.Name)
		switch {
		case o.Approved:
			fmt.Fprintf(&b, "- **%s** (of the workspace): failed: %s\n", o.Name, o.Problem)
			continue
		case o.Problem != "":
			next = "It cannot be used: " + o.Problem
		case !o.Trusted:
			next = "The folder is not trusted: `/trust` shows it"
		}
		fmt.Fprintf(&b, "- **%s** (of the workspace): not approved. %s\n", o.Name, next)
	}
	return b.String(), nil
}
