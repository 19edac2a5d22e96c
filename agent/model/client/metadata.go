package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// metadata is the information of an endpoint about a model. A zero field is not known.
type metadata struct {
	window int    // advertised by the endpoint, in tokens
	served int    // window of the loaded model, in tokens
	source source // the request that returned served
	price  Price
	sees   sight

	planned bool // served applies when the server loads the model
	noTools bool // the server's chat template omits tools
	opens   bool // the chat template opens a thought in the prompt
}

// source is a request for the window of a loaded model.
type source int

const (
	fromNothing  source = iota
	fromList            // GET /v1/models: vLLM, SGLang
	fromProps           // GET /props: llama.cpp
	fromOllama          // GET /api/ps
	fromLMStudio        // GET /api/v0/models
)

const (
	metadataLimit   = 8 << 20 // bytes of a list of models
	metadataTimeout = 3 * time.Second
	metadataGrace   = 200 * time.Millisecond // wait after the end of a response
	refreshTimeout  = 500 * time.Millisecond // of a model server
	loadTimeout     = 2 * time.Minute        // until Ollama has loaded the model
	largeRequest    = 8 << 10                // tokens; smaller requests do not need the window
	localDefault    = 4096                   // tokens of the window of Ollama and LM Studio if nothing else is set
)

// Prepare requests the metadata of the first endpoint's model, unless its window is known and
// cannot differ. If the server is Ollama, Prepare loads the model first, as the next request
// would. If the server does not answer, Prepare does nothing.
func (m *Model) Prepare(ctx context.Context) {
	if len(m.endpoints) == 0 {
		return
	}
	e := m.endpoints[0]
	if e.broken != nil || !e.runsModels() && (e.Window > 0 || e.Known.Window > 0) {
		return
	}
	e.ask(ctx)
	if known := e.metadata(); known.source == fromOllama && known.served == 0 {
		loading, cancel := context.WithTimeout(ctx, loadTimeout)
		defer cancel()
		var done any
		if e.fetch(loading, http.MethodPost, e.root()+"/api/generate", map[string]string{"model": e.Model}, &done) == nil {
			e.refresh(ctx)
		}
	}
}

// fetchMetadata requests the metadata of the first endpoint's model while a large request runs.
// If the request is small, or the metadata is known, it does nothing. The returned function
// waits for the metadata, for at most metadataGrace. If the metadata came from a model server,
// it asks for the current window.
func (m *Model) fetchMetadata(ctx context.Context, req *model.Request) (done func()) {
	if len(m.endpoints) == 0 || m.endpoints[0].broken != nil {
		return func() {}
	}
	e := m.endpoints[0]
	if e.metadata().source != fromNothing {
		return func() { e.refresh(ctx) }
	}
	if e.Window > 0 || e.hasMetadata() || req.TextTokens() < largeRequest {
		return func() {}
	}
	asking, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		e.ask(asking)
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
// metadata, it is not asked again; after an error, it is.
func (e *endpoint) ask(ctx context.Context) {
	if slices.Contains([]string{"openai", "azure", "foundry", "bedrock"}, e.Provider) || e.hasMetadata() {
		return // their lists contain only ids
	}
	chat := e.API.Name() == api.Chat || e.API.Name() == api.Responses
	if !chat && !e.runsModels() && e.Known.Window > 0 && e.Known.Images != nil {
		return // these providers' lists contain nothing else
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	var m metadata
	var err error
	switch {
	case e.runsModels():
		if m, err = e.askLocal(ctx); m.source == fromNothing && !chat {
			m, err = e.askPages(ctx)
		}
	case !chat:
		m, err = e.askPages(ctx)
	default:
		m, err = e.askList(ctx)
	}
	if down := (*net.OpError)(nil); err != nil && (ctx.Err() != nil || errors.As(err, &down) || errors.Is(err, errNotReady)) {
		return
	}
	e.store(m)
}

// errNotReady means a server does not answer yet, for example because it loads a model.
var errNotReady = errors.New("the server is not ready")

// store stores metadata.
func (e *endpoint) store(m metadata) {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.models == nil {
		e.learned.models = map[string]*metadata{}
	}
	if old := e.learned.models[e.Model]; old != nil && old.served != m.served {
		delete(e.learned.accepted, e.Model)
		delete(e.learned.bounds, e.Model) // the server now runs the model differently
	}
	e.learned.models[e.Model] = &m
}

// refresh asks a server again for the window of the loaded model.
func (e *endpoint) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	m := e.metadata()
	var told metadata
	switch m.source {
	case fromList:
		told, _ = e.askList(ctx)
	case fromProps:
		told, _ = e.askProps(ctx)
	case fromOllama:
		told.served, _ = e.runningOllama(ctx)
	case fromLMStudio:
		told, _ = e.askLMStudio(ctx)
	}
	changed := told.served > 0 && (told.served != m.served || m.planned)
	if m.source == fromProps && told.source == fromProps { // a restarted server may use another template
		changed = changed || told.noTools != m.noTools || told.opens != m.opens
		m.noTools, m.opens = told.noTools, told.opens
	}
	if changed {
		m.served, m.planned = cmp.Or(told.served, m.served), false
		e.store(m)
	}
}

// forgetMetadata makes the next ask request the metadata again, because the endpoint has
// contradicted its metadata.
func (e *endpoint) forgetMetadata() {
	e.learned.Lock()
	defer e.learned.Unlock()
	if m := e.learned.models[e.Model]; m != nil && m.source == fromNothing {
		delete(e.learned.models, e.Model)
	}
}

// listed is a model in the response to GET /models. OpenRouter, vLLM, llama.cpp and others
// use different names for the same fields.
type listed struct {
	ID            string `json:"id"`
	Owner         string `json:"owned_by"`
	ContextLength int    `json:"context_length"`        // OpenRouter, Together, Groq-likes
	ContextWindow int    `json:"context_window"`        // Groq
	MaxModelLen   int    `json:"max_model_len"`         // vLLM, SGLang
	Loaded        int    `json:"loaded_context_length"` // LM Studio
	Meta          struct {
		Context int `json:"n_ctx"`       // llama.cpp: of a slot
		Trained int `json:"n_ctx_train"` // llama.cpp: the window of the training; the server may use less
	} `json:"meta"`
	MaxInput  int `json:"max_input_tokens"` // Anthropic, LiteLLM
	MaxTokens int `json:"max_tokens"`       // Anthropic: of a response
	// Capabilities is an object or a list. Anthropic's contains image_input.supported.
	Capabilities any            `json:"capabilities"`
	Pricing      map[string]any `json:"pricing"` // OpenRouter: US dollars per token, as strings
	Architecture struct {
		Input    []string `json:"input_modalities"` // OpenRouter
		Modality string   `json:"modality"`         // OpenRouter's older lists: text+image->text
	} `json:"architecture"`
	Input []string `json:"input_modalities"` // others
}

// askList looks for the model in the list of models. It also asks a llama.cpp server outside
// this network for its slots.
func (e *endpoint) askList(ctx context.Context) (metadata, error) {
	l, err := e.listing(ctx)
	if err != nil {
		return metadata{}, err
	}
	m := l.metadata()
	if l.Owner == "llamacpp" || l.Meta.Trained > 0 {
		if slot, err := e.askProps(ctx); err == nil && slot.served > 0 {
			m.served, m.source, m.noTools, m.opens = slot.served, fromProps, slot.noTools, slot.opens
		}
	}
	return m, nil
}

// listing returns the model's entry in the list of models. A single entry is always the
// model's.
func (e *endpoint) listing(ctx context.Context) (listed, error) {
	t := api.Target{BaseURL: e.BaseURL}
	var list struct{ Data []listed }
	if err := e.fetch(ctx, http.MethodGet, t.URL("/v1", "/models", e.API.Name() == api.Messages), nil, &list); err != nil {
		return listed{}, err
	}
	for _, l := range list.Data {
		if l.ID == e.Model || len(list.Data) == 1 {
			return l, nil
		}
	}
	return listed{}, nil
}

// askPages looks for the model in the paged list of an API.
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
	served := cmp.Or(l.MaxModelLen, l.Loaded, l.Meta.Context)
	from := fromNothing
	if served > 0 {
		from = fromList
	}
	return metadata{
		window: cmp.Or(l.ContextLength, l.ContextWindow, served, l.MaxInput, min(l.Meta.Trained, defaultWindow)),
		served: served, source: from,
		price: Price{dollars(l.Pricing["prompt"]), dollars(l.Pricing["input_cache_read"]), dollars(l.Pricing["completion"]), dollars(l.Pricing["input_cache_write"])},
		sees:  sees,
	}
}

// dollars converts a price per token to a price per million tokens. If v is not a price,
// it returns 0: with an amount that is no number, no limit of spending would be reached.
func dollars(v any) float64 {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return 0
	}
	return n * 1e6
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
		if e.API.Name() == api.Messages {
			req.Header.Set("X-Api-Key", keys[0])
		}
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "hermes-ls")
	resp, err := (&http.Client{Transport: e.Transport, CheckRedirect: sameHost}).Do(req)
	if err != nil {
		return fmt.Errorf("asking %s about its models: %w", e.url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return fmt.Errorf("asking %s about its models: %s: %w", e.url, resp.Status, errNotReady)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s about its models: %s", e.url, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, metadataLimit)).Decode(answer); err != nil {
		return fmt.Errorf("asking %s about its models: %w", e.url, err)
	}
	return nil
}
