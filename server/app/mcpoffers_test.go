package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
)

// offering returns a server with a prompt, a resource and a template.
func offering(t *testing.T) (*sdk.Server, string) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "offering", Version: "1"}, nil)
	s.AddPrompt(&sdk.Prompt{Name: "Review", Description: "Reviews code.", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "style"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			text := fmt.Sprintf("Review %s in style %q.\u202e", r.Params.Arguments["file"], r.Params.Arguments["style"])
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
		})
	content := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "the text of " + r.Params.URI}}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "memo://one", Name: "one", MIMEType: "text/plain"}, content)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "memo://{name}", Name: "memos"}, content)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	return s, web.URL
}

// waitForCommand waits until a session has a slash command, or has it no more.
func waitForCommand(t *testing.T, x *server.Session, name string) server.Command {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		all := x.Commands()
		if i := slices.IndexFunc(all, func(c server.Command) bool { return c.Name == name }); i >= 0 {
			return all[i]
		}
	}
	t.Fatalf("there is no command %s", name)
	return server.Command{}
}

// Prompts of servers are slash commands. The model reads resources, and the user refers to them.
func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	step := 0
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		r := x.Request
		last := r.Messages[len(r.Messages)-1].Text()
		wants := func(all ...string) {
			for _, want := range all {
				if !strings.Contains(last, want) {
					t.Errorf("step %d: no %q in %s", step, want, last)
				}
			}
		}
		switch step++; step {
		case 1:
			wants(`Review main.go in style "short and plain".`)
			if strings.Contains(last, "/Paper:Review") || strings.Contains(last, "\u202e") {
				t.Errorf("the model got %q", last)
			}
			if !has(r.Tools, "mcp_resource") {
				t.Error("mcp_resource is not offered")
			}
			x.Call("a", "mcp_resource", `{}`)
		case 2:
			wants(`{"resources":[{"server":"Paper","uri":"memo://one","name":"one","mime_type":"text/plain"},{"server":"Paper","uri":"memo://{name}","name":"memos"}]}`)
			x.Call("b", "mcp_resource", `{"uri":"memo://two"}`)
		case 3:
			wants(`{"uri":"memo://two","content":"the text of memo://two","mime_type":"text/plain"}`)
			x.Call("c", "mcp_resource", `{"uri":"memo://two","server":"other"}`)
		case 4:
			wants(`no connected MCP server \"other\" has resources. These have: Paper`)
			x.Text("Done.")
		case 5:
			wants("Look at @Paper:memo://three, please.", "the text of memo://three")
			if strings.Contains(last, "memo://four\n") || strings.Count(last, "the text of") != 1 {
				t.Errorf("attached %s", last)
			}
			x.Text("Done.")
		}
	})
	x, _ := openWith(t, fmt.Sprintf("mcp_servers: {Paper: {url: %q}}\n", url), m)
	c := waitForCommand(t, x, "Paper:Review")
	if c.Hint != "file [style]" || c.Description != "(MCP server Paper) Reviews code." {
		t.Errorf("the command is %q, %q", c.Hint, c.Description)
	}
	told := &notices{}
	for _, text := range []string{"/Paper:Review", "/paper:review main.go short and plain", "Look at @Paper:memo://three, please. Not at `@Paper:memo://four` or a@Paper:memo://five."} {
		if _, err := x.Prompt(t.Context(), agent.Input{Text: text}, told); err != nil {
			t.Fatal(err)
		}
	}
	if step != 5 || !strings.Contains(told.String(), "Not done: it lacks file. Write the arguments in order or as key=value.") {
		t.Errorf("%d requests; told %s", step, told)
	}
	s.AddPrompt(&sdk.Prompt{Name: "late"}, nil)
	waitForCommand(t, x, "Paper:late")
}

// notices collects notices and the prompts that are shown.
type notices struct{ all []string }

func (n *notices) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.Notice:
		n.all = append(n.all, e.Text)
	case agent.UserMessage:
		n.all = append(n.all, e.Text)
	}
}

func (n *notices) String() string { return strings.Join(n.all, "\n") }

// If no server has resources, or they are turned off, requests have no tool for them.
func TestNoResources(t *testing.T) {
	t.Parallel()
	_, url := offering(t)
	for _, config := range []string{
		fmt.Sprintf("mcp_servers: {paper: {url: %q, tools: {resources: false, prompts: false}}}\n", url),
		fmt.Sprintf("mcp_servers: {paper: {url: %q}}\nagent: {tools: {disabled: [mcp]}}\n", url),
	} {
		var offered []model.Tool
		x, _ := openWith(t, config, fakemodel.Func(func(x *fakemodel.Exchange) { offered = x.Request.Tools; x.Text("Done.") }))
		if _, err := x.Prompt(t.Context(), agent.Input{Text: "Go"}, nil); err != nil {
			t.Fatal(err)
		}
		if len(offered) == 0 || has(offered, "mcp_resource") {
			t.Errorf("with %s, %d tools are offered, with mcp_resource %v", config, len(offered), has(offered, "mcp_resource"))
		}
	}
}
