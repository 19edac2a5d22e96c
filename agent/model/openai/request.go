package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/schema"
)

// This package encodes requests itself, not with the library, because the prompt cache needs
// stable bytes. Equal messages always result in equal bytes, and messages come last. So a
// request repeats the previous request and appends to it. The library would also drop the
// content of an empty tool result, and escape every < and > of code.

const path = "/chat/completions"

type streamOptions struct {
	IncludeUsage bool  `json:"include_usage"`
	Obfuscation  *bool `json:"include_obfuscation,omitempty"` // the random padding that OpenAI adds to each event
}

type usageOption struct {
	Include bool `json:"include"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Encode implements [api.API].
func (API) Encode(req *model.Request, t *api.Target) (*api.Request, error) {
	b := api.Body{Extra: t.Extra}
	has := func(q api.Quirks) bool { return t.Quirks&q != 0 }
	b.Field("model", t.Model)
	b.Field("stream", true)
	if !has(noUsage) {
		options := &streamOptions{IncludeUsage: true}
		if t.Provider == "openai" && !has(padded) {
			options.Obfuscation = new(bool)
		}
		b.Field("stream_options", options)
	}
	if t.Provider == "openrouter" {
		b.Field("usage", usageOption{Include: true}) // the response then contains the cost
	}
	if limit := t.Limit(req); limit > 0 {
		name := "max_tokens"
		if newLimit(t) != has(otherLimit) {
			name = "max_completion_tokens"
		}
		b.Field(name, limit)
	}
	if has(effortNone) {
		b.Field("reasoning_effort", "none")
	} else if effort := t.Effort(req); effort != "" && !has(noEffort) {
		b.Field("reasoning_effort", effort)
	}
	if t.ServiceTier != "" {
		b.Field("service_tier", t.ServiceTier)
	}
	if t.Provider == "openai" && req.SessionID != "" && !t.Cache.Off && !has(noCacheKey) {
		b.Field("prompt_cache_key", req.SessionID)
	}
	b.ExtraFields()
	if len(req.Tools) > 0 && !t.TextTools {
		tools, err := t.Encoded.Tools(req.Tools, func() ([]byte, error) { return api.Marshal(encodeTools(req.Tools)) })
		if err != nil {
			return nil, err
		}
		b.Raw("tools", tools)
	}
	if err := encodeMessages(&b, req, t); err != nil {
		return nil, err
	}
	if req.NoCalls && !has(noChoice) && len(req.Tools) > 0 && !t.TextTools {
		b.Field("tool_choice", "none") // after the messages, which stay in the prefix of the next request
	}
	body, err := b.Close()
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if t.Key != "" {
		header.Set("Authorization", "Bearer "+t.Key)
	}
	return &api.Request{Method: http.MethodPost, URL: t.URL("/v1", path, false), Header: header, Body: body, Limit: t.Limit(req)}, nil
}

// newLimit reports whether the endpoint uses max_completion_tokens instead of max_tokens.
func newLimit(t *api.Target) bool {
	if t.Provider == "openai" || t.Provider == "openrouter" {
		return true
	}
	id := t.Model[strings.LastIndexByte(t.Model, '/')+1:]
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

func encodeTools(offered []model.Tool) []tool {
	tools := make([]tool, len(offered))
	for i, t := range offered {
		tools[i] = tool{"function", function{t.Name, t.Description, schema.Chat.Of(t.Schema)}}
	}
	return tools
}
