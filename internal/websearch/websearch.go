// Package websearch sends queries to a search engine over HTTP.
//
// Data describes an engine: the URL, the request, and the path of the results in the JSON of the
// response. The known engines are such descriptions ([Named]). The configuration can describe any
// other engine that answers in JSON. A key goes only to its configured endpoint: redirects to
// another host are not followed. All functions are safe for concurrent use.
package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
)

const (
	timeLimit = 20 * time.Second
	bodyLimit = 4 << 20 // bytes of an answer
	textLimit = 1000    // characters of a title or a description
)

// Engine describes a search engine. In URL, Body and the values of Headers, the placeholders
// {searchTerms} (or {query}), {count} and {key} are replaced, as in an OpenSearch
// description. Any other {name?} is removed. Put the key in Headers or Body, not in URL,
// where logs would keep it, unless there is no other way.
type Engine struct {
	URL     string            // required
	Method  string            // empty: GET, or POST when there is a Body
	Headers map[string]string // additional headers
	Body    string            // JSON; replaced values are quoted as within a JSON string
	Key     string

	Results     []string // paths of the list; the first existing path counts: "web.results"
	Address     []string // paths within a result, likewise
	Title       []string
	Description []string
}

// Hit is a search result.
type Hit struct {
	URL         string `json:"url"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// backends are the known engines. Their URL is a path, which comes after an endpoint.
func backends() map[string]Engine {
	return map[string]Engine{
		"searxng": {
			URL:     "/search?q={searchTerms}&format=json",
			Results: []string{"results"}, Address: []string{"url"}, Title: []string{"title"}, Description: []string{"content"},
		},
		"brave": {
			URL:     "/res/v1/web/search?q={searchTerms}&count={count}",
			Headers: map[string]string{"X-Subscription-Token": "{key}"},
			Results: []string{"web.results"}, Address: []string{"url"}, Title: []string{"title"}, Description: []string{"description"},
		},
		"tavily": {
			URL:     "/search",
			Headers: map[string]string{"Authorization": "Bearer {key}"},
			Body:    `{"query": "{searchTerms}", "max_results": {count}}`,
			Results: []string{"results"}, Address: []string{"url"}, Title: []string{"title"}, Description: []string{"content"},
		},
		"firecrawl": {
			URL:     "/v2/search",
			Headers: map[string]string{"Authorization": "Bearer {key}"},
			Body:    `{"query": "{searchTerms}", "limit": {count}}`,
			Results: []string{"data.web", "data"}, // /v1 had the latter, and some still run it
			Address: []string{"url", "metadata.sourceURL"}, Title: []string{"title", "metadata.title"}, Description: []string{"description", "metadata.description"},
		},
	}
}

// Named returns the engine of a known backend at an endpoint. Without a key none is sent: a private
// instance often needs none.
func Named(name, endpoint, key string) (Engine, error) {
	e, ok := backends()[name]
	if !ok {
		return Engine{}, fmt.Errorf("%q is no search backend; there are %s", name, strings.Join(slices.Sorted(maps.Keys(backends())), ", "))
	}
	e.URL, e.Key = strings.TrimRight(endpoint, "/")+e.URL, key
	if key == "" {
		e.Headers = nil
	}
	return e, nil
}

// Check returns an error for its author if a part of the description is missing.
func (e Engine) Check() error {
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(e.URL))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("url %q is no http(s) address", e.URL)
	case !strings.Contains(e.URL+e.Body, "{searchTerms}") && !strings.Contains(e.URL+e.Body, "{query}"):
		return errors.New("neither url nor body says where the query goes: put {searchTerms} there")
	case strings.Contains(e.template(), "{key}") && e.Key == "":
		return errors.New("it needs a key and there is none")
	case len(e.Results) == 0 || len(e.Address) == 0:
		return errors.New("results and fields have to say where in the answer the results and their addresses are")
	}
	return nil
}

func (e Engine) template() string {
	return e.URL + e.Body + strings.Join(slices.Collect(maps.Values(e.Headers)), "")
}

// Search returns at most count results. The text of an error is for a model. It never has
// the key.
func (e Engine) Search(ctx context.Context, query string, count int) ([]Hit, error) {
	ctx, stop := context.WithTimeout(ctx, timeLimit)
	defer stop()
	q, err := e.request(ctx, query, count)
	if err != nil {
		return nil, e.discreet(err)
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: sameHost,
	}
	r, err := client.Do(q)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // its text holds the address, and the address may hold the key
			err = wrapped.Err
		}
		return nil, e.discreet(fmt.Errorf("%s could not be asked: %w", q.URL.Host, err))
	}
	defer r.Body.Close() // nothing is lost
	data, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	switch {
	case r.StatusCode < 200 || r.StatusCode > 299:
		return nil, e.discreet(statusError(r, data))
	case err != nil:
		return nil, fmt.Errorf("reading the answer of %s: %w", q.URL.Host, err)
	case len(data) > bodyLimit:
		return nil, fmt.Errorf("%s answers with more than %d MB", q.URL.Host, bodyLimit>>20)
	}
	hits, err := e.parse(data, count)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", q.URL.Host, err)
	}
	return hits, nil
}

// sameHost follows a redirect only where the key may go.
func sameHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(before) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

func (e Engine) request(ctx context.Context, query string, count int) (*http.Request, error) {
	method := e.Method
	if method == "" {
		method = http.MethodGet
		if e.Body != "" {
			method = http.MethodPost
		}
	}
	var body io.Reader
	if e.Body != "" {
		body = strings.NewReader(e.fill(e.Body, query, count, inJSON))
	}
	q, err := http.NewRequestWithContext(ctx, method, e.fill(e.URL, query, count, url.QueryEscape), body)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("User-Agent", "hermes-ls")
	if e.Body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for name, value := range e.Headers {
		q.Header.Set(name, e.fill(value, query, count, func(s string) string { return s }))
	}
	return q, nil
}

// A place in a template: {name} or {name?}.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[A-Za-z:]+\??\}`) })

func (e Engine) fill(template, query string, count int, quote func(string) string) string {
	return placeholder().ReplaceAllStringFunc(template, func(place string) string {
		switch strings.Trim(place, "{}?") {
		case "searchTerms", "query":
			return quote(query)
		case "count", "limit":
			return strconv.Itoa(count)
		case "key":
			return quote(e.Key)
		}
		if strings.HasSuffix(place, "?}") {
			return ""
		}
		return place
	})
}

// inJSON quotes s for a JSON string, without the quotes around it.
func inJSON(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return "" // a string always is JSON
	}
	return string(quoted[1 : len(quoted)-1])
}

// discreet takes the key out of an error.
func (e Engine) discreet(err error) error {
	if e.Key == "" || !strings.Contains(err.Error(), e.Key) && !strings.Contains(err.Error(), url.QueryEscape(e.Key)) {
		return err
	}
	return errors.New(strings.NewReplacer(e.Key, "[key]", url.QueryEscape(e.Key), "[key]").Replace(err.Error()))
}

func statusError(r *http.Response, body []byte) error {
	text := fmt.Sprintf("%s answers %d %s", r.Request.URL.Host, r.StatusCode, http.StatusText(r.StatusCode))
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += "; its key is missing or wrong, or (SearXNG) its JSON format is not enabled: the user has to look at web.search"
	case http.StatusTooManyRequests:
		text += "; its limit is reached, do not ask again at once"
	default:
		if said := clean(string(body[:min(len(body), 300)])); said != "" {
			text += ": " + said
		}
	}
	return errors.New(text)
}

// parse reads the results out of an answer.
func (e Engine) parse(data []byte, count int) ([]Hit, error) {
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, errors.New("it is no JSON")
	}
	list, ok := first[[]any](root, e.Results)
	if !ok {
		return nil, fmt.Errorf("there is no list at %s", strings.Join(e.Results, " or "))
	}
	hits := []Hit{}
	for _, item := range list {
		address, _ := first[string](item, e.Address)
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			continue
		}
		title, _ := first[string](item, e.Title)
		description, _ := first[string](item, e.Description)
		if hits = append(hits, Hit{address, clean(title), clean(description)}); len(hits) == count {
			break
		}
	}
	return hits, nil
}

// first returns the value at the first path that leads to a T.
func first[T any](v any, paths []string) (T, bool) {
	for _, path := range paths {
		if found, ok := at(v, path).(T); ok {
			return found, true
		}
	}
	var none T
	return none, false
}

// at follows a path of names and numbers, "web.results.0".
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			if name != "" { // an empty path is the whole
				return nil
			}
		}
	}
	return v
}

// clean returns a single line of plain text: engines mark matches in HTML.
func clean(s string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind == html.TextToken {
			b.WriteString(html.UnescapeString(string(z.Raw())))
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if runes := []rune(text); len(runes) > textLimit {
		text = string(runes[:textLimit]) + "…"
	}
	return text
}
