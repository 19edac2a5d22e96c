// Package openai encodes requests for the Chat Completions API of OpenAI and of many other
// providers, and decodes its responses. If the messages of a request extend the previous
// messages, its bytes extend the previous bytes.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// API is the Chat Completions API.
type API struct{}

var (
	_ api.Library = API{}
	_ api.Filter  = API{}
)

// Name implements [api.API].
func (API) Name() string { return api.Chat }

// Classify implements [api.API].
func (API) Classify(status int, header http.Header, body []byte) *model.Error {
	return api.Classify(status, header, body)
}

// Open implements [api.Library].
func (API) Open(ctx context.Context, t *api.Target, do api.Doer) (api.Source, error) {
	config := goopenai.DefaultConfig(t.Key)
	config.BaseURL = strings.TrimSuffix(t.URL("/v1", path, false), path)
	config.HTTPClient = do
	// The library gets only the model's name, and do replaces the body. So the library does
	// not check the parameters: its rules are older than some models.
	stream, err := goopenai.NewClientWithConfig(config).CreateChatCompletionStream(ctx, goopenai.ChatCompletionRequest{Model: t.Model})
	if errors.Is(err, goopenai.ErrChatCompletionInvalidModel) {
		err = &model.Error{Kind: model.ErrRequest, Message: "this model does not take part in chats"}
	}
	if err != nil {
		return nil, err
	}
	return source{stream}, nil
}

// source returns the events for the library.
type source struct{ *goopenai.ChatCompletionStream }

func (s source) Next() (name string, data []byte, err error) {
	data, err = s.RecvRaw()
	return "", data, err
}

// Filter implements [api.Filter].
func (API) Filter(req *model.Request, t *api.Target, in iter.Seq2[model.Delta, error]) iter.Seq2[model.Delta, error] {
	start := startOf(t)
	return func(yield func(model.Delta, error) bool) {
		before := start
		for d, err := range model.InlineOpened(req, readsTextCalls(req, t), &start, in) {
			if start != before {
				before = start
				t.Quirks &^= opensThought | plainStart
				t.Quirks |= map[model.Start]api.Quirks{model.StartsThought: opensThought, model.StartsText: plainStart}[start]
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// startOf returns the kind of a response's start, from earlier responses, the server's
// metadata, or the name of the model. First words decide only for servers that may leave
// thoughts in the text.
func startOf(t *api.Target) model.Start {
	switch {
	case t.Quirks&opensThought != 0:
		return model.StartsThought
	case t.Quirks&plainStart != 0, t.Provider == "openai":
		return model.StartsText
	case t.OpensThought, thinks.MatchString(t.Model):
		return model.StartsThought
	case t.Local:
		return model.StartsUnknown
	}
	return model.StartsText
}

// thinks matches models with a thought opened in the prompt by their template.
var thinks = lazyregexp.New(`(?i)(^|[^a-z0-9])(r1|qwq|thinking)([^a-z0-9]|$)`)

// Decoder implements [api.API].
func (API) Decoder(_ *model.Request, t *api.Target, emit func(model.Delta) bool) api.Decoder {
	return &decoder{target: t, emit: emit}
}
