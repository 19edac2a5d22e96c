package websearch

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
)

// The answers use the documented shape of each engine, shortened.
const (
	searxngAnswer = `{"query": "go", "number_of_results": 0, "results": [
		{"url": "https://go.dev/", "title": "The Go Programming Language", "content": "Go is an open source\n language", "engine": "duckduckgo", "parsed_url": ["https", "go.dev", "/", "", "", ""], "score": 4.0, "category": "general"},
		{"url": "https://go.dev/doc/", "title": "Documentation", "content": ""}],
		"answers": [], "corrections": [], "infoboxes": [], "suggestions": ["golang"], "unresponsive_engines": [["google", "timeout"]]}`
	braveAnswer = `{"type": "search", "query": {"original": "go", "more_results_available": true}, "mixed": {},
		"web": {"type": "search", "results": [
		{"title": "The Go Programming Language", "url": "https://go.dev/", "is_source_local": false, "description": "<strong>Go</strong> is an open source &amp; free language", "page_age": "2026-01-01T00:00:00", "meta_url": {"hostname": "go.dev"}},
		{"title": "A &lt;b&gt;", "url": "https://go.dev/doc/", "description": "Docs"}]}}`
	tavilyAnswer = `{"query": "go", "follow_up_questions": null, "answer": null, "images": [],
		"results": [{"title": "The Go Programming Language", "url": "https://go.dev/", "content": "Go is an open source language", "score": 0.98, "raw_content": null},
		{"title": "Documentation", "url": "https://go.dev/doc/", "content": "Docs", "score": 0.9, "raw_content": null}], "response_time": 1.1}`
	firecrawlAnswer = `{"success": true, "data": {"web": [
		{"url": "https://go.dev/", "title": "The Go Programming Language", "description": "Go is an open source language", "position": 1},
		{"url": "https://go.dev/doc/", "title": "Documentation", "description": "Docs", "position": 2}]}, "creditsUsed": 2}`
	firecrawlOldAnswer = `{"success": true, "data": [
		{"title": "The Go Programming Language", "description": "Go is an open source language", "url": "https://go.dev/"}]}`
)

// asked is the request to an engine.
type asked struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// engineServer returns the same answer to each request, and records the last request.
func engineServer(t *testing.T, status int, answer string) (address string, last func() asked) {
	t.Helper()
	var seen atomic.Pointer[asked]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen.Store(&asked{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() asked {
		if a := seen.Load(); a != nil {
			return *a
		}
		return asked{}
	}
}

func TestBackends(t *testing.T) {
	t.Parallel()
	const query = `what is "go" & why? ` + "\\ über"
	for _, tc := range []struct {
		name, backend, answer string
		method, path, sent    string // sent: in the query or the body
		header, value         string
		want                  []Hit
	}{
		{
			name: "searxng", backend: "searxng", answer: searxngAnswer,
			method: "GET", path: "/search", sent: "q=what+is+%22go%22+%26+why%3F+%5C+%C3%BCber&format=json",
			want: []Hit{{"https://go.dev/", "The Go Programming Language", "Go is an open source language"}, {"https://go.dev/doc/", "Documentation", ""}},
		},
		{
			name: "brave", backend: "brave", answer: braveAnswer,
			method: "GET", path: "/res/v1/web/search", sent: "q=what+is+%22go%22+%26+why%3F+%5C+%C3%BCber&count=2",
			header: "X-Subscription-Token", value: "key-of-the-user",
			want: []Hit{{"https://go.dev/", "The Go Programming Language", "Go is an open source & free language"}, {"https://go.dev/doc/", "A <b>", "Docs"}},
		},
		{
			name: "tavily", backend: "tavily", answer: tavilyAnswer,
			method: "POST", path: "/search", sent: `{"query": "what is \"go\" \u0026 why? \\ über", "max_results": 2}`,
			header: "Authorization", value: "Bearer key-of-the-user",
			want: []Hit{{"https://go.dev/", "The Go Programming Language", "Go is an open source language"}, {"https://go.dev/doc/", "Documentation", "Docs"}},
		},
		{
			name: "firecrawl", backend: "firecrawl", answer: firecrawlAnswer,
			method: "POST", path: "/v2/search", sent: `{"query": "what is \"go\" \u0026 why? \\ über", "limit": 2}`,
			header: "Authorization", value: "Bearer key-of-the-user",
			want: []Hit{{"https://go.dev/", "The Go Programming Language", "Go is an open source language"}, {"https://go.dev/doc/", "Documentation", "Docs"}},
		},
		{
			name: "firecrawl, its old answer", backend: "firecrawl", answer: firecrawlOldAnswer,
			method: "POST", path: "/v2/search", sent: `{"query": "what is \"go\" \u0026 why? \\ über", "limit": 2}`,
			want: []Hit{{"https://go.dev/", "The Go Programming Language", "Go is an open source language"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address, last := engineServer(t, http.StatusOK, tc.answer)
			e, err := Named(tc.backend, address+"/", "key-of-the-user")
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Check(); err != nil {
				t.Error(err)
			}
			got, err := e.Search(t.Context(), query, 2)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tc.want)
			}
			a := last()
			if a.Method != tc.method || a.Path != tc.path || a.Query+a.Body != tc.sent {
				t.Errorf("sent %s %s %s%s\nwant %s", a.Method, a.Path, a.Query, a.Body, tc.sent)
			}
			if tc.header != "" && a.Header.Get(tc.header) != tc.value {
				t.Errorf("%s: %q", tc.header, a.Header.Get(tc.header))
			}
			if a.Body != "" && !json.Valid([]byte(a.Body)) {
				t.Errorf("not JSON: %s", a.Body)
			}
		})
	}
}

func TestOwnEngine(t *testing.T) {
	t.Parallel()
	address, last := engineServer(t, http.StatusOK, `{"d": {"items": [{"n": ["x", {"link": "https://a.example/"}], "name": "A"}, {"name": "no address"}, {"n": [0, {"link": "javascript:x"}]}, {"n": [0, {"link": "https://b.example/"}]}]}}`)
	e := Engine{
		URL: address + "/s?q={searchTerms}&n={count}&from={startIndex?}", Key: "k",
		Headers: map[string]string{"X-Key": "Token {key}"},
		Results: []string{"d.items"}, Address: []string{"n.1.link"}, Title: []string{"name"},
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	got, err := e.Search(t.Context(), "a b", 5)
	if want := []Hit{{"https://a.example/", "A", ""}, {"https://b.example/", "", ""}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if a := last(); a.Query != "q=a+b&n=5&from=" || a.Header.Get("X-Key") != "Token k" {
		t.Errorf("sent %+v", a)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	whole := Engine{URL: "https://s.example/?q={query}", Results: []string{"r"}, Address: []string{"u"}}
	for name, tc := range map[string]struct {
		change func(*Engine)
		want   string
	}{
		"whole":     {func(*Engine) {}, ""},
		"no url":    {func(e *Engine) { e.URL = "" }, "no http(s) address"},
		"file":      {func(e *Engine) { e.URL = "file:///{query}" }, "no http(s) address"},
		"no query":  {func(e *Engine) { e.URL = "https://s.example/" }, "{searchTerms}"},
		"in body":   {func(e *Engine) { e.URL, e.Body = "https://s.example/", `{"q": "{query}"}` }, ""},
		"no key":    {func(e *Engine) { e.Headers = map[string]string{"X": "{key}"} }, "key"},
		"no result": {func(e *Engine) { e.Results = nil }, "results"},
	} {
		e := whole
		tc.change(&e)
		if err := e.Check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Named("altavista", "https://s.example", ""); err == nil || !strings.Contains(err.Error(), "brave, firecrawl, searxng, tavily") {
		t.Errorf("unknown backend: %v", err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		answer string
		want   string
	}{
		{"refused", 403, `{"error": "key-of-the-user is unknown"}`, "web.search"},
		{"busy", 429, ``, "limit"},
		{"broken", 500, `<h1>Oops</h1> key-of-the-user`, "500 Internal Server Error: Oops [key]"},
		{"no JSON", 200, `<html>`, "no JSON"},
		{"other JSON", 200, `{"web": []}`, "no list at results"},
		{"null", 200, `null`, "no list"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address, _ := engineServer(t, tc.status, tc.answer)
			e, err := Named("tavily", address, "key-of-the-user")
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Search(t.Context(), "x", 3)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "key-of-the-user") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestKeyStays: a redirect does not take the key to another host, and an error does
// not show it.
func TestKeyStays(t *testing.T) {
	t.Parallel()
	elsewhere, last := engineServer(t, http.StatusOK, tavilyAnswer)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	e, err := Named("tavily", s.URL, "key-of-the-user")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), "x", 3); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("error %v", err)
	}
	if last().Method != "" {
		t.Errorf("the other host was asked: %+v", last())
	}
	gone := Engine{URL: "http://127.0.0.1:1/?key={key}&q={query}", Key: "secret key", Results: []string{"r"}, Address: []string{"u"}}
	if _, err := gone.Search(t.Context(), "x", 3); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, answer := range []string{searxngAnswer, braveAnswer, tavilyAnswer, firecrawlAnswer, firecrawlOldAnswer, `[]`, `{"results": [1, null, {"url": 2}]}`} {
		f.Add([]byte(answer), "results")
	}
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		e := Engine{Results: []string{path, "web.results", ""}, Address: []string{"url"}, Title: []string{"title"}, Description: []string{"content"}}
		hits, err := e.parse(data, 3)
		if len(hits) > 3 || err != nil && hits != nil {
			t.Errorf("%d hits, %v", len(hits), err)
		}
		for _, h := range hits {
			if h.URL == "" || strings.ContainsAny(h.Title+h.Description, "\n\r") {
				t.Errorf("hit %+q", h)
			}
		}
	})
}
