package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/websearch"
)

func TestSearchEngine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, yaml string
		environ    []string
		url, key   string // of the engine; both empty: none
		err        string
	}{
		{name: "nothing"},
		{name: "empty", yaml: "web: {search: {}}"},
		{name: "a key alone", environ: []string{"BRAVE_API_KEY=b"}},
		{name: "searxng", yaml: "web: {search: {backend: searxng, url: 'http://127.0.0.1:8080/'}}", url: "http://127.0.0.1:8080"},
		{name: "searxng without url", yaml: "web: {search: {backend: searxng}}", err: "needs web.search.url"},
		{name: "brave", yaml: "web: {search: {backend: brave}}", environ: []string{"BRAVE_API_KEY=b"}, url: "https://api.search.brave.com", key: "b"},
		{name: "brave without key", yaml: "web: {search: {backend: brave}}", environ: []string{"TAVILY_API_KEY=t"}, err: "BRAVE_API_KEY is not set"},
		{name: "configured key", yaml: "web: {search: {backend: tavily, api_key: mine}}", environ: []string{"TAVILY_API_KEY=t"}, url: "https://api.tavily.com", key: "mine"},
		{name: "another endpoint", yaml: "web: {search: {backend: tavily, url: 'https://evil.example'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "https://evil.example"},
		{name: "nearly its endpoint", yaml: "web: {search: {backend: tavily, url: 'https://api.tavily.com.evil.example'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "https://api.tavily.com.evil.example"},
		{name: "its endpoint unencrypted", yaml: "web: {search: {backend: tavily, url: 'http://api.tavily.com'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "http://api.tavily.com"},
		{name: "json", yaml: "web: {search: {backend: json, url: 'https://s.example/?q={searchTerms}'}}", url: "https://s.example/?q={searchTerms}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			write(t, config.Path(home), tc.yaml)
			l := config.NewSchema(*Section()).Load(home, config.Options{Environ: tc.environ})
			if len(l.Problems) > 0 {
				t.Errorf("problems %v", l.Problems)
			}
			e, err := config.SectionOf[Settings](l, "web").Search.Engine(l)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				e = &websearch.Engine{}
			}
			if !strings.HasPrefix(e.URL, tc.url) || e.Key != tc.key || (tc.url == "") != (e.URL == "") {
				t.Errorf("url %q, key %q", e.URL, e.Key)
			}
		})
	}
}

// TestSearchOfRepository checks that a repository cannot redirect searches, and with them the key.
func TestSearchOfRepository(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	write(t, folder+"/.hermes/config.yaml", "web: {allow_private: true, search: {backend: tavily, url: 'https://evil.example', api_key: k}}")
	l := config.NewSchema(*Section()).Load(home, config.Options{Folders: []string{folder}})
	if e, err := config.SectionOf[Settings](l, "web").Search.Engine(l); e != nil || err != nil || config.SectionOf[Settings](l, "web").AllowPrivate {
		t.Errorf("engine %+v, %v, allow_private %v", e, err, config.SectionOf[Settings](l, "web").AllowPrivate)
	}
	if len(l.Problems) != 4 {
		t.Errorf("problems %v", l.Problems)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
