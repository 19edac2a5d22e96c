// Package foldertrust lists the contents of a workspace folder for the user, and lets the user
// trust it: with /trust, and once per session with a notice about an untrusted folder. The
// decisions are in internal/trust.
package foldertrust

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config is the configuration section.
type Config struct{ Store trust.Store }

// Extension returns the extension.
func Extension() extension.Extension { return folders{} }

type folders struct{}

func (folders) Name() string { return "trust" }

func (folders) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s}, nil
}

var _ extension.ServerApprover = (*Instance)(nil)

// Instance is the trust in the folders of a session.
type Instance struct {
	session *extension.Session
	once    sync.Once
}

// Close does nothing.
func (*Instance) Close(context.Context) error { return nil }

// Command is the row of the command table.
var command = extension.Command{
	Name: "trust", Execute: "hermes.trust", VSCode: "hermes.trust", Neovim: "trust", Title: "Trust This Folder's Extensions…",
	Description: "Show what the folder brings; trust it, or approve an MCP server", Hint: "yes, no, or an MCP server", Order: 152,
}

// Table holds the rows of the command table.
var Table = []extension.Command{command}

// announce reports to the other extensions that the user has trusted a folder, approved a server,
// or revoked either. It also reports changed slash commands.
func (x *Instance) announce() {
	x.session.Extensions().TrustChanged()
	if changed := x.session.CommandsChanged; changed != nil {
		changed()
	}
}

// Commands returns /trust.
func (x *Instance) Commands() []extension.Command {
	return []extension.Command{command.With(x.run)}
}

// Hooks shows the notice with the first turn, and lists the contents of the folders.
func (x *Instance) Hooks() extension.Hooks {
	notice := func(ctx context.Context, _ extension.Prompt) (func(), error) {
		x.once.Do(func() { x.notice(ctx) })
		return nil, nil
	}
	return extension.Hooks{Events: []extension.Handlers{{Turn: notice}}, Entries: x.entries}
}

// notice reports once that a folder contains unused contents.
func (x *Instance) notice(ctx context.Context) {
	store := x.store()
	for _, folder := range x.local() {
		if store.Trusted(folder) {
			continue
		}
		if o, err := Look(ctx, store, folder); err == nil && !o.Empty() {
			x.session.Notify(fmt.Sprintf("This folder brings %s. They are not used until you trust the folder. /trust shows them.", o.Summary()))
			return
		}
	}
}

func (x *Instance) store() trust.Store {
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	return c.Store
}

// local returns the workspace folders of this machine.
func (x *Instance) local() []string {
	if tools.Local(x.session.Editor) == nil {
		return nil
	}
	return x.session.Folders()
}

// run is /trust.
func (x *Instance) run(ctx context.Context, args string) (string, error) {
	list := x.local()
	if len(list) == 0 {
		return "The files of this session are on another machine. Nothing of them is used without trust.", nil
	}
	switch strings.ToLower(args) {
	case "":
		return x.show(ctx, list)
	case "yes":
		return x.Set(ctx, list[0], true)
	case "no":
		return x.Set(ctx, list[0], false)
	}
	return x.approve(ctx, list, args)
}

func (x *Instance) show(ctx context.Context, list []string) (string, error) {
	var texts []string
	for _, folder := range list {
		o, err := Look(ctx, x.store(), folder)
		if err != nil {
			return "", err
		}
		text := o.Text()
		switch {
		case o.Empty():
		case o.Trusted:
			text += "\n`/trust no` removes trust. `/trust SERVER` approves an MCP server."
		default:
			text += "\n`/trust yes` trusts the folder. MCP servers are approved one by one after that."
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// Set trusts a folder, or removes trust. It returns a text for the user.
func (x *Instance) Set(ctx context.Context, folder string, trusted bool) (string, error) {
	if folder == "" {
		list := x.local()
		if len(list) == 0 {
			return "", fmt.Errorf("the files of this session are on another machine")
		}
		folder = list[0]
	}
	defer x.announce()
	if !trusted {
		root, err := x.store().Revoke(ctx, folder)
		if err != nil {
			return "", err
		}
		if x.store().Trusted(folder) {
			return fmt.Sprintf("`%s` is in `skills.trusted_project_dirs` of config.yaml. Remove it there.", root), nil
		}
		return fmt.Sprintf("`%s` is not trusted anymore. The system prompt of this session changes at its next compaction.", root), nil
	}
	root, err := x.store().Trust(ctx, folder)
	if err != nil {
		return "", err
	}
	o, err := Look(ctx, x.store(), folder)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("`%s` is trusted.", root)
	if o.Empty() {
		return text, nil
	}
	text += " Its skills and commands work now. The list of skills in the system prompt changes with the next session or compaction."
	for _, s := range o.Servers {
		if !s.Approved && s.Problem == "" {
			text += fmt.Sprintf("\n- `/trust %s` approves the MCP server `%s`.", s.Name, tools.OneLine(s.line, 120))
		}
	}
	return text, nil
}

// Approve approves a server of the workspace. It returns a text for the user.
func (x *Instance) Approve(ctx context.Context, name string) (string, error) {
	return x.approve(ctx, x.local(), name)
}

// Disapprove removes the approval of a server of the workspace, which then ends. It returns a text for the user.
func (x *Instance) Disapprove(ctx context.Context, name string) (string, error) {
	for _, folder := range x.local() {
		for _, s := range trust.Servers(folder) {
			if s.Name != name {
				continue
			}
			if !x.store().Approved(s) {
				return fmt.Sprintf("The MCP server %s is not approved.", s.Name), nil
			}
			if err := x.store().Disapprove(ctx, s); err != nil {
				return "", err
			}
			x.announce()
			return fmt.Sprintf("The MCP server %s is not approved anymore. It does not run until you approve it again.", s.Name), nil
		}
	}
	return "", extension.BadInput("server", "no MCP server of this folder has the name %q", name)
}

// approve approves a server of the workspace.
func (x *Instance) approve(ctx context.Context, list []string, name string) (string, error) {
	for _, folder := range list {
		for _, s := range trust.Servers(folder) {
			if s.Name != name {
				continue
			}
			if err := x.store().Approve(ctx, s); err != nil {
				return "", err
			}
			x.announce()
			text := fmt.Sprintf("The MCP server %s (`%s`) is approved as it is now. It runs in the sandbox.", s.Name, tools.OneLine(s.Line(), 200))
			if len(s.Variables) > 0 {
				text += " It gets " + strings.Join(s.Variables, ", ") + "."
			}
			return text, nil
		}
	}
	return "", extension.BadInput("trust", "no MCP server of this folder has the name %q. Use yes, no, or the name of a server", name)
}
