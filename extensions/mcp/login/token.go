package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// early is how long before its end a token is refreshed. A token with a short life is
// refreshed in its last quarter.
const early = 30 * time.Second

func (t Tokens) fresh(now time.Time) bool {
	if t.Access == "" {
		return false
	}
	if t.Expires.IsZero() {
		return true
	}
	return now.Before(t.Expires.Add(-min(early, t.Expires.Sub(t.Since)/4)))
}

// Token returns the access token for a server. rejected is a token already rejected by the server;
// empty: none. If the user must log in, the error is ErrNeeded.
func (s *Store) Token(ctx context.Context, t Target, rejected string) (string, error) {
	resource, err := Resource(t.URL)
	if err != nil {
		return "", err
	}
	usable := func(e Entry) bool { return e.Tokens.fresh(time.Now()) && e.Tokens.Access != rejected }
	e, err := s.read(resource)
	if err != nil {
		return "", err
	}
	if usable(e) {
		return e.Tokens.Access, nil
	}
	if e.Tokens.Refresh == "" {
		return without(e, rejected)
	}
	unlock, err := s.lock(ctx, resource)
	if err != nil {
		return "", err
	}
	defer unlock()
	if e, err = s.read(resource); err != nil {
		return "", err
	}
	if usable(e) { // another process has refreshed it, or the user has logged in
		return e.Tokens.Access, nil
	}
	if e.Tokens.Refresh == "" {
		return without(e, rejected)
	}
	if rejected != "" && t.moved(ctx, e) {
		return "", ErrNeeded
	}
	// If a refresh were canceled halfway, a rotated token could be lost.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	fresh, scopes, err := t.refresh(ctx, e)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.Code == "invalid_grant":
		e.Tokens, e.Scopes = Tokens{}, nil
		if err := s.write(resource, e); err != nil {
			return "", err
		}
		return "", ErrNeeded
	case err != nil:
		if token, left := without(e, rejected); left == nil {
			return token, nil // it is still valid for a while
		}
		return "", fmt.Errorf("refreshing its token: %w", err)
	}
	if fresh.Refresh == "" {
		fresh.Refresh = e.Tokens.Refresh
	}
	e.Tokens = fresh
	if scopes != nil {
		e.Scopes = scopes
	}
	if err := s.write(resource, e); err != nil {
		return "", err
	}
	return fresh.Access, nil
}

// without returns the token of an entry without a refresh.
func without(e Entry, rejected string) (string, error) {
	over := !e.Tokens.Expires.IsZero() && time.Now().After(e.Tokens.Expires)
	if e.Tokens.Access == "" || e.Tokens.Access == rejected || over {
		return "", ErrNeeded
	}
	return e.Tokens.Access, nil
}

// moved reports whether the server's authorization servers no longer include the tokens' issuer.
func (t Target) moved(ctx context.Context, e Entry) bool {
	if t.Settings.Issuer != "" {
		return t.Settings.Issuer != e.Issuer
	}
	c := t.client()
	challenges, err := probe(ctx, c, t.URL)
	if err != nil {
		return false
	}
	m, err := t.protected(ctx, c, bearer(challenges, "resource_metadata"))
	return err == nil && !slices.Contains(m.AuthorizationServers, e.Issuer)
}

// refresh requests new tokens. The SDK and x/oauth2 cannot send resource with this request.
func (t Target) refresh(ctx context.Context, e Entry) (Tokens, []string, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {e.Tokens.Refresh}, "resource": {e.Resource}}
	return t.tokens(ctx, e.TokenURL, e.Client, form)
}

// refusal is an error of an authorization server.
type refusal struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

func (r *refusal) Error() string {
	if r.Text == "" {
		return oneLine(r.Code)
	}
	return oneLine(r.Code + ": " + r.Text)
}

// oneLine makes text of a server safe for a message.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// tokens sends a request to the token endpoint.
func (t Target) tokens(ctx context.Context, address string, as Client, form url.Values) (Tokens, []string, error) {
	began := time.Now()
	resp, err := t.post(ctx, address, as, form)
	if err != nil {
		return Tokens{}, nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		refusal
		Access  string      `json:"access_token"`
		Refresh string      `json:"refresh_token"`
		Type    string      `json:"token_type"`
		Life    json.Number `json:"expires_in"`
		Scope   *string     `json:"scope"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	switch {
	case answer.Code != "":
		return Tokens{}, nil, &answer.refusal
	case resp.StatusCode != http.StatusOK:
		return Tokens{}, nil, fmt.Errorf("the authorization server answers %s", resp.Status)
	case err != nil:
		return Tokens{}, nil, fmt.Errorf("the authorization server's answer: %w", err)
	case answer.Access == "" || answer.Type != "" && !strings.EqualFold(answer.Type, "bearer"):
		return Tokens{}, nil, errors.New("the authorization server gave no bearer token")
	}
	got := Tokens{Access: answer.Access, Refresh: answer.Refresh, Since: began}
	if life, err := answer.Life.Float64(); err == nil && life > 0 {
		got.Expires = began.Add(time.Duration(life * float64(time.Second)))
	}
	var scopes []string
	if answer.Scope != nil {
		scopes = strings.Fields(*answer.Scope)
	}
	return got, scopes, nil
}

// post sends a form with the client's identity.
func (t Target) post(ctx context.Context, address string, as Client, form url.Values) (*http.Response, error) {
	if as.Method != basic {
		form.Set("client_id", as.ID)
		if as.Secret != "" {
			form.Set("client_secret", as.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if as.Method == basic {
		req.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret))
	}
	return t.client().Do(req)
}

// Want stores the missing scopes of a call. The next login requests them in addition to the earlier
// scopes. If the challenge is not about scopes, Want returns false.
func (s *Store) Want(ctx context.Context, t Target, header http.Header) (bool, error) {
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil || bearer(challenges, "error") != "insufficient_scope" {
		return false, nil
	}
	resource, err := Resource(t.URL)
	if err != nil {
		return false, err
	}
	unlock, err := s.lock(ctx, resource)
	if err != nil {
		return false, err
	}
	defer unlock()
	e, err := s.read(resource)
	if err != nil {
		return false, err
	}
	e.Wanted = union(e.Scopes, strings.Fields(bearer(challenges, "scope")))
	return true, s.write(resource, e)
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// Logout deletes the tokens of a server. If its authorization server supports it, Logout also
// revokes them. The registration stays. If there are no tokens, it returns false.
func (s *Store) Logout(ctx context.Context, t Target) (bool, error) {
	resource, err := Resource(t.URL)
	if err != nil {
		return false, err
	}
	unlock, err := s.lock(ctx, resource)
	if err != nil {
		return false, err
	}
	defer unlock()
	e, err := s.read(resource)
	if err != nil {
		return false, err
	}
	was := e.Tokens
	if was == (Tokens{}) {
		return false, nil
	}
	e.Tokens, e.Scopes, e.Wanted = Tokens{}, nil, nil
	if err := s.write(resource, e); err != nil {
		return false, err
	}
	return true, t.revoke(ctx, e, was)
}

func (t Target) revoke(ctx context.Context, e Entry, was Tokens) error {
	if e.RevokeURL == "" {
		return nil
	}
	for kind, token := range map[string]string{"refresh_token": was.Refresh, "access_token": was.Access} {
		if token == "" {
			continue
		}
		resp, err := t.post(ctx, e.RevokeURL, e.Client, url.Values{"token": {token}, "token_type_hint": {kind}})
		if err != nil {
			return fmt.Errorf("the tokens are deleted, but not revoked: %w", err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK && kind == "refresh_token" {
			return fmt.Errorf("the tokens are deleted, but not revoked: the authorization server answers %s", resp.Status)
		}
	}
	return nil
}
