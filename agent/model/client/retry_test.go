package client_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var someTools = modeltest.Tools("read_file", "search_files", "write_file", "todo")

func hello() *model.Request { return modeltest.Hello(someTools...) }

// inMemory returns a model with a server in the same synctest bubble.
func inMemory(h http.HandlerFunc, change ...func(*client.Config)) *client.Model {
	read := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // otherwise the server does not notice the closed connection
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}
	c := client.Config{
		Transport: memhttp.Transport(http.HandlerFunc(read)),
		Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "custom", BaseURL: "http://one.test/v1", Model: "m", Keys: []string{"sk-secret-one"}}},
	}
	for _, f := range change {
		f(&c)
	}
	return client.New(c)
}

// virtual runs f in virtual time.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func status(code int, w http.ResponseWriter) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"message":"status %d"}}`, code)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, code := range []int{408, 429, 500, 502, 503, 529} {
		virtual(t, fmt.Sprintf("%d, then fine", code), func(t *testing.T) {
			rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
				if n < 3 {
					status(code, w)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}}
			began := time.Now()
			r, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
			if err != nil || r.Text != "ok" {
				t.Fatalf("reply %q, error %v", r.Text, err)
			}
			if len(notices) != 2 || !strings.Contains(notices[0], fmt.Sprintf("(%d); trying again in ", code)) {
				t.Errorf("notices = %q", notices)
			}
			if d := time.Since(began); d < 2*time.Second || d > 4*time.Second { // 1 s and 2 s, each ± 25 %
				t.Errorf("waited %v", d)
			}
		})
	}
	virtual(t, "a chat template that cannot write the messages", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) {
			w.WriteHeader(500)
			io.WriteString(w, `{"error":{"code":500,"message":"Error: Jinja Exception: Unexpected message role.","type":"server_error"}}`)
		}}
		began := time.Now()
		_, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
		if failed := new(model.Error); !errors.As(err, &failed) || failed.Kind != model.ErrRequest || len(rec.Bodies) != 1 || len(notices) != 0 || time.Since(began) != 0 {
			t.Errorf("%v after %d requests in %v, notices %q", err, len(rec.Bodies), time.Since(began), notices)
		}
	})
	virtual(t, "an empty answer, then fine", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
			if w.Header().Set("Content-Type", "text/event-stream"); n > 1 {
				io.WriteString(w, modeltest.Fine)
			}
		}}
		r, _, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
		if err != nil || r.Text != "ok" || len(rec.Bodies) != 2 {
			t.Errorf("reply %q, error %v, %d requests", r.Text, err, len(rec.Bodies))
		}
	})
	virtual(t, "for ever busy", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) { status(529, w) }}
		_, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
		modeltest.CheckError(t, err, model.ErrBusy, "529")
		if len(rec.Bodies) != 5 || len(notices) != 4 {
			t.Errorf("%d requests, notices %q", len(rec.Bodies), notices)
		}
	})
	virtual(t, "Retry-After", func(t *testing.T) {
		for _, header := range []string{"Retry-After: 40", "Retry-After-Ms: 40000", "Retry-After: " + time.Now().Add(120*time.Second).UTC().Format(http.TimeFormat)} {
			rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
				if n == 1 {
					name, value, _ := strings.Cut(header, ": ")
					w.Header().Set(name, value)
					status(429, w)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}}
			began := time.Now() // the third try is 80 s after the first
			if _, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello()); err != nil || time.Since(began) != 40*time.Second {
				t.Errorf("%s: waited %v, notices %q, error %v", header, time.Since(began), notices, err)
			}
		}
	})
	virtual(t, "Retry-After of an hour fails at once", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			status(429, w)
		}}
		_, _, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
		e := modeltest.CheckError(t, err, model.ErrBusy, "")
		if len(rec.Bodies) != 1 || e.RetryAfter != time.Hour || !strings.Contains(err.Error(), "Try again in 60 min") {
			t.Errorf("%d requests, error %v", len(rec.Bodies), err)
		}
	})
	virtual(t, "errors in the stream before its first delta", func(t *testing.T) {
		for _, name := range []string{"llamacpp_error.sse", "event_error.sse"} {
			stream, err := os.ReadFile("../openai/testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
				if n == 1 {
					w.Write(stream)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}}
			r, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
			if name == "event_error.sse" { // text was shown before the error
				modeltest.CheckError(t, err, model.ErrBusy, "Overloaded")
				continue
			}
			if err != nil || r.Text != "ok" || len(notices) != 1 {
				t.Errorf("%s: %q, notices %q, error %v", name, r.Text, notices, err)
			}
		}
	})
	virtual(t, "cancelled while waiting", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) { status(503, w) }}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, _, err := modeltest.Ask(ctx, inMemory(rec.ServeHTTP), hello())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	virtual(t, "connection lost before and after the first delta", func(t *testing.T) {
		for _, shown := range []bool{false, true} {
			rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
				if n > 1 {
					io.WriteString(w, modeltest.Fine)
					return
				}
				if shown {
					io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n")
					w.(http.Flusher).Flush()
				}
				panic(http.ErrAbortHandler)
			}}
			r, _, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP), hello())
			if !shown && (err != nil || r.Text != "ok") {
				t.Errorf("before: %q, %v", r.Text, err)
			}
			if shown {
				modeltest.CheckError(t, err, model.ErrCut, "EOF")
			}
		}
	})
}

func TestDownIsSaidSoon(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close() // the port is closed now
	m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "ollama", BaseURL: s.URL + "/v1", Model: "m"}}})
	_, notices, err := modeltest.Ask(t.Context(), m, hello())
	modeltest.CheckError(t, err, model.ErrDown, "refused")
	if len(notices) != 1 {
		t.Errorf("notices = %q", notices)
	}
}

func TestStalls(t *testing.T) {
	t.Parallel()
	const delta = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	tests := []struct {
		name   string
		play   func(send func(string), gone <-chan struct{})
		after  time.Duration
		finish model.Finish // set if the request succeeds
	}{
		{"nothing at all", func(_ func(string), gone <-chan struct{}) { <-gone }, 270 * time.Second, ""},
		{"after a delta", func(send func(string), gone <-chan struct{}) { send(delta); <-gone }, 90 * time.Second, ""},
		{"comments count before the first event", func(send func(string), gone <-chan struct{}) {
			for range 4 {
				time.Sleep(100 * time.Second)
				send(": busy\n\n")
			}
			<-gone
		}, 670 * time.Second, ""},
		{"comments do not count for ever", func(send func(string), gone <-chan struct{}) {
			for {
				select {
				case <-gone:
					return
				case <-time.After(60 * time.Second):
					send(": busy\n\n")
				}
			}
		}, 1650 * time.Second, ""},
		{"comments do not count between events", func(send func(string), gone <-chan struct{}) {
			send(delta)
			time.Sleep(60 * time.Second)
			send(": busy\n\n")
			<-gone
		}, 90 * time.Second, ""},
		{"slow but alive", func(send func(string), _ <-chan struct{}) {
			for range 10 {
				time.Sleep(80 * time.Second)
				send(delta)
			}
			send(modeltest.Fine)
		}, 800 * time.Second, model.FinishStop},
		{"open after the finish", func(send func(string), gone <-chan struct{}) {
			send("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n")
			<-gone
		}, 5 * time.Second, model.FinishStop},
	}
	for _, tt := range tests {
		virtual(t, tt.name, func(t *testing.T) {
			m := inMemory(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				tt.play(func(s string) { io.WriteString(w, s); w.(http.Flusher).Flush() }, r.Context().Done())
			})
			began := time.Now()
			r, _, err := modeltest.Ask(t.Context(), m, hello())
			if d := time.Since(began).Round(time.Second); d != tt.after {
				t.Errorf("took %v, want %v", d, tt.after)
			}
			if tt.finish == "" {
				modeltest.CheckError(t, err, model.ErrStalled, "the stream stalled for")
			} else if err != nil || r.Finish != tt.finish {
				t.Errorf("finish %q, error %v", r.Finish, err)
			}
		})
	}
	virtual(t, "no answer", func(t *testing.T) {
		began := time.Now()
		_, _, err := modeltest.Ask(t.Context(), inMemory(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), hello())
		modeltest.CheckError(t, err, model.ErrStalled, "270 s")
		if d := time.Since(began); d != 270*time.Second {
			t.Errorf("took %v", d)
		}
	})
	virtual(t, "a slow reader is not the endpoint's fault", func(t *testing.T) {
		m := inMemory(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, delta+delta+modeltest.Fine) })
		n := 0
		for _, err := range m.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			n++
		}
		if n != 2 { // the text, immediately, and the end
			t.Errorf("%d deltas", n)
		}
	})
}

func TestBreakingOffEndsTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		m := inMemory(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(gone)
		})
		for range m.Stream(t.Context(), hello()) {
			break
		}
		<-gone
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		gone = make(chan struct{})
		for _, err := range m.Stream(ctx, hello()) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			cancel()
		}
		<-gone
	})
}

func TestKeyPool(t *testing.T) {
	t.Parallel()
	pool := func(c *client.Config) {
		c.Endpoints[0].Keys = []string{"sk-secret-one", "", "sk-secret-two", "sk-secret-three"}
	}
	refuse := func(rec *modeltest.Recorder, by map[string]int) {
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			if code := by[rec.Keys[n-1]]; code != 0 {
				status(code, w)
				return
			}
			io.WriteString(w, modeltest.Fine)
		}
	}
	virtual(t, "the next at once, and remembered", func(t *testing.T) {
		rec := &modeltest.Recorder{}
		refuse(rec, map[string]int{"sk-secret-one": 401, "sk-secret-two": 429})
		m := inMemory(rec.ServeHTTP, pool)
		began := time.Now()
		for range 2 {
			if _, notices, err := modeltest.Ask(t.Context(), m, hello()); err != nil || notices != nil {
				t.Fatalf("notices %q, error %v", notices, err)
			}
		}
		want := []string{"sk-secret-one", "sk-secret-two", "sk-secret-three", "sk-secret-three"}
		if !reflect.DeepEqual(rec.Keys, want) || time.Since(began) > 0 {
			t.Errorf("keys %q after %v", rec.Keys, time.Since(began))
		}
	})
	virtual(t, "all refused", func(t *testing.T) {
		rec := &modeltest.Recorder{}
		refuse(rec, map[string]int{"sk-secret-one": 401, "sk-secret-two": 402, "sk-secret-three": 403})
		_, _, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP, pool), hello())
		modeltest.CheckError(t, err, model.ErrAuth, "403")
		if len(rec.Keys) != 3 {
			t.Errorf("keys %q", rec.Keys)
		}
	})
	virtual(t, "one busy: wait for it", func(t *testing.T) {
		rec := &modeltest.Recorder{}
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			switch {
			case n > 3 && rec.Keys[n-1] == "sk-secret-two":
				io.WriteString(w, modeltest.Fine)
			case rec.Keys[n-1] == "sk-secret-two":
				status(429, w)
			default:
				status(401, w)
			}
		}
		if _, notices, err := modeltest.Ask(t.Context(), inMemory(rec.ServeHTTP, pool), hello()); err != nil || len(notices) != 1 {
			t.Errorf("notices %q, error %v", notices, err)
		}
	})
}

func TestNoKeyMakesNoRequest(t *testing.T) {
	t.Parallel()
	rec := &modeltest.Recorder{}
	for _, provider := range []string{"openai", "openrouter"} {
		m := client.New(client.Config{Transport: memhttp.Transport(rec), Endpoints: []client.Endpoint{{API: openai.API{}, Provider: provider, Model: "m"}}})
		_, _, err := modeltest.Ask(t.Context(), m, hello())
		modeltest.CheckError(t, err, model.ErrNoKey, "")
		if !strings.Contains(err.Error(), "embedded") || !strings.Contains(err.Error(), provider) {
			t.Errorf("%s: %v", provider, err)
		}
	}
	if _, _, err := modeltest.Ask(t.Context(), client.New(client.Config{}), hello()); err == nil || !strings.Contains(err.Error(), "model.api_key") {
		t.Errorf("nothing configured: %v", err)
	}
	if len(rec.Bodies) != 0 {
		t.Error("a request was made")
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, first func(http.ResponseWriter), id string) (one, two *modeltest.Recorder, r *model.Reply, notices []string, err error) {
		one = &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) { first(w) }}
		two = &modeltest.Recorder{}
		m := client.New(client.Config{Endpoints: []client.Endpoint{
			{API: openai.API{}, Provider: "custom", BaseURL: "http://one.test/v1", Model: "a", Keys: []string{"sk-secret-one"}, Transport: memhttp.Transport(one)},
			{API: openai.API{}, Provider: "custom", BaseURL: "http://two.test/v1", Model: "b", Keys: []string{"sk-secret-two"}, Transport: memhttp.Transport(two)},
		}})
		req := hello()
		req.Model = id
		r, notices, err = modeltest.Ask(t.Context(), m, req)
		for _, k := range one.Keys {
			if k != "sk-secret-one" {
				t.Errorf("the first endpoint saw %q", k)
			}
		}
		for _, k := range two.Keys {
			if k != "sk-secret-two" {
				t.Errorf("the second endpoint saw %q", k)
			}
		}
		return one, two, r, notices, err
	}
	for _, code := range []int{401, 402, 404, 500, 529} {
		virtual(t, fmt.Sprint(code), func(t *testing.T) {
			_, _, r, notices, err := run(t, func(w http.ResponseWriter) { status(code, w) }, "")
			if err != nil || r.Model != "b" || len(notices) == 0 || !strings.HasSuffix(notices[len(notices)-1], "; trying custom/b") {
				t.Errorf("model %q, notices %q, error %v", r.Model, notices, err)
			}
		})
	}
	virtual(t, "the request's own fault", func(t *testing.T) {
		for body, kind := range map[string]model.ErrorKind{"prompt is too long": model.ErrOverflow, "bad value": model.ErrRequest} {
			_, two, _, _, err := run(t, func(w http.ResponseWriter) { w.WriteHeader(400); io.WriteString(w, body) }, "")
			modeltest.CheckError(t, err, kind, body)
			if len(two.Bodies) != 0 {
				t.Error("the second endpoint was asked")
			}
		}
	})
	virtual(t, "after something was shown", func(t *testing.T) {
		_, two, _, _, err := run(t, func(w http.ResponseWriter) {
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		}, "")
		modeltest.CheckError(t, err, model.ErrCut, "")
		if len(two.Bodies) != 0 {
			t.Error("the second endpoint was asked")
		}
	})
	virtual(t, "a model asked for by name", func(t *testing.T) {
		one, two, r, _, err := run(t, func(w http.ResponseWriter) { io.WriteString(w, modeltest.Fine) }, "b")
		if err != nil || r.Model != "b" || len(one.Bodies) != 0 || len(two.Bodies) != 1 {
			t.Errorf("model %q, error %v", r.Model, err)
		}
		one, _, r, _, err = run(t, func(w http.ResponseWriter) { io.WriteString(w, modeltest.Fine) }, "c")
		if err != nil || r.Model != "c" || !strings.Contains(string(one.Bodies[0]), `"model":"c"`) {
			t.Errorf("model %q, error %v", r.Model, err)
		}
	})
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
		io.WriteString(w, modeltest.Fine)
	}))
	defer other.Close()
	m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/chat/completions", http.StatusTemporaryRedirect)
	})
	_, _, err := modeltest.Ask(t.Context(), m, hello())
	modeltest.CheckError(t, err, model.ErrRequest, other.URL)
	if leaked != nil {
		t.Errorf("the other host was asked with %q", leaked)
	}
	m = modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
	_, _, err = modeltest.Ask(t.Context(), m, hello())
	modeltest.CheckError(t, err, model.ErrGarbage, "/login by a redirect")
	m = modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/chat/completions" {
			http.Redirect(w, r, "/v2/chat/completions", http.StatusPermanentRedirect)
			return
		}
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), `"hi"`) || r.Header.Get("Authorization") != "Bearer sk-secret-one" {
			t.Errorf("redirected with %q and %q", body, r.Header)
		}
		io.WriteString(w, modeltest.Fine)
	})
	if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil {
		t.Errorf("within the host: %v", err)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	addrs := map[string]bool{}
	m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		addrs[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, modeltest.Fine)
		w.(http.Flusher).Flush()
	})
	for range 5 {
		if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if len(addrs) != 1 {
		t.Errorf("%d connections for 5 requests", len(addrs))
	}
}

func BenchmarkDelta(b *testing.B) {
	const n = 20000
	event := "data: " + `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-5-2025-08-07","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := bufio.NewWriterSize(w, 8<<10)
		for range n {
			out.WriteString(event)
		}
		out.WriteString(modeltest.Fine)
		out.Flush()
	}))
	defer s.Close()
	m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, BaseURL: s.URL, Model: "m"}}})
	defer m.Close()
	b.ReportAllocs()
	for b.Loop() {
		got := 0
		for d, err := range m.Stream(b.Context(), hello()) {
			if err != nil {
				b.Fatal(err)
			}
			got += len(d.Text)
		}
		if got != n*len(" word")+len("ok") {
			b.Fatalf("%d bytes", got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
