// Package login logs the user in at MCP servers with OAuth 2.1, and keeps the tokens.
//
// [Store] is the directory mcp-auth of $HERMES_HOME. It contains a file for each resource, which is
// the URL of a server. A token belongs to a single resource and issuer.
//
//	store := login.Open(home, login.File)
//	token, err := store.Token(ctx, login.Target{URL: url}, "") // errors.Is(err, login.ErrNeeded)
//
// [Store.Begin] starts a login. Only an act of the user may call it. All other methods open no
// browser and register no client.
//
// Only one process at a time refreshes a token. Under the lock, it reads the file again and uses a
// token fetched by another process.
//
// All methods are safe for concurrent use by several processes.
package login

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Settings is the part oauth of a server's settings.
type Settings struct {
	ClientID          string `json:"client_id" doc:"Identifier of a client that you have registered yourself."`
	ClientSecret      string `json:"client_secret" secret:"value" doc:"Secret of that client. Empty: it has none."`
	Issuer            string `json:"issuer" doc:"Authorization server. Empty: the first one that the server names."`
	Scope             string `json:"scope" doc:"Scopes to request, separated by spaces. Empty: those that the server asks for."`
	ClientName        string `json:"client_name" doc:"Name of the client that is registered. Empty: Hermes."`
	ClientMetadataURL string `json:"client_metadata_url" doc:"https address of a client-id document."`
	CIMD              *bool  `json:"cimd" doc:"false: client_metadata_url is not used."`
	RedirectPort      int    `json:"redirect_port" doc:"Port of the callback. 0: any."`
	RedirectHost      string `json:"redirect_host" doc:"Host in the callback's address. Empty: 127.0.0.1."`
	RedirectURI       string `json:"redirect_uri" doc:"Whole address of the callback, if another program forwards it to redirect_port."`
	Flow              string `json:"flow" enum:",browser,device" doc:"How you log in. Empty: browser."`
	Timeout           int    `json:"timeout" doc:"Seconds that a login may take. 0: 300."`
}

// Target is a server at which the user logs in.
type Target struct {
	Name     string // for pages and errors; empty: the host
	URL      string
	Settings Settings
	Scope    string // requested in place of the server's scopes; empty: the server's
	// Transport sends all requests. If it is nil, the default transport does.
	Transport http.RoundTripper
}

func (t Target) label() string {
	if t.Name != "" {
		return t.Name
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return "the server"
	}
	return u.Host
}

// ErrNeeded means that the user must log in.
var ErrNeeded = errors.New("it needs a login")

// Resource returns the canonical form of a server's URL: scheme and host in lower case,
// without a default port, user and fragment.
func Resource(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("its url is no http(s) address")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.User, u.Fragment = nil, ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String(), nil
}

// client returns the HTTP client for a target. It reaches https addresses and loopback only,
// reads at most 1 MB of a response, and follows redirects of GET requests only.
func (t Target) client() *http.Client {
	base := t.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	return &http.Client{
		Timeout:   30 * time.Second,
		Transport: guarded{base},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if via[0].Method != http.MethodGet || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

type guarded struct{ base http.RoundTripper }

func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := secure(req.URL); err != nil {
		return nil, err
	}
	resp, err := g.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, 1<<20)
	return resp, nil
}

// secure rejects addresses unless they use https or are on loopback.
func secure(u *url.URL) error {
	if u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return errors.New("a login needs https, and " + u.Scheme + "://" + u.Host + " is neither https nor on this machine")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
