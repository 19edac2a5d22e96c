package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// servers measures sessions with an MCP server of many tools.
func servers(l *lab) ([]row, error) {
	none, err := l.withTools(0)
	if err != nil {
		return nil, err
	}
	some, err := l.withTools(500)
	if err != nil {
		return nil, err
	}
	many, err := l.withTools(3300)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "first request with 500 tools", value: some.bytes, unit: "bytes", floor: none.bytes, floorName: "none", goal: "≤ 11,500 more"},
		{what: "PSS with 500 tools", value: some.memory, unit: "MB", floor: none.memory, floorName: "none", goal: "≤ 12 MB more"},
		{what: "first prompt with 500 tools", value: ms(some.prompt - none.prompt), unit: "ms", floor: ms(some.server), floorName: "the server", goal: "≤ 60 ms more"},
		{what: "first tool_search over 3,300 tools", value: ms(many.first), unit: "ms", goal: "≤ 60 ms"},
		{what: "tool_search over 3,300 tools", value: ms(many.search), unit: "ms", goal: "≤ 10 ms"},
	}, nil
}

// withServer holds the measurements of a session with a server.
type withServer struct {
	bytes, memory  float64
	prompt, server time.Duration // the first prompt, and the server's part of it
	first, search  time.Duration
}

func (l *lab) withTools(n int) (out withServer, err error) {
	s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	for i := range n {
		sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("note_%d", i), Description: fmt.Sprintf("Keeps the note %d. %s", i, strings.Repeat("It can be read again. ", 20))},
			func(context.Context, *sdk.CallToolRequest, struct {
				Text string `json:"text" jsonschema:"the text of the note"`
			}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{}, nil, nil
			})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	defer func() { web.CloseClientConnections(); web.Close() }()
	dir, err := os.MkdirTemp(l.dir, "servers")
	if err != nil {
		return out, err
	}
	place, err := home(dir, l.model)
	if err != nil {
		return out, err
	}
	if n > 0 {
		file, err := os.OpenFile(filepath.Join(place, "config.yaml"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return out, err
		}
		fmt.Fprintf(file, "mcp_servers: {many: {url: %q, transport: http}}\n", web.URL)
		if err := file.Close(); err != nil {
			return out, err
		}
	}
	var listed []time.Duration
	out.prompt, err = median(5, func() (time.Duration, error) {
		if n > 0 { // beside each prompt, so other work on the machine slows both
			took, err := listTools(web.URL)
			if err != nil {
				return 0, err
			}
			listed = append(listed, took)
		}
		c, err := open(l.bin, place, l.cwd)
		if err != nil {
			return 0, err
		}
		before, began := len(l.model.seen()), time.Now()
		if err := c.prompt("hi", nil); err != nil {
			return 0, err
		}
		took := time.Since(began)
		out.bytes = float64(l.model.seen()[before].bytes)
		if n > 0 {
			if out.first, err = l.toolSearch(c, 0); err == nil {
				out.search, err = median(9, func() (time.Duration, error) { return l.toolSearch(c, 7) })
			}
		}
		if err == nil {
			out.memory, err = pss(c.cmd.Process.Pid)
		}
		if err != nil {
			return 0, err
		}
		_, err = c.close()
		return took, err
	})
	if slices.Sort(listed); len(listed) > 0 {
		out.server = listed[len(listed)/2]
	}
	return out, err
}

// toolSearch returns the time between the model's call of tool_search and the next request.
func (l *lab) toolSearch(c *client, note int) (time.Duration, error) {
	before := len(l.model.seen())
	l.model.queue(reply{calls: []call{{"tool_search", fmt.Sprintf(`{"query":"keep the note %d"}`, note)}}}, reply{deltas: []string{"ok"}})
	if err := c.prompt("go on", nil); err != nil {
		return 0, err
	}
	all := l.model.seen()[before:]
	if len(all) != 2 {
		return 0, fmt.Errorf("tool_search and its result took %d requests, not 2", len(all))
	}
	return all[1].arrived.Sub(all[0].answered), nil
}

// listTools connects a server and requests its tools, as hermes-ls does.
func listTools(url string) (time.Duration, error) {
	ctx, began := context.Background(), time.Now()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return 0, err
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, session.Close()
}
