// Package sampling lets servers ask the model, if the user agrees each time.
package sampling

//lint:file-ignore SA1019 Sampling is on its way out of the protocol, but the servers of today use it.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
)

// Settings configure whether and how a server may ask the model.
type Settings struct {
	Enabled   bool   `json:"enabled" guard:"the server may not ask the model" safe:"false" doc:"The server may ask the model, after your approval each time."`
	Model     string `json:"model" doc:"Route of the model. Empty: the session's."`
	MaxTokens int    `json:"max_tokens" doc:"Most tokens of an answer. 0: 4096."`
	MaxRPM    int    `json:"max_rpm" doc:"Most requests in a minute. 0: 10."`
}

const (
	usualTokens = 4096
	usualRPM    = 10
	mostShown   = 32 << 10 // bytes of a request, all of which the user sees
)

// User asks and pays.
type User struct {
	// Approve shows the user a whole request. If the user denies it, it returns an error.
	Approve func(ctx context.Context, server, request string) error
	// Model returns the model of a route, and its name.
	Model func(ctx context.Context, route string) (m model.Model, name string, err error)
	Spend func(model.Usage) // adds to the usage of the session
}

// Sampler answers the requests of a server.
type Sampler struct {
	Settings
	Server string
	User   User

	mu     sync.Mutex
	recent []time.Time // requests of the last minute
}

// Create asks the user, and then the model.
func (s *Sampler) Create(ctx context.Context, p *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	request, shown, err := s.request(p)
	if err != nil {
		return nil, err
	}
	if !s.admit(time.Now()) {
		return nil, errors.New("too many requests: the user's limit is sampling.max_rpm")
	}
	m, name, err := s.User.Model(ctx, s.Model)
	if err != nil {
		return nil, err
	}
	if err := s.User.Approve(ctx, s.Server, shown); err != nil {
		return nil, errors.New("the user did not approve the request")
	}
	var reply model.Reply
	for delta, err := range m.Stream(ctx, request) {
		if err == nil {
			err = reply.Add(delta)
		}
		if err != nil {
			return nil, fmt.Errorf("asking the model: %w", err)
		}
	}
	s.User.Spend(reply.Usage)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result := &sdk.CreateMessageResult{Content: &sdk.TextContent{Text: reply.Text}, Model: name, Role: "assistant", StopReason: "endTurn"}
	if reply.Finish == model.FinishLength {
		result.StopReason = "maxTokens"
	}
	return result, nil
}

// request converts a request. shown is the whole of it for the user.
func (s *Sampler) request(p *sdk.CreateMessageParams) (r *model.Request, shown string, err error) {
	most := s.MaxTokens
	if most <= 0 {
		most = usualTokens
	}
	if p.MaxTokens > 0 && p.MaxTokens < int64(most) {
		most = int(p.MaxTokens)
	}
	r = &model.Request{System: clean.Text(p.SystemPrompt, mostShown), MaxTokens: most}
	var b strings.Builder
	fmt.Fprintf(&b, "At most %d tokens.", most)
	if r.System != "" {
		b.WriteString("\n\nSystem prompt: " + r.System)
	}
	for _, one := range p.Messages {
		content, ok := one.Content.(*sdk.TextContent)
		if !ok {
			return nil, "", errors.New("only messages of text are supported")
		}
		role := model.User
		if one.Role == "assistant" {
			role = model.Assistant
		}
		text := clean.Text(content.Text, mostShown)
		r.Messages = append(r.Messages, model.NewMessage(role, text))
		fmt.Fprintf(&b, "\n\n%s: %s", role, text)
	}
	if b.Len() > mostShown {
		return nil, "", fmt.Errorf("the request has more than %d bytes, and the user must see all of it", mostShown)
	}
	if len(r.Messages) == 0 {
		return nil, "", errors.New("the request has no messages")
	}
	return r, b.String(), nil
}

// admit counts a request. If there were too many in the last minute, it returns false.
func (s *Sampler) admit(now time.Time) bool {
	most := s.MaxRPM
	if most <= 0 {
		most = usualRPM
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.recent) > 0 && now.Sub(s.recent[0]) >= time.Minute {
		s.recent = s.recent[1:]
	}
	if len(s.recent) >= most {
		return false
	}
	s.recent = append(s.recent, now)
	return true
}
