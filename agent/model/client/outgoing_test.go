package client_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// TestCompressedReplies compresses replies and errors although the request did not ask for it,
// like some proxies. They are decoded.
func TestCompressedReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		coding string
		to     func(w io.Writer) io.WriteCloser
	}{
		"gzip":       {"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"x-gzip":     {"X-GZIP", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"zlib":       {"deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
		"deflate":    {"deflate", func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 5); return f }},
		"br":         {"br", func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }},
		"zstd":       {"zstd", func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }},
		"identity":   {"identity", func(w io.Writer) io.WriteCloser { return plain{w} }},
		"a lie":      {"gzip", func(w io.Writer) io.WriteCloser { return plain{w} }},
		"both named": {"identity, gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
	} {
		virtual(t, name, func(t *testing.T) {
			code := 200
			m := inMemory(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("Accept-Encoding %q", got)
				}
				var b bytes.Buffer
				to := c.to(&b)
				if code == 200 {
					io.WriteString(to, modeltest.Fine)
				} else {
					io.WriteString(to, `{"error":{"message":"the reason"}}`)
				}
				to.Close()
				w.Header().Set("Content-Encoding", c.coding)
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(code)
				w.Write(b.Bytes())
			})
			r, _, err := modeltest.Ask(t.Context(), m, hello())
			if err != nil || r.Text != "ok" {
				t.Errorf("%q, %v", r.Text, err)
			}
			code = 400
			_, _, err = modeltest.Ask(t.Context(), m, hello())
			modeltest.CheckError(t, err, model.ErrRequest, "the reason")
		})
	}
}

// TestWrongContentType checks how a response is read: its body decides, not its content type.
func TestWrongContentType(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"an event stream":  modeltest.Fine,
		"a line for each":  strings.ReplaceAll(modeltest.Fine, "data: ", ""),
		"noise":            "data: ping\n\nevent: ping\ndata: [KEEPALIVE]\n\n" + modeltest.Fine,
		"comments first":   ": waiting\n\n" + modeltest.Fine,
		"a whole response": `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`,
		"a list of events": `[{"choices":[{"index":0,"delta":{"content":"o"}}]},` + "\n" + `{"choices":[{"index":0,"delta":{"content":"k"},"finish_reason":"stop"}]}]`,
		"on several lines": "{\n\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ok\"},\n\"finish_reason\":\"stop\"}]}\n",
	} {
		virtual(t, name, func(t *testing.T) {
			m := inMemory(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				io.WriteString(w, body)
			})
			if r, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil || r.Text != "ok" {
				t.Errorf("%q, %v", r.Text, err)
			}
		})
	}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// TestBaseURL checks base URLs copied from a request or containing a query.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://one.test/v1":                                      "/v1/chat/completions",
		"http://one.test/v1/chat/completions":                     "/v1/chat/completions",
		"http://one.test/v1/chat/completions/":                    "/v1/chat/completions",
		"http://one.test/v1/models":                               "/v1/chat/completions",
		"http://one.test":                                         "/v1/chat/completions",
		"http://one.test/x?api-version=2025":                      "/x/chat/completions?api-version=2025",
		"http://one.test/x/chat/completions?api-version=2025&k=v": "/x/chat/completions?api-version=2025&k=v",
		"http://one.test/openai/deployments/chat":                 "/openai/deployments/chat/chat/completions",
	} {
		virtual(t, base, func(t *testing.T) {
			got := ""
			m := inMemory(func(w http.ResponseWriter, r *http.Request) {
				got = r.URL.String()
				io.WriteString(w, modeltest.Fine)
			}, func(c *client.Config) { c.Endpoints[0].BaseURL = base })
			if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil || got != want {
				t.Errorf("asked %s, want %s: %v", got, want, err)
			}
		})
	}
}

// TestProxyOfTheEnvironment checks the use of ALL_PROXY. Failures name the proxy.
func TestProxyOfTheEnvironment(t *testing.T) { // it sets an environment variable
	answer := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, modeltest.Fine) }
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Host+r.Host)
		answer(w, r)
	}))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "all_proxy"} {
		t.Setenv(name, "")
	}
	t.Setenv("ALL_PROXY", proxy.URL)
	ask := func(base string) error {
		m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "one", BaseURL: base, Model: "m", Keys: []string{"k"}}}})
		defer m.Close()
		_, _, err := modeltest.Ask(t.Context(), m, hello())
		return err
	}
	if err := ask("http://model.invalid/v1"); err != nil || !strings.Contains(fmt.Sprint(asked), "POST model.invalid") {
		t.Errorf("%v, asked %q", err, asked)
	}
	answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(502)
	}
	for base, kind := range map[string]model.ErrorKind{"http://model.invalid/v1": model.ErrServer, "https://model.invalid/v1": model.ErrDown} {
		if testing.Short() && kind == model.ErrDown {
			continue
		}
		err := ask(base)
		modeltest.CheckError(t, err, kind, "")
		for _, want := range []string{"the proxy " + proxy.URL, "providers.one.proxy", "502"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", base, want, err)
			}
		}
	}
}

// TestCausesAndRemedies checks errors for their cause and the setting to change.
func TestCausesAndRemedies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider string
		keys     []string
		status   int
		body     string
		want     []string
		not      string
	}{
		{"openrouter", []string{"k"}, 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://x","code":404}}`,
			[]string{"cannot call tools", "Choose a model that can call tools", "No endpoints found"}, "providers.openrouter.api"},
		{"openrouter", []string{"k"}, 404, `{"error":{"message":"No endpoints found matching your data policy.","code":404}}`, []string{"setting of your account"}, "providers.openrouter.api"},
		{"ollama", nil, 400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`, []string{"cannot call tools"}, ""},
		{"gemini", []string{"k"}, 400, `{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`, []string{"cannot call tools"}, ""},
		{"custom", nil, 400, `{"error":{"message":"Unrecognized request argument supplied: tools"}}`, []string{"cannot call tools"}, ""},
		{"custom", nil, 500, `{"error":{"message":"tools param requires --jinja flag"}}`, []string{"cannot call tools", "--jinja"}, ""},
		{"ollama", nil, 401, `{"error":{"message":"Unauthorized"}}`, []string{"requires a key", "providers.ollama.api_key"}, "model.api_key"},
		{"custom", nil, 401, `{"error":{"message":"Unauthorized"}}`, []string{"requires a key", "model.api_key"}, "refused the key"},
		{"custom", []string{"k"}, 401, `{"error":{"message":"Unauthorized"}}`, []string{"refused the key", "tried again with your next prompt"}, "requires a key"},
		{"custom", nil, 403, `{"error":{"message":"Your country is not supported"}}`, []string{"403", "serves your country"}, "requires a key"},
		{"openai", []string{"k"}, 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`, []string{"refused the request", "serves your country"}, "key"},
		{"gemini", []string{"k"}, 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, []string{"serves your country"}, "model.default"},
		{"openai", []string{"k"}, 403, `{"error":{"message":"Project p does not have access to model m","code":"model_not_found"}}`, []string{"does not have the model", "access to model"}, "key"},
		{"custom", []string{"k"}, 403, "<html><head><title>Access denied &amp; logged</title></head></html>", []string{"a web page titled “Access denied & logged”", "firewall", "model.base_url"}, "key"},
		{"custom", []string{"k"}, 200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, []string{"out of credit", "insufficient balance"}, "model.base_url"},
		{"custom", []string{"k"}, 405, "Method Not Allowed", []string{"model.base_url", "providers.custom.api"}, "model.default"},
		{"custom", []string{"k"}, 200, "data: hello\n\ndata: world\n\n", []string{"no event stream", "hello world"}, ""},
		{"custom", []string{"k"}, 422, `{"detail":[{"loc":["body","messages",0],"msg":"field required"}]}`, []string{"body.messages.0: field required"}, "{"},
	} {
		virtual(t, c.provider+c.body, func(t *testing.T) {
			asked := 0
			m := inMemory(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}, as(c.provider), pool(c.keys...))
			_, _, err := modeltest.Ask(t.Context(), m, hello())
			if err == nil || asked != 1 {
				t.Fatalf("%v, asked %d times", err, asked)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("%q in %v", c.not, err)
			}
		})
	}
}
