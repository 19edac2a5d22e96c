package login

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// basic is the method for clients with their secret in a header.
const basic = "client_secret_basic"

// Ports of the callback of a client-id document.
const firstPort, lastPort = 27890, 27894

// Attempt is a running login. Wait ends it.
type Attempt struct {
	Address string // the user opens it in a browser
	Code    string // the user enters it there; only in the device flow
	Port    int    // of the callback; 0: none listens
	Ends    time.Time

	store    *Store
	target   Target
	resource string
	found    found
	client   Client
	scopes   []string
	state    string
	verifier string
	listener net.Listener
	device   *oauth2.DeviceAuthResponse
	answers  chan url.Values
	once     sync.Once
	done     chan struct{}
}

// Begin starts a login: it finds the authorization server, registers a client if none is
// known, and listens for the callback. Only an act of the user may call it.
func (s *Store) Begin(ctx context.Context, t Target) (*Attempt, error) {
	resource, err := Resource(t.URL)
	if err != nil {
		return nil, err
	}
	u, _ := url.Parse(resource)
	if err := secure(u); err != nil {
		return nil, err
	}
	challenges, err := probe(ctx, t.client(), t.URL)
	if err != nil {
		return nil, err
	}
	a := &Attempt{store: s, target: t, resource: resource, answers: make(chan url.Values, 1), done: make(chan struct{})}
	if a.found, err = t.discover(ctx, challenges); err != nil {
		return nil, err
	}
	limit := 300 * time.Second
	if t.Settings.Timeout > 0 {
		limit = time.Duration(t.Settings.Timeout) * time.Second
	}
	a.Ends = time.Now().Add(limit)
	if err := a.prepare(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *Attempt) prepare(ctx context.Context) error {
	unlock, err := a.store.lock(ctx, a.resource)
	if err != nil {
		return err
	}
	defer unlock()
	e, err := a.store.read(a.resource)
	if err != nil {
		return err
	}
	a.scopes = a.request(e)
	if err := a.identify(ctx, &e); err != nil {
		return err
	}
	if a.target.Settings.Flow == "device" {
		return a.beginDevice(ctx)
	}
	a.state, a.verifier = rand.Text(), oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.verifier), oauth2.SetAuthURLParam("resource", a.found.resource)}
	if slices.Contains(a.scopes, "offline_access") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID providers give no refresh token without it
	}
	a.Address = a.config().AuthCodeURL(a.state, options...)
	if a.listener != nil {
		go a.serve()
	}
	return nil
}

// request returns the scopes to request.
func (a *Attempt) request(e Entry) []string {
	scopes := a.found.scopes
	switch {
	case a.target.Scope != "":
		scopes = strings.Fields(a.target.Scope)
	case a.target.Settings.Scope != "":
		scopes = strings.Fields(a.target.Settings.Scope)
	}
	scopes = slices.Clone(scopes)
	if e.Issuer == a.found.issuer {
		scopes = union(e.Wanted, scopes)
	}
	if slices.Contains(a.found.server.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// identify chooses the client, and opens the callback.
func (a *Attempt) identify(ctx context.Context, e *Entry) error {
	set, server := a.target.Settings, a.found.server
	methods := server.TokenEndpointAuthMethodsSupported
	switch stored, known := e.Registered[a.found.issuer]; {
	case set.ClientID != "":
		a.client = Client{ID: set.ClientID, Secret: set.ClientSecret, Method: method(methods, set.ClientSecret != "")}
		return a.listen(set.RedirectPort, set.RedirectPort)
	case (set.CIMD == nil || *set.CIMD) && set.ClientMetadataURL != "" && server.ClientIDMetadataDocumentSupported:
		a.client = Client{ID: set.ClientMetadataURL, Method: "none"}
		if set.RedirectPort != 0 {
			return a.listen(set.RedirectPort, set.RedirectPort)
		}
		return a.listen(firstPort, lastPort)
	case known && (stored.Expires.IsZero() || time.Now().Before(stored.Expires)) && len(union(stored.Scopes, a.scopes)) == len(stored.Scopes):
		a.client = stored
		u, err := url.Parse(stored.Redirect)
		if err == nil {
			port, _ := strconv.Atoi(u.Port())
			if set.RedirectPort != 0 && set.RedirectPort != port {
				break // the settings have changed
			}
			if err = a.listen(port, port); err == nil && a.client.Redirect == stored.Redirect {
				return nil
			}
		}
		a.Close() // another program uses the port
		a.done, a.once = make(chan struct{}), sync.Once{}
	}
	if server.RegistrationEndpoint == "" {
		return fmt.Errorf("the authorization server %s registers no clients. Set oauth.client_id (and oauth.client_secret), or oauth.client_metadata_url", a.found.issuer)
	}
	if err := a.listen(set.RedirectPort, set.RedirectPort); err != nil {
		return err
	}
	return a.register(ctx, e)
}

// register registers a client and stores it.
func (a *Attempt) register(ctx context.Context, e *Entry) error {
	set, server := a.target.Settings, a.found.server
	name := set.ClientName
	if name == "" {
		name = "Hermes"
	}
	m := &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{a.client.Redirect}, ClientName: name, ApplicationType: "native",
		TokenEndpointAuthMethod: method(server.TokenEndpointAuthMethodsSupported, false),
		GrantTypes:              []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Scope: strings.Join(a.scopes, " "),
	}
	if a.found.device != "" {
		m.GrantTypes = append(m.GrantTypes, "urn:ietf:params:oauth:grant-type:device_code")
	}
	got, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, m, a.target.client())
	if err != nil {
		return fmt.Errorf("registering a client: %w", err)
	}
	redirect := a.client.Redirect
	a.client = Client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, Redirect: redirect, Dynamic: true, Scopes: a.scopes, Expires: got.ClientSecretExpiresAt}
	if a.client.Method == "" {
		a.client.Method = m.TokenEndpointAuthMethod
	}
	if a.client.Expires.Unix() <= 0 {
		a.client.Expires = time.Time{}
	}
	if e.Registered == nil {
		e.Registered = map[string]Client{}
	}
	e.Registered[a.found.issuer] = a.client
	return a.store.write(a.resource, *e)
}

// method returns the authentication method for the token endpoint.
func method(supported []string, secret bool) string {
	order := []string{"none", "client_secret_post", basic}
	if secret {
		order = []string{"client_secret_post", basic}
	}
	for _, m := range order {
		if slices.Contains(supported, m) {
			return m
		}
	}
	if secret {
		return basic // the default of RFC 8414
	}
	return "none"
}

func (a *Attempt) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: a.client.ID, RedirectURL: a.client.Redirect, Scopes: a.scopes,
		Endpoint: oauth2.Endpoint{
			AuthURL: a.found.server.AuthorizationEndpoint, TokenURL: a.found.server.TokenEndpoint, DeviceAuthURL: a.found.device,
		},
	}
}

// Wait returns when the user has logged in and the tokens are stored, or when the login has
// failed.
func (a *Attempt) Wait(ctx context.Context) error {
	defer a.Close()
	ctx, cancel := context.WithDeadlineCause(ctx, a.Ends, errors.New("the login took too long"))
	defer cancel()
	form := url.Values{"resource": {a.found.resource}}
	if a.device != nil {
		return a.pollDevice(ctx, form)
	}
	var answer url.Values
	select {
	case answer = <-a.answers:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-a.done:
		return errors.New("the login was given up")
	}
	code, err := a.check(answer)
	if err != nil {
		return err
	}
	form.Set("grant_type", "authorization_code")
	form.Set("code", code)
	form.Set("redirect_uri", a.client.Redirect)
	form.Set("code_verifier", a.verifier)
	return a.finish(ctx, form)
}

// check returns the code of the browser's answer. Its state was compared before.
func (a *Attempt) check(answer url.Values) (code string, err error) {
	iss, server := answer.Get("iss"), a.found.server
	if iss != "" && iss != server.Issuer || iss == "" && server.AuthorizationResponseIssParameterSupported {
		return "", fmt.Errorf("the answer is from %q, and not from the authorization server %s", oneLine(iss), server.Issuer)
	}
	if name := answer.Get("error"); name != "" {
		return "", &refusal{name, answer.Get("error_description")}
	}
	if code = answer.Get("code"); code == "" {
		return "", errors.New("the answer has no code")
	}
	return code, nil
}

// finish requests the tokens and stores them.
func (a *Attempt) finish(ctx context.Context, form url.Values) error {
	tokens, scopes, err := a.target.tokens(ctx, a.found.server.TokenEndpoint, a.client, form)
	if err != nil {
		return err
	}
	if scopes == nil {
		scopes = a.scopes
	}
	unlock, err := a.store.lock(ctx, a.resource)
	if err != nil {
		return err
	}
	defer unlock()
	e, err := a.store.read(a.resource)
	if err != nil {
		return err
	}
	e.Resource, e.Issuer, e.Scopes, e.Wanted = a.found.resource, a.found.issuer, scopes, nil
	e.TokenURL, e.RevokeURL = a.found.server.TokenEndpoint, a.found.server.RevocationEndpoint
	e.Client, e.Tokens = a.client, tokens
	return a.store.write(a.resource, e)
}

// Paste takes the address at which the browser ended.
func (a *Attempt) Paste(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return errors.New("that is no address")
	}
	if a.device != nil || a.state == "" || u.Query().Get("state") != a.state {
		return errors.New("that address does not belong to this login. Paste the whole address at which the browser ended")
	}
	a.deliver(u.Query())
	return nil
}

// deliver passes the first answer on.
func (a *Attempt) deliver(answer url.Values) {
	select {
	case a.answers <- answer:
	default: // there is an answer already
	}
}

// Close ends the login.
func (a *Attempt) Close() {
	a.once.Do(func() {
		close(a.done)
		if a.listener != nil {
			a.listener.Close()
		}
	})
}
