package acp

import (
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// serversOf returns the MCP servers from the client. If the client gives no list, it returns nil.
func serversOf(given []acp.MCPServer) ([]mcp.Server, error) {
	if given == nil {
		return nil, nil
	}
	list := make([]mcp.Server, 0, len(given))
	for i, g := range given {
		s, err := serverOf(i, g)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func serverOf(i int, g acp.MCPServer) (mcp.Server, error) {
	wrong := func(format string, a ...any) (mcp.Server, error) {
		return mcp.Server{}, acp.Errorf(acp.CodeInvalidParams, "mcpServers[%d]"+format, append([]any{i}, a...)...)
	}
	s := mcp.Server{Name: g.Name}
	if g.Name == "" {
		return wrong(".name is missing")
	}
	switch g.Type {
	case "", "stdio":
		if g.Command == "" {
			return wrong(".command is missing")
		}
		s.Command, s.Args = g.Command, g.Args
		for _, v := range g.Env {
			s.Env = append(s.Env, v.Name+"="+v.Value)
		}
	case mcp.TransportHTTP, mcp.TransportSSE:
		if g.URL == "" {
			return wrong(".url is missing")
		}
		s.URL, s.Transport, s.Headers = g.URL, g.Type, map[string]string{}
		for _, h := range g.Headers {
			s.Headers[h.Name] = h.Value
		}
	default:
		return wrong(".type %q is not a way to reach a server; there are http and sse, and none for a program", g.Type)
	}
	return s, nil
}
