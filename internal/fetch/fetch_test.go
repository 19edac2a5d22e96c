package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web is an internet in memory: its hosts are names of handlers, anything else is
// judged as a real connection would be. Such a host is an address: Go's resolver belongs to the
// first bubble of virtual time that uses it, and ends the process in any other.
type web struct {
	hosts map[string]http.Handler
	conns chan net.Conn
	dials atomic.Int32
}

// newWeb serves hosts until the test ends.
func newWeb(t *testing.T, hosts map[string]http.HandlerFunc) *web {
	t.Helper()
	w := &web{hosts: map[string]http.Handler{}, conns: make(chan net.Conn)}
	for name, h := range hosts {
		w.hosts[name] = h
	}
	var done sync.WaitGroup
	s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		done.Add(1)
		defer done.Done()
		w.hosts[r.Host].ServeHTTP(rw, r)
	})}
	l := &listener{conns: w.conns, closed: make(chan struct{})}
	done.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		done.Wait()
	})
	return w
}

type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

func (w *web) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	w.dials.Add(1)
	if w.hosts[host] == nil {
		return (&net.Dialer{Control: control}).DialContext(ctx, network, address)
	}
	ours, theirs := net.Pipe()
	select {
	case w.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *web) client(t *testing.T) *Client {
	t.Helper()
	c := New(Options{dial: w.dial})
	t.Cleanup(c.Rest)
	return c
}

// inTime runs a test in virtual time.
func inTime(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func page(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	zipped := func(size int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		chunk := make([]byte, 1<<20)
		for ; size > 0; size -= len(chunk) {
			_, _ = z.Write(chunk)
		}
		_ = z.Close()
		return b.Bytes()
	}
	to := func(location string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}
	}
	private := "not on the public internet"
	for _, tc := range []struct {
		name, address, want, err string
		handler                  http.HandlerFunc
	}{
		{name: "page", handler: page("text/html; charset=utf-8", "<p>hi"), want: "<p>hi"},
		{name: "redirect", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				to("/there#x")(w, r)
				return
			}
			page("text/plain", "there")(w, r)
		}, want: "there"},
		{name: "redirect to another host", handler: to("http://other.example/"), want: "other"},
		{name: "redirect for ever", handler: to("/"), err: "more than 5 times"},
		{name: "redirect to loopback", handler: to("http://127.0.0.1:9/"), err: private},
		{name: "redirect to a cloud's keys", handler: to("http://169.254.169.254/latest/meta-data/"), err: private},
		{name: "redirect to mapped loopback", handler: to("http://[::ffff:127.0.0.1]/"), err: private},
		{name: "redirect to an odd number", handler: to("http://2130706433/"), err: "odd way"},
		{name: "redirect to a file", handler: to("file:///etc/passwd"), err: "only http"},
		{name: "redirect with a password", handler: to("http://a:b@other.example/"), err: "password"},
		{name: "file", address: "file:///etc/passwd", err: "only http"},
		{name: "no address", address: "http://[::1", err: "no valid address"},
		{name: "not found", handler: func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, err: "404 Not Found"},
		{name: "busy", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		}, err: "after 120"},
		{name: "packed", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(0))
		}, want: ""},
		{name: "bomb", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(20 << 20))
		}, err: "too large"},
		{name: "endless", handler: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, err: "too large"},
		{name: "said to be large", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10000000000")
			_, _ = w.Write([]byte("x"))
		}, err: "too large: 9.3 GiB"},
		{name: "a byte a second", handler: func(w http.ResponseWriter, r *http.Request) {
			for range 1000 {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, err: "not all there after 30s"},
		{name: "silence", handler: func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
			}
		}, err: "could not be read"},
		{name: "header for ever", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, err: "could not be read"},
	} {
		inTime(t, tc.name, func(t *testing.T) {
			hosts := map[string]http.HandlerFunc{"other.example": page("text/plain", "other")}
			if tc.handler != nil {
				hosts["site.example"] = func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						http.NotFound(w, r)
						return
					}
					tc.handler(w, r)
				}
			}
			if tc.address == "" {
				tc.address = "http://site.example/"
			}
			body, err := newWeb(t, hosts).client(t).Get(t.Context(), tc.address)
			switch {
			case tc.err != "":
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
			case err != nil:
				t.Error(err)
			case string(body.Data) != tc.want:
				t.Errorf("got %q, want %q", body.Data, tc.want)
			}
		})
	}
}

// TestRealDial uses the real dialer and a real server: loopback is refused, and the
// server sees nothing, unless it is allowed.
func TestRealDial(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		page("text/plain", "inside")(w, r)
	}))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	refusing := New(Options{})
	defer refusing.Rest()
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]"} {
		address := fmt.Sprintf("http://%s:%s/", host, port)
		if _, err := refusing.Get(t.Context(), address); err == nil || !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	allowing := New(Options{AllowPrivate: true})
	defer allowing.Rest()
	body, err := allowing.Get(t.Context(), s.URL)
	if err != nil || string(body.Data) != "inside" || body.Type != "text/plain" {
		t.Errorf("allowed: %+v, %v", body, err)
	}
}

// TestNoProxy: a proxy of the environment would resolve names itself.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	if New(Options{}).http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the guarded client uses a proxy")
	}
	if New(Options{AllowPrivate: true}).http.Transport.(*http.Transport).Proxy == nil {
		t.Error("the client that may reach anything knows no proxy")
	}
}

func TestRobots(t *testing.T) {
	t.Parallel()
	site := func(robots string, asked *[]string) map[string]http.HandlerFunc {
		var mu sync.Mutex
		return map[string]http.HandlerFunc{"site.example": func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			*asked = append(*asked, r.URL.RequestURI())
			mu.Unlock()
			if r.URL.Path == "/robots.txt" {
				_, _ = w.Write([]byte(robots))
				return
			}
			page("text/plain", "text")(w, r)
		}}
	}
	for _, tc := range []struct {
		name, robots, path string
		allowed            bool
	}{
		{"empty", "", "/a", true},
		{"all", "User-agent: *\nDisallow: /\n", "/a", false},
		{"other path", "User-agent: *\nDisallow: /b\n", "/a", true},
		{"path", "User-agent: *\nDisallow: /a\n", "/a/x", false},
		{"query", "User-agent: *\nDisallow: /*?q=\n", "/a?q=1", false},
		{"us", "User-agent: *\nDisallow:\n\nUser-agent: hermes-ls\nDisallow: /\n", "/a", false},
		{"us allowed", "User-agent: *\nDisallow: /\n\nUser-agent: hermes-ls\nAllow: /\n", "/a", true},
		{"too many wildcards", "User-agent: *\nDisallow: /x" + strings.Repeat("*a", 2000) + "\n", "/x" + strings.Repeat("a", 100), false},
		{"too many wildcards of another path", "User-agent: *\nDisallow: /x" + strings.Repeat("*a", 2000) + "\n", "/y", true},
		{"too many wildcards in an exception", "User-agent: *\nDisallow: /\nAllow: /x" + strings.Repeat("*", 2000) + "\n", "/x", false},
		{"a rule after many", "User-agent: *\n" + strings.Repeat("Disallow: /b*b*b*b*c\n", 5000) + "Disallow: /a\n", "/a", false},
		{"no rules", "<html>not found</html>", "/a", true},
	} {
		inTime(t, tc.name, func(t *testing.T) {
			var asked []string
			_, err := newWeb(t, site(tc.robots, &asked)).client(t).Get(t.Context(), "http://site.example"+tc.path)
			if tc.allowed && err != nil || !tc.allowed && (err == nil || !strings.Contains(err.Error(), "robots.txt")) {
				t.Errorf("error %v", err)
			}
			if got := len(asked) == 2; got != tc.allowed {
				t.Errorf("asked for %v", asked)
			}
		})
	}
	inTime(t, "once", func(t *testing.T) {
		var asked []string
		c := newWeb(t, site("User-agent: *\nCrawl-delay: 2\n", &asked)).client(t)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if _, err := c.Get(t.Context(), fmt.Sprintf("http://site.example/%d", i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(asked) != 5 || asked[0] != "/robots.txt" {
			t.Errorf("asked for %v", asked)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("four pages with a Crawl-delay of 2 s took %v", took)
		}
	})
}

func TestBoundedRules(t *testing.T) {
	t.Parallel()
	kept := string(boundedRules([]byte("User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("*ab", 1000)+"\n", 120))))
	wildcards, longest := 0, 0
	for line := range strings.Lines(kept) {
		if strings.Contains(line, "/") {
			wildcards += len(line)
			longest = max(longest, strings.Count(line, "*"))
		}
	}
	if wildcards == 0 || wildcards > wildcardBytes || longest > mostWildcards {
		t.Errorf("%d bytes of rules with up to %d wildcards", wildcards, longest)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	inTime(t, "gap", func(t *testing.T) {
		p := pace{gap: politeGap}
		began := time.Now()
		for _, host := range []string{"a", "b", "a", "b", "a"} {
			leave, err := p.enter(t.Context(), host, 0)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		if took := time.Since(began); took != 2*politeGap {
			t.Errorf("took %v", took)
		}
	})
	inTime(t, "cancelled", func(t *testing.T) {
		p := pace{gap: politeGap}
		leave, err := p.enter(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.enter(ctx, "a", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		leave()
		if leave, err = p.enter(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
		leave()
	})
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	inTime(t, "while it waits", func(t *testing.T) {
		w := newWeb(t, map[string]http.HandlerFunc{"site.example": func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				<-r.Context().Done()
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := w.client(t).Get(ctx, "http://site.example/"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}
