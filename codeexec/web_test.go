//go:build unix

package codeexec

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/websearch"
	"github.com/hermes-ls/hermes-ls/tools/web"
)

// The web tools in a script, against a local server. They read it only if the configuration
// allows private addresses.
func TestWeb(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			fmt.Fprintf(w, `{"found": [{"url": "http://%s/page?q=%s", "title": "A page", "description": "about it"}]}`, r.Host, url.QueryEscape(r.URL.Query().Get("q")))
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>A page</title><p>Hello <b>there</b>. "+strings.Repeat("More of it. ", 500))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	engine := &websearch.Engine{
		URL: server.URL + "/search?q={query}", Results: []string{"found"},
		Address: []string{"url"}, Title: []string{"title"}, Description: []string{"description"},
	}
	code := fmt.Sprintf(`
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import web_search, web_extract
found = web_search("some words", limit=3)["data"]["web"]
print(len(found), found[0]["title"], found[0]["description"])
with ThreadPoolExecutor(4) as pool:
    for read in pool.map(web_extract, [found[0]["url"], [%q], %q, [%q]]):
        one = read["results"][0]
        print(one["title"], "**there**" in one["content"], one.get("error", "")[:40])
print(len(web_extract([found[0]["url"]], char_limit=1000)["results"][0]["content"]) < 2000)
`, server.URL+"/page", server.URL+"/missing", server.URL+"/page?again")
	for _, allowed := range []bool{true, false} {
		b := newBed(t, Config{}, nil)
		for _, tool := range web.Tools(web.Config{Search: engine, AllowPrivate: allowed, Version: "test"}) {
			if err := b.set.Add(tool); err != nil {
				t.Fatal(err)
			}
		}
		b.env.Dispatch.Offered = nil // all of them are
		a := b.run(code)
		lines := strings.Split(strings.TrimSpace(a.Output), "\n")
		if len(lines) != 6 || lines[0] != "1 A page about it" || a.ToolCalls != 6 {
			t.Fatalf("allowed %v: %s%s", allowed, a.Output, a.Errors)
		}
		for i, line := range lines[1:5] {
			read := strings.HasPrefix(line, "A page True ")
			if want := allowed && i != 2; read != want {
				t.Errorf("allowed %v: %q", allowed, line)
			}
			if !allowed && !strings.Contains(line, "is not on the public internet") && !strings.Contains(line, "127.0.0.1") {
				t.Errorf("refused by the words %q", line)
			}
		}
		if lines[5] != "True" {
			t.Errorf("char_limit was not kept: %s", a.Output)
		}
	}
}
