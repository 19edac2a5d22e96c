package mcp

//lint:file-ignore SA1019 Roots and logging are on their way out of the protocol, but the servers of today use them.

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/elicit"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/form"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/params"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/sampling"
)

// newClient returns the MCP client for a server's connections.
func (s *server) newClient(roots []string) *sdk.Client {
	can, answers := &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true}}, s.owner.cfg.Elicit
	if ask := s.owner.cfg.Ask; answers == nil && ask != nil && ask.CanClarify() && !s.NoElicitation {
		can.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		answers = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			p := *r.Params
			p.RequestedSchema = form.Schema(ctx, r.Params)
			return s.asker.Answer(ctx, &p), nil
		}
	}
	var samples func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error)
	if u := s.owner.cfg.Sampling; u.Model != nil && s.Sampling.Enabled {
		can.Sampling = &sdk.SamplingCapabilities{}
		sampler := &sampling.Sampler{Settings: s.Sampling, Server: s.Name, User: u}
		samples = func(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			ctx, stop := s.calls.During(ctx)
			defer stop()
			return sampler.Create(ctx, r.Params)
		}
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "hermes-ls", Title: "Hermes", Version: s.owner.cfg.Version}, &sdk.ClientOptions{
		Capabilities:         can,
		ElicitationHandler:   answers,
		CreateMessageHandler: samples,
		ElicitationCompleteHandler: func(_ context.Context, r *sdk.ElicitationCompleteNotificationRequest) {
			if s.asker.Complete(r.Params.ElicitationID) {
				s.notice("says that the step in your browser is complete")
			}
		},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { notify(s.listsChanged.tools) },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { notify(s.listsChanged.prompts) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.calls.Progress(r.Params) },
		LoggingMessageHandler:       func(_ context.Context, r *sdk.LoggingMessageRequest) { s.logged(r.Params) },
	})
	c.AddReceivingMiddleware(form.Keep(s.forms.Sent))
	c.AddSendingMiddleware(params.Keep)
	c.AddRoots(rootsOf(roots)...)
	return c
}

// newAsker returns the Asker of a server.
func newAsker(s *server) *elicit.Asker {
	c := s.owner.cfg
	return &elicit.Asker{
		Server: s.Name, Label: s.label, SessionID: c.SessionID, Timeout: s.ElicitTimeout, Ask: c.Ask, Later: c.Later,
		Notice: s.remark, Tell: s.notice, During: s.calls.During,
	}
}

func (s *server) logged(p *sdk.LoggingMessageParams) {
	text := s.owner.cfg.Hide(plain(fmt.Sprint(p.Data), longestLine))
	s.log.Write(string(p.Level) + " " + text)
}

func rootsOf(folders []string) []*sdk.Root {
	var roots []*sdk.Root
	for _, f := range folders {
		roots = append(roots, &sdk.Root{URI: rootURI(f), Name: filepath.Base(f)})
	}
	return roots
}

func rootURI(folder string) string {
	path := filepath.ToSlash(folder)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func (s *server) setRoots(before, now []string) {
	var gone []string
	for _, f := range before {
		if !slices.Contains(now, f) {
			gone = append(gone, rootURI(f))
		}
	}
	s.client.RemoveRoots(gone...)
	s.client.AddRoots(rootsOf(now)...)
}
