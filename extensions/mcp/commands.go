package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
)

// Table holds the rows of the command table.
var Table = []extension.Command{{
	Name: "mcp", Neovim: "mcp", Description: "Show the MCP servers; log in at one, approve or restart it", Hint: "login, logout, restart, approve, revoke or logs, and a server", Order: 160,
}, {
	Name: "answer", Description: "Answer the question of an MCP server", Hint: "text", Order: 161, Hidden: true,
}, {
	Execute: "hermes.extensions", Description: "List the extensions of a session: MCP servers, skills, plugins, memory and others", Order: 162,
}, {
	Execute: "hermes.mcp.login", VSCode: "hermes.mcp.login", Title: "Log in at MCP Server…", Description: "Log in at an MCP server", Order: 163,
}, {
	Execute: "hermes.mcp.logout", VSCode: "hermes.mcp.logout", Title: "Log out at MCP Server…", Description: "Delete the login at an MCP server", Order: 164,
}, {
	Execute: "hermes.mcp.restart", VSCode: "hermes.mcp.restart", Title: "Restart MCP Server…", Description: "Restart an MCP server", Order: 165,
}, {
	Execute: "hermes.mcp.approve", VSCode: "hermes.mcp.approve", Title: "Approve MCP Server…", Description: "Approve an MCP server of the workspace", Order: 166,
}, {
	Execute: "hermes.mcp.revoke", VSCode: "hermes.mcp.revoke", Title: "Revoke Approval of MCP Server…", Description: "Remove the approval of an MCP server of the workspace", Order: 166,
}, {
	VSCode: "hermes.mcp.add", Title: "Add MCP Server…", Description: "Add an MCP server to config.yaml", Order: 163,
}, {
	VSCode: "hermes.mcp.log", Title: "Show Log of MCP Server…", Description: "Show the log of an MCP server", Order: 167,
}}

// Commands returns /mcp and the prompts of the servers.
func (x *Instance) Commands() []extension.Command {
	return append([]extension.Command{Table[0].With(x.run), Table[1].With(x.answer)}, x.commands()...)
}

// answer is /answer.
func (x *Instance) answer(_ context.Context, args string) (string, error) {
	if !x.waiting.Give(args) {
		return "", &extension.InputError{Param: "args", Text: "No MCP server waits for an answer."}
	}
	return "The answer was passed on.", nil
}

// later shows a question in the chat and waits for /answer.
func (x *Instance) later(ctx context.Context, question string) (string, bool) {
	x.session.Question(question + "\n\nAnswer with `/answer TEXT` in the chat.")
	return x.waiting.Wait(ctx)
}

// run is /mcp.
func (x *Instance) run(ctx context.Context, args string) (string, error) {
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		return x.list(ctx)
	case len(words) == 1 || len(words) > 3 || len(words) == 3 && words[0] != "login":
		return "", &extension.InputError{Param: "args", Text: "Write /mcp, or /mcp login, logout, restart, approve, revoke or logs with the name of a server."}
	}
	name := words[1]
	switch words[0] {
	case "login":
		return x.Login(ctx, name, strings.Join(words[2:], ""))
	case "logout":
		return x.Logout(ctx, name)
	case "approve":
		return x.ApproveServer(ctx, name)
	case "revoke":
		return x.RevokeServer(ctx, name)
	case "logs":
		return x.logs(name)
	case "restart":
		if err := x.Restart(name); err != nil {
			return "", extension.BadInput("restart", "%v", err)
		}
		return x.list(ctx)
	}
	return "", &extension.InputError{Param: "args", Text: fmt.Sprintf("There is no /mcp %s. There are login, logout, restart, approve, revoke and logs.", words[0])}
}

// ApproveServer approves a server of the workspace. It returns a text for the user.
func (x *Instance) ApproveServer(ctx context.Context, name string) (string, error) {
	a, ok := x.session.Extensions().ServerApprover()
	if !ok {
		return "", errNoApproval
	}
	return a.Approve(ctx, name)
}

// RevokeServer removes the approval of a server of the workspace. It returns a text for the user.
func (x *Instance) RevokeServer(ctx context.Context, name string) (string, error) {
	a, ok := x.session.Extensions().ServerApprover()
	if !ok {
		return "", errNoApproval
	}
	return a.Disapprove(ctx, name)
}

var errNoApproval = extension.BadInput("server", "no MCP server can be approved in this session")

const shownLines = 40 // of a log

// logs shows the end of a server's log.
func (x *Instance) logs(name string) (string, error) {
	one, err := x.server(name)
	if err != nil {
		return "", err
	}
	lines, err := one.log.Tail(shownLines)
	if err != nil {
		return "", err
	}
	if len(lines) == 0 {
		return fmt.Sprintf("The log of %s is empty.", name), nil
	}
	return fmt.Sprintf("The end of `%s`:\n\n", one.log.Path) + "```\n" + strings.ReplaceAll(x.session.Redact(strings.Join(lines, "\n")), "```", "` ` `") + "\n```", nil
}

// Close ends the logins and the servers.
func (x *Instance) Close(ctx context.Context) error {
	x.logins.Close()
	return x.Servers.Close(ctx)
}

// Login starts a login at a server, and returns a text for the user. If address is not empty, it
// is the address at which the browser of the running login ended.
func (x *Instance) Login(ctx context.Context, name, address string) (string, error) {
	one, err := x.server(name)
	if err != nil {
		return "", err
	}
	if address != "" {
		running := x.logins.Find(name)
		if running == nil {
			return "", &extension.InputError{Param: "address", Text: fmt.Sprintf("No login at %s runs. Write /mcp login %[1]s first.", name)}
		}
		if err := running.Paste(address); err != nil {
			return "", &extension.InputError{Param: "address", Text: err.Error()}
		}
		return "The address is right. The login at " + name + " continues.", nil
	}
	if !one.logsIn() {
		return "", &extension.InputError{Param: "server", Text: fmt.Sprintf("%s has no login: it needs a url, no header Authorization, and auth must not be none.", name)}
	}
	attempt, err := one.owner.cfg.Logins.Begin(ctx, one.LoginTarget())
	if err != nil {
		return "", fmt.Errorf("the login at %s: %w", name, err)
	}
	x.logins.Replace(name, attempt, func() { x.finish(one, attempt) })
	if attempt.Code != "" {
		return fmt.Sprintf("Open this address on any device, and enter the code `%s`:\n\n%s", attempt.Code, attempt.Address), nil
	}
	if x.session.OpenURL(ctx, name, attempt.Address) {
		return fmt.Sprintf("Log in at %s in your browser. If the last page does not load, write `/mcp login %[1]s ADDRESS` with its address.", name), nil
	}
	return fmt.Sprintf("Open this address in a browser to log in at %s:\n\n%s\n\nIf the last page does not load, write `/mcp login %[1]s ADDRESS` with its address.", name, attempt.Address), nil
}

// finish waits for a login. If it succeeds, the server is connected.
func (x *Instance) finish(one *server, attempt *login.Attempt) {
	err := attempt.Wait(one.ctx)
	if !x.logins.Remove(one.Name, attempt) || one.ctx.Err() != nil {
		return // replaced by another login, or the session has ended
	}
	if err != nil {
		x.session.Notify(fmt.Sprintf("The login at the MCP server %s failed: %v.", one.Name, err))
		return
	}
	x.session.Notify(fmt.Sprintf("You are logged in at the MCP server %s.", one.Name))
	x.reconnect(one)
}

// Logout deletes the tokens of a server.
func (x *Instance) Logout(ctx context.Context, name string) (string, error) {
	one, err := x.server(name)
	if err != nil {
		return "", err
	}
	if !one.logsIn() {
		return name + " has no login.", nil
	}
	was, err := one.owner.cfg.Logins.Logout(ctx, one.LoginTarget())
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if !was {
		return name + " was not logged in.", nil
	}
	x.reconnect(one)
	return name + " is logged out.", nil
}

func (x *Instance) server(name string) (*server, error) {
	all := x.all()
	at := slices.IndexFunc(all, func(one *server) bool { return one.Name == name })
	if at >= 0 {
		return all[at], nil
	}
	for _, o := range x.offered() {
		if o.Name != name {
			continue
		}
		if o.Approved {
			return nil, &extension.InputError{Param: "server", Text: fmt.Sprintf("The MCP server %s is not connected: %s", name, o.Problem)}
		}
		return nil, &extension.InputError{Param: "server", Text: fmt.Sprintf("The MCP server %s is not approved; /mcp approve %[1]s approves it", name)}
	}
	return nil, &extension.InputError{Param: "server", Text: fmt.Sprintf("There is no MCP server %q in this session; /mcp lists them", name)}
}

// reconnect starts a server again, and lets it ask for a login again.
func (x *Instance) reconnect(one *server) {
	one.notices.setLogin(false)
	_ = x.Restart(one.Name) // it has been closed, or another configuration has replaced it
}
