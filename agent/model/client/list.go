package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Listed is a model in an endpoint's list. A zero field is not known.
type Listed struct {
	ID        string `json:"id"`
	Window    int    `json:"window,omitempty"`    // tokens
	MaxOutput int    `json:"maxOutput,omitempty"` // tokens
	Images    *bool  `json:"images,omitempty"`
	Price     *Price `json:"price,omitempty"`
}

const (
	listTimeout = 10 * time.Second
	mostPages   = 20
	mostListed  = 2000 // models of an endpoint
	longestID   = 200  // bytes
)

// List requests the models of an endpoint, sorted by id, 2,000 at most. The request is free of charge. A
// failure is a [*model.Error].
func List(ctx context.Context, e Endpoint) ([]Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	m := New(Config{Endpoints: []Endpoint{e}})
	defer m.Close()
	from := m.endpoints[0]
	if from.broken != nil {
		return nil, from.broken
	}
	return from.listAll(ctx)
}

// listAll requests all pages of the list.
func (e *endpoint) listAll(ctx context.Context) ([]Listed, error) {
	keys, err := e.pool(ctx, false)
	if err != nil {
		return nil, err
	}
	var out []Listed
	before, next := "", ""
	for range mostPages {
		var page listPage
		if err := e.list(ctx, keys[0], next, &page); err != nil {
			return nil, err
		}
		out = append(out, page.models()...)
		before, next = next, cmp.Or(page.NextPageToken, page.after())
		if next == "" || next == before || len(out) >= mostListed {
			break
		}
	}
	out = out[:min(len(out), mostListed)]
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Listed) bool { return a.ID == b.ID }), nil
}

// listPage is a response to GET /models in the form of any API.
type listPage struct {
	Data          []listed       `json:"data"`
	HasMore       bool           `json:"has_more"` // Anthropic
	LastID        string         `json:"last_id"`  // Anthropic
	Models        []geminiListed `json:"models"`
	NextPageToken string         `json:"nextPageToken"` // Gemini
}

type geminiListed struct {
	Name    string   `json:"name"` // models/ID
	Input   int      `json:"inputTokenLimit"`
	Output  int      `json:"outputTokenLimit"`
	Methods []string `json:"supportedGenerationMethods"`
}

// after returns the id after which the next page begins (Anthropic), or "".
func (p *listPage) after() string {
	if p.HasMore {
		return p.LastID
	}
	return ""
}

func (p *listPage) models() []Listed {
	var out []Listed
	for i := range p.Data {
		known := p.Data[i].metadata()
		l := Listed{ID: p.Data[i].ID, Window: known.window, MaxOutput: p.Data[i].MaxTokens}
		if known.price != (Price{}) {
			l.Price = &known.price
		}
		if known.sees != 0 {
			images := known.sees == seeing
			l.Images = &images
		}
		out = append(out, l)
	}
	for _, g := range p.Models {
		if len(g.Methods) == 0 || slices.Contains(g.Methods, "generateContent") {
			out = append(out, Listed{ID: strings.TrimPrefix(g.Name, "models/"), Window: g.Input, MaxOutput: g.Output})
		}
	}
	return slices.DeleteFunc(out, func(l Listed) bool { return !usable(l.ID) })
}

// usable reports whether an id can stand in a line of text. Others could add lines or markup to what the
// user sees, or fill it.
func usable(id string) bool {
	return id != "" && len(id) <= longestID && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsGraphic(r) || r == '`' })
}

// list requests a page. next is empty for the first page.
func (e *endpoint) list(ctx context.Context, key, next string, page *listPage) error {
	t := e.target(key, false)
	// A model request has the headers required by this API and provider.
	sample, err := e.API.Encode(&model.Request{Messages: []model.Message{model.NewMessage(model.User, "hi")}}, t)
	if err != nil {
		return e.fail(model.ErrRequest, 0, err.Error(), err)
	}
	query := url.Values{}
	var address string
	switch e.API.Name() {
	case api.Messages:
		address = t.URL("/v1", "/models", true)
		query.Set("limit", "1000")
		if next != "" {
			query.Set("after_id", next)
		}
	case api.Gemini:
		address = t.URL("/v1beta", "/models", false)
		query.Set("pageSize", "1000")
		if next != "" {
			query.Set("pageToken", next)
		}
	default:
		address = t.URL("/v1", "/models", false)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return e.fail(model.ErrRequest, 0, err.Error(), err)
	}
	for name, values := range sample.Header {
		req.Header[name] = values
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "hermes-ls")
	resp, err := (&http.Client{Transport: e.Transport, CheckRedirect: sameHost}).Do(req)
	if err != nil {
		if with := (*url.Error)(nil); errors.As(err, &with) {
			err = with.Err // without the URL, which may hold a secret
		}
		failed := e.fail(model.ErrDown, 0, err.Error(), err)
		failed.Proxy = e.proxyOf()
		return failed
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, metadataLimit))
	if err != nil {
		return e.fail(model.ErrCut, 0, err.Error(), err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return e.complete(e.API.Classify(resp.StatusCode, resp.Header, body))
	}
	if err := json.Unmarshal(body, page); err != nil {
		return e.fail(model.ErrGarbage, resp.StatusCode, fmt.Sprintf("the list of models is not understood: %v", err), nil)
	}
	return nil
}
