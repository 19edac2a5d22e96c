package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// found holds the metadata of a server and of its authorization server.
type found struct {
	resource string // the resource indicator
	scopes   []string
	issuer   string
	server   *oauthex.AuthServerMeta
	device   string // device authorization endpoint
}

// hellos are the first requests of clients of each revision: discover, initialize, and the event
// stream of a server with events only.
var hellos = []struct{ version, method, body string }{
	{"2026-07-28", "server/discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"hermes-ls","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`},
	{"", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hermes-ls","version":"0"}}}`},
	{},
}

// probe sends requests without a token until the server rejects a request, and returns the
// challenges of the response.
func probe(ctx context.Context, c *http.Client, address string) ([]oauthex.Challenge, error) {
	for _, hello := range hellos {
		method := http.MethodPost
		if hello.body == "" {
			method = http.MethodGet
		}
		req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(hello.body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		if hello.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if hello.version != "" {
			req.Header.Set("MCP-Protocol-Version", hello.version)
			req.Header.Set("Mcp-Method", hello.method)
		}
		resp, err := c.Do(req)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized {
			return oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
		}
	}
	return nil, nil
}

// bearer returns a parameter of the first Bearer challenge with a value for it.
func bearer(all []oauthex.Challenge, name string) string {
	for _, c := range all {
		if c.Scheme == "bearer" && c.Params[name] != "" {
			return c.Params[name]
		}
	}
	return ""
}

// discover finds the authorization server of a target. If issuer is not empty, it is used in place
// of the server's.
func (t Target) discover(ctx context.Context, challenges []oauthex.Challenge) (found, error) {
	c := t.client()
	resource, err := t.protected(ctx, c, bearer(challenges, "resource_metadata"))
	if err != nil {
		return found{}, err
	}
	f := found{resource: resource.Resource, scopes: resource.ScopesSupported}
	if scope := bearer(challenges, "scope"); scope != "" {
		f.scopes = strings.Fields(scope)
	}
	if f.issuer = t.Settings.Issuer; f.issuer == "" {
		if len(resource.AuthorizationServers) == 0 {
			return found{}, errors.New("its metadata names no authorization server. Set oauth.issuer")
		}
		f.issuer = resource.AuthorizationServers[0]
	}
	return f, f.authorization(ctx, c)
}

// protected returns the metadata of the protected resource, from the challenge, else from the path,
// else from the root.
func (t Target) protected(ctx context.Context, c *http.Client, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	const known = "/.well-known/oauth-protected-resource"
	places := []string{root.JoinPath(known, u.Path).String(), root.JoinPath(known).String()}
	if named != "" {
		places = append([]string{named}, places...)
	}
	for _, place := range slices.Compact(places) {
		m, err := getResource(ctx, c, place)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if !covers(m.Resource, u) {
			return nil, fmt.Errorf("its metadata are for another resource, %s", m.Resource)
		}
		return m, nil
	}
	return nil, errors.New("it has no metadata for a login. Set its token in headers.Authorization")
}

// getResource fetches metadata. If there are none at the address, it returns nil.
func getResource(ctx context.Context, c *http.Client, address string) (*oauthex.ProtectedResourceMetadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	var m oauthex.ProtectedResourceMetadata
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	for _, issuer := range m.AuthorizationServers {
		u, err := url.Parse(issuer)
		if err != nil {
			return nil, err
		}
		if err := secure(u); err != nil {
			return nil, err
		}
	}
	return &m, nil
}

// covers reports whether metadata for resource apply to a server: the origin is the same, and
// the path is the same or above it.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.RawQuery != "" && r.RawQuery != server.RawQuery || r.Fragment != "" {
		return false
	}
	if !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) {
		return false
	}
	above := strings.TrimSuffix(r.Path, "/")
	return above == strings.TrimSuffix(server.Path, "/") || strings.HasPrefix(server.Path, above+"/")
}

// authorization fetches the metadata of the authorization server.
func (f *found) authorization(ctx context.Context, c *http.Client) error {
	last := &recorder{base: c.Transport}
	recording := *c
	recording.Transport = last
	m, err := auth.GetAuthServerMetadata(ctx, f.issuer, &recording)
	switch {
	case err != nil:
		return fmt.Errorf("the metadata of the authorization server: %w", err)
	case m == nil:
		return fmt.Errorf("the authorization server %s has no metadata", f.issuer)
	case m.Issuer != f.issuer:
		return fmt.Errorf("the authorization server says that it is %s, and not %s", m.Issuer, f.issuer)
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return fmt.Errorf("the authorization server %s does not offer S256", f.issuer)
	}
	var more struct {
		Device string `json:"device_authorization_endpoint"`
	}
	if json.Unmarshal(last.body, &more) == nil {
		f.device = more.Device
	}
	f.server = m
	return nil
}

// recorder keeps the last successful body, because the SDK does not decode all of it.
type recorder struct {
	base http.RoundTripper
	body []byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(r.body))
	return resp, nil
}
