package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/prompts"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/resources"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// commands returns the slash commands of all servers: their prompts.
func (s *Servers) commands() (all []extension.Command) {
	for _, one := range s.all() {
		all = append(all, one.prompts.Commands(one.label, getPrompt(one))...)
	}
	return all
}

// getPrompt returns a function that requests a server's prompt.
func getPrompt(s *server) prompts.Get {
	return func(ctx context.Context, params *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
		ctx, cancel := context.WithTimeout(ctx, limitOf(s))
		defer cancel()
		conn, err := s.connection(ctx)
		if err != nil {
			return nil, err
		}
		r, err := conn.session.GetPrompt(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("the MCP server %s: %s", s.Name, s.worded(err))
		}
		return r, nil
	}
}

// limitOf returns how long a request may take without progress.
func limitOf(s *server) time.Duration {
	if s.Timeout <= 0 {
		return defaultTimeout
	}
	return s.Timeout
}

// sources returns the connected servers with resources.
func (s *Servers) sources() (all []resources.Source) {
	for _, one := range s.all() {
		if one.catalog.hasResources() && !one.NoResources {
			all = append(all, sourceOf(one))
		}
	}
	return all
}

func sourceOf(s *server) resources.Source {
	return resources.Source{
		Name: s.Name, Timeout: limitOf(s), Permit: func(ctx context.Context, env *tools.Env, c tools.Call, uri string) error {
			return mayRead(ctx, env, c, s, uri)
		},
		Connect: func(ctx context.Context) (*sdk.ClientSession, error) {
			conn, err := s.connection(ctx)
			if err != nil {
				return nil, err
			}
			return conn.session, nil
		},
		Worded: func(err error) error {
			if isLogin(err) {
				return errors.New(s.needsLogin())
			}
			return fmt.Errorf("the MCP server %s: %s", s.Name, s.worded(err))
		},
	}
}

// mayRead checks whether the model may read a resource. Reading requires approval if the server
// is not trusted.
func mayRead(ctx context.Context, env *tools.Env, c tools.Call, s *server, uri string) error {
	if s.Trust != trustNone {
		return nil
	}
	v := policy.Verdict{Level: policy.Asks, Reason: fmt.Sprintf("reads a resource of the MCP server %s", s.label), Commands: []string{resources.ToolName}}
	if env.Gate == nil {
		return gate.NoApproval(v)
	}
	return env.Gate.Check(ctx, env, c, tools.KindFetch, fmt.Sprintf("%s: %s", s.label, oneLine(uri, 500)), v)
}

// resourceTool returns the tool for reading resources. If no connected server has resources, it
// returns nil.
func (s *Servers) resourceTool() []tools.Tool {
	if len(s.sources()) == 0 {
		return nil
	}
	return []tools.Tool{resources.Tool(s.sources, s.cfg.Pictures)}
}

// beforePrompt uses logins of other processes, and attaches the resources referred to in a prompt.
func (x *Instance) beforePrompt(ctx context.Context, p extension.Prompt) (d extension.PromptDecision, err error) {
	if p.Note {
		return d, nil
	}
	x.recheck(ctx)
	all := x.sources()
	for _, m := range resources.Mentions(p.Referring(), all) {
		text, err := resources.Read(ctx, all, m)
		if err != nil {
			text = fmt.Sprintf("Not attached: %v.", err)
			x.session.Notify(fmt.Sprintf("%s is not attached: %v.", m.Text, err))
		}
		d.Attached = append(d.Attached, extension.Attachment{Name: m.Text, Text: x.session.Redact(text)})
	}
	return d, nil
}
