package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offer lists the tools, prompts and resources of a connected server, under the server's names.
type Offer struct {
	Tools     []string
	Prompts   []string
	Resources int
}

// Offer requests the tools, prompts and resources of a server.
func (s *Servers) Offer(ctx context.Context, name string) (Offer, error) {
	one, conn, err := s.direct(ctx, name)
	if err != nil {
		return Offer{}, err
	}
	o := Offer{Tools: []string{}, Prompts: []string{}}
	for _, d := range one.catalog.all() {
		o.Tools = append(o.Tools, d.name)
	}
	can := &sdk.ServerCapabilities{}
	if r := conn.session.InitializeResult(); r != nil && r.Capabilities != nil {
		can = r.Capabilities
	}
	if can.Prompts != nil {
		for p, err := range conn.session.Prompts(ctx, nil) {
			if err != nil || len(o.Prompts) == mostTools {
				break
			}
			o.Prompts = append(o.Prompts, plain(p.Name, nameLimit))
		}
	}
	if can.Resources != nil {
		for _, err := range conn.session.Resources(ctx, nil) {
			if err != nil || o.Resources == mostWords {
				break
			}
			o.Resources++
		}
	}
	return o, nil
}

// CallTool calls a tool by the server's name for it, without approval: the user calls it.
func (s *Servers) CallTool(ctx context.Context, server, tool string, args json.RawMessage) (*sdk.CallToolResult, error) {
	one, conn, err := s.direct(ctx, server)
	if err != nil {
		return nil, err
	}
	result, err := conn.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, readable{one.worded(err), err}
	}
	return result, nil
}

func (s *Servers) direct(ctx context.Context, name string) (*server, *connection, error) {
	all := s.all()
	at := slices.IndexFunc(all, func(one *server) bool { return one.Name == name })
	if at < 0 {
		return nil, nil, fmt.Errorf("there is no MCP server %q", name)
	}
	conn, err := all[at].connection(ctx)
	return all[at], conn, err
}

// NeedsUser reports whether err means that the user must log in.
func NeedsUser(err error) bool { return isLogin(err) }

// readable is an error with a text for the user.
type readable struct {
	text string
	err  error
}

func (r readable) Error() string { return r.text }
func (r readable) Unwrap() error { return r.err }
