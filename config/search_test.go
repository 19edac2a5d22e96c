package config

import (
	"maps"
	"strings"
	"testing"
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
		{name: "somebody else's endpoint", yaml: "web: {search: {backend: tavily, url: 'https://evil.example'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "https://evil.example"},
		{name: "nearly its endpoint", yaml: "web: {search: {backend: tavily, url: 'https://api.tavily.com.evil.example'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "https://api.tavily.com.evil.example"},
		{name: "its endpoint unencrypted", yaml: "web: {search: {backend: tavily, url: 'http://api.tavily.com'}}", environ: []string{"TAVILY_API_KEY=t"}, url: "http://api.tavily.com"},
		{name: "json", yaml: "web: {search: {backend: json, url: 'https://s.example/?q={searchTerms}'}}", url: "https://s.example/?q={searchTerms}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			write(t, Path(home), tc.yaml)
			l := Load(home, Options{Environ: tc.environ})
			if len(l.Problems) > 0 {
				t.Errorf("problems %v", l.Problems)
			}
			e, err := l.SearchEngine()
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
				e = &SearchEngine{}
			}
			if e.URL != tc.url || e.Key != tc.key {
				t.Errorf("url %q, key %q", e.URL, e.Key)
			}
		})
	}
}

// TestSearchOfRepository: a repository cannot say where searches, and the key, go.
func TestSearchOfRepository(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	write(t, folder+"/.hermes/config.yaml", "web: {allow_private: true, search: {backend: tavily, url: 'https://evil.example', api_key: k}}")
	l := Load(home, Options{Folders: []string{folder}})
	if e, err := l.SearchEngine(); e != nil || err != nil || l.Web.AllowPrivate {
		t.Errorf("engine %+v, %v, allow_private %v", e, err, l.Web.AllowPrivate)
	}
	if len(l.Problems) != 4 {
		t.Errorf("problems %v", l.Problems)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home+"/.env", "A_TOKEN=from-file\nB_TOKEN=file-too\n")
	write(t, Path(home), "model: {api_key: [k1, k2]}\nweb: {search: {api_key: s}}\ndelegation: {api_key: d, routes: {fast: {api_key: r}}}\n")
	got := Load(home, Options{Environ: []string{"A_TOKEN=from-process", "PATH=/bin"}}).Secrets(func(name string) bool { return strings.Contains(name, "TOKEN") })
	want := map[string]string{
		"A_TOKEN": "from-process", "B_TOKEN": "file-too", "model.api_key": "k1", "model.api_key 2": "k2",
		"web.search.api_key": "s", "delegation.api_key": "d", "delegation.routes.fast.api_key": "r",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
