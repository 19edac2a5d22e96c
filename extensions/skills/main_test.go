package skills

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

// web is a TLS server trusted by this process.
var web server

type server struct {
	*httptest.Server
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
}

// set answers the addresses below a prefix.
func (s *server) set(prefix string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[prefix] = func(w http.ResponseWriter, r *http.Request) { http.StripPrefix(prefix, h).ServeHTTP(w, r) }
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	prefix := "/" + strings.SplitN(r.URL.Path, "/", 3)[1]
	h := s.handlers[prefix]
	s.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func TestMain(m *testing.M) {
	modes.Enter() // git runs under this binary
	os.Exit(run(m))
}

func run(m *testing.M) int {
	web.handlers = map[string]http.HandlerFunc{}
	web.Server = httptest.NewTLSServer(&web)
	defer web.Close()
	transport = web.Client().Transport
	authority, err := os.CreateTemp("", "authority")
	if err != nil {
		panic(err)
	}
	defer os.Remove(authority.Name())
	if err := errors.Join(pem.Encode(authority, &pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), authority.Close()); err != nil {
		panic(err)
	}
	_ = os.Setenv("GIT_SSL_CAINFO", authority.Name())
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		_ = os.Setenv(name, "x@x")
	}
	return m.Run()
}
