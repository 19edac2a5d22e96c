package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// metadata is the information of an endpoint about a model. A zero field is not known.
type metadata struct {
	window int // tokens
	price  Price
	sees   sight
}

const (
	metadataLimit   = 8 << 20 // bytes of a list of models
	metadataTimeout = 3 * time.Second
	metadataGrace   = 200 * time.Millisecond // after the end of a response
	largeRequest    = 32 << 10               // bytes; smaller requests do not need the window
)

// fetchMetadata requests the metadata of the first endpoint's model while a large request runs.
// If the request is small, or the metadata is known, it does nothing. The returned
// function waits for the metadata, for at most metadataGrace.
func (m *Model) fetchMetadata(ctx context.Context, req *model.Request) (done func()) {
	if len(m.endpoints) == 0 || m.endpoints[0].Window > 0 || m.endpoints[0].hasMetadata() || size(req) < largeRequest {
		return func() {}
	}
	asking, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		m.endpoints[0].ask(asking)
	}()
	return func() {
		select {
		case <-answered:
		case <-time.After(metadataGrace):
		}
		cancel()
		<-answered
	}
}

func size(req *model.Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	for i := range req.Messages {
		n += len(req.Messages[i].Text())
	}
	return n
}

// metadata returns the metadata of the endpoint's model. If it is not known, it returns zero.
func (e *endpoint) metadata() metadata {
	e.learned.Lock()
	defer e.learned.Unlock()
	if m := e.learned.models[e.Model]; m != nil {
		return *m
	}
	return metadata{}
}

func (e *endpoint) hasMetadata() bool {
	e.learned.Lock()
	defer e.learned.Unlock()
	return e.learned.models[e.Model] != nil
}

// ask requests the metadata of the endpoint's model and stores it. If the endpoint has no
// metadata, it is not asked again. If the request timed out or was canceled, it is.
func (e *endpoint) ask(ctx context.Context) {
	if e.Provider == "openai" || e.API.Name() == api.Responses || e.hasMetadata() {
		return // their lists have only ids
	}
	chat := e.API.Name() == api.Chat
	if !chat && e.Known.Window > 0 && e.Known.Images != nil {
		return // these providers list nothing else
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	var m metadata
	var err error
	switch {
	case !chat:
		m, err = e.askPages(ctx)
	case e.Provider == "ollama":
		m, err = e.askOllama(ctx)
	case e.Provider == "lmstudio":
		m, err = e.askLMStudio(ctx)
	default:
		m, err = e.askList(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return
	}
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.models == nil {
		e.learned.models = map[string]*metadata{}
	}
	e.learned.models[e.Model] = &m
}

// listed is a model in the response to GET /models. OpenRouter, vLLM, llama.cpp and others
// use different names for the same fields.
type listed struct {
	ID            string `json:"id"`
	ContextLength int    `json:"context_length"` // OpenRouter, Together, Groq-likes
	ContextWindow int    `json:"context_window"` // Groq
	MaxModelLen   int    `json:"max_model_len"`  // vLLM, SGLang
	Meta          struct {
		Trained int `json:"n_ctx_train"` // llama.cpp
	} `json:"meta"`
	MaxInput  int `json:"max_input_tokens"` // Anthropic, LiteLLM
	MaxTokens int `json:"max_tokens"`       // Anthropic: of a response
	// Capabilities is an object or a list. Anthropic has image_input.supported in it.
	Capabilities any            `json:"capabilities"`
	Pricing      map[string]any `json:"pricing"` // OpenRouter: US dollars per token, as strings
	Architecture struct {
		Input    []string `json:"input_modalities"` // OpenRouter
		Modality string   `json:"modality"`         // OpenRouter's older lists: text+image->text
	} `json:"architecture"`
	Input []string `json:"input_modalities"` // others
}

func (e *endpoint) askList(ctx context.Context) (metadata, error) {
	var list struct{ Data []listed }
	if err := e.fetch(ctx, http.MethodGet, e.BaseURL+"/models", nil, &list); err != nil {
		return metadata{}, err
	}
	for _, l := range list.Data {
		if l.ID == e.Model || len(list.Data) == 1 {
			return l.metadata(), nil
		}
	}
	return metadata{}, nil
}

// askPages looks for the model in the list of an API that has pages.
func (e *endpoint) askPages(ctx context.Context) (metadata, error) {
	all, err := e.listAll(ctx)
	i := slices.IndexFunc(all, func(l Listed) bool { return l.ID == e.Model })
	if err != nil || i < 0 {
		return metadata{}, err
	}
	m := metadata{window: all[i].Window, sees: sightFrom(all[i].Images)}
	if p := all[i].Price; p != nil {
		m.price = *p
	}
	return m, nil
}

func (l *listed) metadata() metadata {
	sees := cmp.Or(sightIn(l.Architecture.Input, "image"), sightIn(l.Input, "image"))
	if input, _, ok := strings.Cut(l.Architecture.Modality, "->"); ok && sees == 0 {
		sees = sightIn([]string{input}, "image")
	}
	if of, ok := l.Capabilities.(map[string]any); ok && sees == 0 {
		input, _ := of["image_input"].(map[string]any)
		if supported, ok := input["supported"].(bool); ok {
			sees = sightFrom(&supported)
		}
	}
	return metadata{
		window: cmp.Or(l.ContextLength, l.ContextWindow, l.MaxModelLen, l.MaxInput, l.Meta.Trained),
		price:  Price{dollars(l.Pricing["prompt"]), dollars(l.Pricing["input_cache_read"]), dollars(l.Pricing["completion"]), dollars(l.Pricing["input_cache_write"])},
		sees:   sees,
	}
}

// dollars converts a price per token to a price per million tokens. If v is not a price,
// it returns 0.
func dollars(v any) float64 {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || n < 0 {
		return 0
	}
	return n * 1e6
}

// askOllama returns the context window that the server runs the model with. If the model
// is not running, it returns the largest window of the model.
func (e *endpoint) askOllama(ctx context.Context) (metadata, error) {
	var running struct {
		Models []struct {
			Name    string `json:"name"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	var known struct {
		Capabilities []string       `json:"capabilities"`
		Info         map[string]any `json:"model_info"`
	}
	if err := e.fetch(ctx, http.MethodPost, e.root()+"/api/show", map[string]string{"model": e.Model}, &known); err != nil {
		return metadata{}, err
	}
	m := metadata{sees: sightIn(known.Capabilities, "vision")}
	for key, value := range known.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") {
			m.window = int(n)
		}
	}
	if e.fetch(ctx, http.MethodGet, e.root()+"/api/ps", nil, &running) == nil {
		for _, r := range running.Models {
			if r.Context > 0 && (r.Name == e.Model || strings.TrimSuffix(r.Name, ":latest") == e.Model) {
				m.window = r.Context
			}
		}
	}
	return m, nil
}

func (e *endpoint) askLMStudio(ctx context.Context) (metadata, error) {
	var known struct {
		Type   string `json:"type"`
		Loaded int    `json:"loaded_context_length"`
		Most   int    `json:"max_context_length"`
	}
	err := e.fetch(ctx, http.MethodGet, e.root()+"/api/v0/models/"+url.PathEscape(e.Model), nil, &known)
	m := metadata{window: cmp.Or(known.Loaded, known.Most)}
	switch known.Type {
	case "vlm":
		m.sees = seeing
	case "llm":
		m.sees = blind
	}
	return m, err
}

// root returns the base URL without /v1 at its end.
func (e *endpoint) root() string {
	return strings.TrimSuffix(strings.TrimSuffix(e.BaseURL, "/"), "/v1")
}

// fetch requests JSON from address with the endpoint's key and decodes it into answer.
func (e *endpoint) fetch(ctx context.Context, method, address string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("asking %s about its models: %w", e.url, err)
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return fmt.Errorf("asking %s about its models: %w", e.url, err)
	}
	if keys, err := e.pool(ctx, false); err == nil && keys[0] != "" {
		req.Header.Set("Authorization", "Bearer "+keys[0])
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "hermes-ls")
	resp, err := (&http.Client{Transport: e.Transport, CheckRedirect: sameHost}).Do(req)
	if err != nil {
		return fmt.Errorf("asking %s about its models: %w", e.url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s about its models: %s", e.url, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, metadataLimit)).Decode(answer); err != nil {
		return fmt.Errorf("asking %s about its models: %w", e.url, err)
	}
	return nil
}
