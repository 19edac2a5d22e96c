package mcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
)

// certificateFiles writes a client certificate: in a file with its key, in separate files, and with
// a password.
func certificateFiles(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the setting is for keys of this format
	locked, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", der, []byte("pass word"), x509.PEMCipherAES256)
	if err != nil {
		t.Fatal(err)
	}
	certText := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	keyText := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	write(t, filepath.Join(dir, "both.pem"), certText+keyText)
	write(t, filepath.Join(dir, "cert.pem"), certText)
	write(t, filepath.Join(dir, "key.pem"), keyText)
	write(t, filepath.Join(dir, "locked.pem"), string(pem.EncodeToMemory(locked)))
}

// A server is connected only if its certificate is valid by ssl_verify. If it requires a client
// certificate, it gets client_cert.
func TestTLS(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	certificateFiles(t, home)
	serve := func(auth tls.ClientAuthType) string {
		s := testServer(nil)
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
		web := httptest.NewUnstartedServer(handler)
		web.TLS = &tls.Config{ClientAuth: auth}
		web.Config.ErrorLog = quietLog()
		web.StartTLS()
		t.Cleanup(web.Close)
		endSessions(t, s)
		write(t, filepath.Join(home, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
		return web.URL
	}
	plain, strict := serve(tls.NoClientCert), serve(tls.RequireAnyClientCert)
	for _, c := range []struct{ url, settings, problem string }{ // problem: empty, if it is connected
		{plain, ``, "certificate"},
		{plain, `ssl_verify: true`, "certificate"},
		{plain, `ssl_verify: false`, ""},
		{plain, `ssl_verify: "${DIR}/ca.pem"`, ""},
		{plain, `ssl_verify: "${DIR}/key.pem"`, "key.pem has no certificate"},
		{plain, `ssl_verify: "${DIR}/none.pem"`, "ssl_verify: stat"},
		{strict, `ssl_verify: "${DIR}/ca.pem"`, "certificate required"},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: "${DIR}/both.pem"`, ""},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: "${DIR}/cert.pem", client_key: "${DIR}/key.pem"`, ""},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: ["${DIR}/cert.pem", "${DIR}/key.pem"]`, ""},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: ["${DIR}/cert.pem", "${DIR}/locked.pem", "${PASSWORD}"]`, ""},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: ["${DIR}/cert.pem", "${DIR}/locked.pem", wrong]`, "client_cert: x509"},
		{strict, `ssl_verify: "${DIR}/ca.pem", client_cert: "${DIR}/cert.pem"`, "client_cert: tls"},
	} {
		t.Run(c.settings, func(t *testing.T) {
			t.Parallel()
			own := t.TempDir()
			write(t, config.Path(own), fmt.Sprintf("mcp_servers: {s: {url: %q, transport: http, %s}}\n", c.url, c.settings))
			loaded := load(own, config.Options{Environ: []string{"DIR=" + home, "PASSWORD=pass word"}})
			list, problems := Configured(loaded)
			if len(list) != 1 || len(problems)+len(loaded.Problems) > 0 {
				t.Fatalf("%v, %v, %v", list, problems, loaded.Problems)
			}
			b := newBed(t, list...)
			s := b.Status()[0]
			if c.problem == "" && s.State != Connected || c.problem != "" && (s.State != Failed || !strings.Contains(s.Error, c.problem)) {
				t.Errorf("%s: %s", s.State, s.Error)
			}
		})
	}
}

// The TLS settings of a server apply to its login.
func TestTLSOfLogin(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.WriteHeader(http.StatusNotFound)
	}))
	web.Config.ErrorLog = quietLog()
	web.StartTLS()
	t.Cleanup(web.Close)
	store := login.Open(t.TempDir(), "")
	for verify, want := range map[string]string{"": "certificate", "false": "no metadata"} {
		_, err := store.Begin(t.Context(), Server{Name: "s", URL: web.URL + "/mcp", Verify: verify}.LoginTarget())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with ssl_verify %q: %v", verify, err)
		}
	}
	if len(asked) == 0 {
		t.Error("the server was not asked")
	}
}

// A program is stopped after it was idle, or has run for its lifetime. It stays connected for the
// user, and the next call starts it again. It is not stopped during a call.
func TestRests(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Server){
		"idle":     func(s *Server) { s.Idle = 20 * time.Millisecond },
		"lifetime": func(s *Server) { s.Lifetime = 20 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testProgram("p")
			set(&s)
			b := newBed(t, s)
			one := b.all()[0]
			for range 2 {
				b.eventually("its rest", func() bool { return one.now().phase == idle })
				if st := b.Status()[0]; st.State != Connected || len(st.Tools) != 7 {
					t.Errorf("at rest: %+v", st)
				}
				if got := b.call("mcp__p__look", `{}`); got != `{"content":"seen"}` {
					t.Errorf("after a rest: %s", got)
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.notices) > 0 || one.now().exits.tooMany() {
				t.Errorf("the user was told %q", b.notices)
			}
		})
	}
	s := &server{Server: Server{Idle: time.Second, Lifetime: time.Minute}}
	began := time.Now().Add(-time.Hour)
	_, over := s.calls.Follow(nil, nil)
	if due, next := restAt(s, began); due || next > time.Second {
		t.Errorf("during a call: %v, %v", due, next)
	}
	over()
	if due, _ := restAt(s, began); !due {
		t.Error("after its lifetime it is not due")
	}
	s.Lifetime = 0
	if due, next := restAt(s, began); due || next <= 0 || next > time.Second {
		t.Errorf("right after a call: %v, %v", due, next)
	}
}

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }
