package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority is a server with its authorization server. It rotates refresh tokens. If a token is
// used twice, it rejects all tokens of the grant.
type authority struct {
	*httptest.Server
	mu         sync.Mutex
	codes      map[string]url.Values // authorization requests by code
	access     string
	refresh    string
	serial     int
	life       int
	refreshes  int
	registered int
	revoked    []string
	forms      []url.Values
}

func newAuthority(t *testing.T) *authority {
	a := &authority{codes: map[string]url.Values{}, life: 3600}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.access != "" && r.Header.Get("Authorization") == "Bearer "+a.access {
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/auth", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/reg",
			"revocation_endpoint": a.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"scopes_supported": []string{"read", "offline_access"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/reg", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		a.mu.Lock()
		a.registered++
		a.mu.Unlock()
		m["client_id"] = "client"
		reply(w, 201, m)
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.mu.Lock()
		a.codes["code"] = q
		a.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/revoke", func(_ http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.revoked = append(a.revoked, r.FormValue("token"))
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.forms = append(a.forms, r.Form)
		if r.FormValue("grant_type") == "refresh_token" {
			a.refreshes++
			if r.FormValue("refresh_token") != a.refresh || a.refresh == "" {
				a.access, a.refresh = "", ""
				reply(w, 400, map[string]string{"error": "invalid_grant"})
				return
			}
		}
		a.serial++
		a.access, a.refresh = fmt.Sprintf("access-%d", a.serial), fmt.Sprintf("refresh-%d", a.serial)
		got := map[string]any{"access_token": a.access, "refresh_token": a.refresh, "token_type": "Bearer", "expires_in": a.life}
		if a.life == 0 {
			delete(got, "expires_in")
		}
		reply(w, 200, got)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *authority) target() Target { return Target{Name: "test", URL: a.URL + "/mcp"} }

// login logs in as a user whose browser follows redirects.
func (a *authority) login(t *testing.T, s *Store) {
	t.Helper()
	attempt, err := s.Begin(t.Context(), a.target())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(attempt.Address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the callback answers %s", resp.Status)
	}
	if err := attempt.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	a, home := newAuthority(t), t.TempDir()
	s := Open(home, File)
	if _, err := s.Token(t.Context(), a.target(), ""); !errors.Is(err, ErrNeeded) {
		t.Fatalf("without a login: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, Dir)); !os.IsNotExist(err) {
		t.Errorf("looking for a token made %s: %v", Dir, err)
	}
	a.login(t, s)
	a.login(t, s) // with the same client
	if a.registered != 1 {
		t.Errorf("%d clients were registered", a.registered)
	}
	asked := a.codes["code"]
	if asked.Get("resource") != a.URL+"/mcp" || asked.Get("scope") != "read offline_access" || asked.Get("code_challenge_method") != "S256" {
		t.Errorf("the authorization request is %v", asked)
	}
	if token, err := s.Token(t.Context(), a.target(), ""); err != nil || token != "access-2" {
		t.Errorf("token %q, %v", token, err)
	}
	files, _ := filepath.Glob(filepath.Join(home, Dir, "*.json"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	for path, want := range map[string]os.FileMode{files[0]: 0o600, filepath.Dir(files[0]): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if was, err := s.Logout(t.Context(), a.target()); err != nil || !was || len(a.revoked) != 2 {
		t.Errorf("logout: %v, %v, revoked %v", was, err, a.revoked)
	}
	if e, _ := s.Entry(a.URL + "/mcp"); e.Tokens != (Tokens{}) || len(e.Registered) != 1 {
		t.Errorf("after the logout: %+v", e)
	}
}

// TestCallback checks that only the right path and state reach a login. An address can also be
// pasted.
func TestCallback(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	attempt, err := Open(t.TempDir(), File).Begin(t.Context(), a.target())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(attempt.Address)
	back, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
	for _, address := range []string{back + "?code=x&state=wrong", back + "?code=x", strings.TrimSuffix(back, callbackPath) + "/?code=x&state=" + state} {
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %s", address, resp.Status)
		}
	}
	if err := attempt.Paste(back + "?code=x&state=wrong"); err == nil {
		t.Error("an address with another state was taken")
	}
	if err := attempt.Paste(back + "?code=code&state=" + state); err != nil {
		t.Error(err)
	}
	if err := attempt.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(back); err == nil {
		t.Error("the callback listens after the login")
	}
}

// TestOneRefresh checks that many stores, as in many processes, refresh a rotating token once.
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	a, home := newAuthority(t), t.TempDir()
	a.login(t, Open(home, File))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if token, err := Open(home, File).Token(t.Context(), a.target(), "access-1"); err != nil || token != "access-2" {
				t.Errorf("token %q, %v", token, err)
			}
		})
	}
	all.Wait()
	if a.refreshes != 1 || a.forms[len(a.forms)-1].Get("resource") != a.URL+"/mcp" {
		t.Errorf("%d refreshes, the last one with %v", a.refreshes, a.forms[len(a.forms)-1])
	}
}

// A token is used until shortly before its end, or without expires_in until the server rejects it. Then it is
// refreshed.
func TestLifeOfTokens(t *testing.T) {
	t.Parallel()
	for _, life := range []int{3600, 0, -1} { // 0: no expires_in
		a, s := newAuthority(t), Open(t.TempDir(), File)
		a.life = life
		a.login(t, s)
		if token, err := s.Token(t.Context(), a.target(), ""); err != nil || token != "access-1" {
			t.Errorf("expires_in %d: token %q, %v", life, token, err)
		}
		if token, err := s.Token(t.Context(), a.target(), "access-1"); err != nil || token != "access-2" {
			t.Errorf("expires_in %d, rejected: token %q, %v", life, token, err)
		}
	}
	now := time.Now()
	for _, c := range []struct {
		life, age time.Duration
		fresh     bool
	}{
		{time.Hour, 59 * time.Minute, true},
		{time.Hour, 59*time.Minute + 31*time.Second, false},
		{8 * time.Second, 5 * time.Second, true}, // of a short life, the last quarter
		{8 * time.Second, 7 * time.Second, false},
		{8 * time.Second, 9 * time.Second, false},
	} {
		if got := (Tokens{Access: "a", Since: now.Add(-c.age), Expires: now.Add(c.life - c.age)}).fresh(now); got != c.fresh {
			t.Errorf("a token of %v after %v: fresh %v", c.life, c.age, got)
		}
	}
}

// If the challenge's address has no metadata, the well-known addresses are used.
func TestMetadataElsewhere(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	m, err := a.target().protected(t.Context(), http.DefaultClient, a.URL+"/nowhere")
	if err != nil || m.Resource != a.URL+"/mcp" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRefusedRefresh checks that a rejected grant deletes the tokens and keeps the client. Other
// failures keep both.
func TestRefusedRefresh(t *testing.T) {
	t.Parallel()
	a, s := newAuthority(t), Open(t.TempDir(), File)
	a.login(t, s)
	broken := a.target()
	broken.Transport = failing{}
	if _, err := s.Token(t.Context(), broken, "access-1"); err == nil || errors.Is(err, ErrNeeded) {
		t.Errorf("without a network: %v", err)
	}
	if token, err := s.Token(t.Context(), a.target(), ""); err != nil || token != "access-1" {
		t.Errorf("token %q, %v", token, err)
	}
	a.mu.Lock()
	a.refresh = "another"
	a.mu.Unlock()
	if _, err := s.Token(t.Context(), a.target(), "access-1"); !errors.Is(err, ErrNeeded) {
		t.Errorf("after the grant was revoked: %v", err)
	}
	if e, _ := s.Entry(a.URL + "/mcp"); e.Tokens != (Tokens{}) || len(e.Registered) != 1 {
		t.Errorf("stored: %+v", e)
	}
}

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }

func TestTimeout(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	attempt, err := Open(t.TempDir(), File).Begin(t.Context(), a.target())
	if err != nil {
		t.Fatal(err)
	}
	attempt.Ends = time.Now()
	if err := attempt.Wait(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("the error is %v", err)
	}
}

func TestResource(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"HTTPS://Example.com:443/Mcp#x": "https://example.com/Mcp", "http://u:p@localhost:80/": "http://localhost", "https://a.b/c?d=e": "https://a.b/c?d=e",
	} {
		if got, err := Resource(given); err != nil || got != want {
			t.Errorf("%s: %q, %v", given, got, err)
		}
	}
	if _, err := Resource("ftp://x"); err == nil {
		t.Error("ftp was taken")
	}
}
