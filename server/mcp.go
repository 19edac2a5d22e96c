package server

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// newServers makes the MCP servers of a session: none yet.
func (x *Session) newServers() *mcp.Servers {
	folders := x.ws.Folders()
	return mcp.New(x.ctx, mcp.Config{
		Version: x.svc.Version, Dir: ServersDir(x.svc.Home), Roots: folders, Environ: x.svc.Environ,
		Confine: func(ctx context.Context, c *proc.Cmd, files map[string][]byte) error {
			return x.sandbox.With(sandbox.Opening{Frozen: files}).Confine(ctx, c)
		},
		Permit: x.permitServer,
		Notice: x.tell, Hide: func(text string) string { return x.secrets.Hide(text) }, Log: x.svc.Log,
	})
}

// ServersDir is the folder that MCP servers start in: one that holds nothing, and that
// commands of the agent cannot write.
func ServersDir(home string) string { return filepath.Join(home, "mcp", "cwd") }

// permitServer asks whether an MCP server that runs files of the workspace may start.
func (x *Session) permitServer(ctx context.Context, p mcp.Permission) error {
	verdict := approval.Verdict{
		Level: approval.Asks, Reason: p.Reason, Keys: []string{p.Key}, Commands: []string{p.Title},
		EveryMode: !p.Sandboxed,
	}
	call := tools.Call{ID: "mcp-server-" + p.Server, Name: "mcp"}
	return x.gate.Check(ctx, &tools.Env{SessionID: x.id}, call, tools.KindExecute, p.Title, verdict)
}

// connectServers begins to connect the servers that the host has given and those that
// the user has configured. Nil leaves those of an earlier call.
func (x *Session) connectServers(given []mcp.Server) {
	x.mu.Lock()
	if given == nil && x.given != nil {
		x.mu.Unlock()
		return
	}
	x.given = append([]mcp.Server{}, given...)
	conf := x.conf
	x.mu.Unlock()
	list := slices.Clone(given)
	configured, problems := conf.Servers()
	for _, p := range problems {
		x.report([]config.Problem{{Source: config.Path(x.svc.Home), Text: p}})
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if !slices.ContainsFunc(given, func(g mcp.Server) bool { return g.Name == name }) { // the editor's own goes first
			list = append(list, ServerOf(name, configured[name]))
		}
	}
	x.applyMode() // for the secrets
	notOffered := func(s mcp.Server) bool {
		return !tools.Offers(mcp.Toolset(s.Name), conf.Agent.Tools.Enabled, conf.Agent.Tools.Disabled)
	}
	x.servers.Connect(slices.DeleteFunc(list, notOffered)) // no program runs for nothing
}

// ServerOf is a configured MCP server as it is connected.
func ServerOf(name string, c config.MCPServer) mcp.Server {
	s := mcp.Server{
		Name: name, Command: c.Command, Args: c.Args, Dir: c.Cwd, URL: c.URL, Transport: c.Transport, Headers: c.Headers,
		Timeout: time.Duration(c.Timeout) * time.Second, ConnectTimeout: time.Duration(c.ConnectTimeout) * time.Second,
		Include: c.Tools.Include, Exclude: c.Tools.Exclude,
	}
	switch {
	case c.Sandbox:
		s.Sandbox = mcp.SandboxOn
	case c.Unbound():
		s.Sandbox = mcp.SandboxNever
	}
	for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
		s.Env = append(s.Env, variable+"="+c.Env[variable])
	}
	return s
}

// serverTools are the tools of MCP servers: those there are, or, in a session that has
// begun before, those that the model was told of then.
func (x *Session) serverTools(ctx context.Context, head store.Session) ([]tools.Tool, error) {
	if head.System == "" {
		x.servers.Approve(ctx)
		late := time.AfterFunc(patience, func() { x.host.Sink(x.id).Event(agent.Notice{Text: x.awaited()}) })
		x.servers.Wait(ctx)
		late.Stop()
		return x.servers.Tools(), ctx.Err()
	}
	var told []tools.Tool
	for _, t := range head.Tools {
		if mcp.IsTool(t.Name) {
			told = append(told, x.servers.Recalled(t.Name, t.Description, t.Schema))
		}
	}
	return told, nil
}

// patience is how long a first prompt waits for MCP servers without a word.
const patience = time.Second

func (x *Session) awaited() string {
	var names []string
	for _, s := range x.Servers() {
		if s.State == mcp.Connecting {
			names = append(names, s.Name)
		}
	}
	return "Waiting for MCP servers to start: " + strings.Join(names, ", ")
}

// Servers are the session's MCP servers.
func (x *Session) Servers() []mcp.Status { return x.servers.Status() }

// serverSecrets are what MCP servers were given that nobody should see.
func serverSecrets(conf *config.Loaded, given []mcp.Server) map[string]string {
	found := map[string]string{}
	add := func(name, value string) {
		found[name] = value
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
			found[name+" token"] = token
		}
	}
	list := slices.Clone(given)
	configured, _ := conf.Servers()
	for name, c := range configured {
		list = append(list, ServerOf(name, c))
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
