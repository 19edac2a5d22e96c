package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// dialled returns a transport to the network. proxy is the address of a proxy; if it is empty,
// the environment decides. caFile holds certificates to trust in addition to the system's.
func dialled(proxy, caFile string) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 environmentProxy(),
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   64,   // so as many subagents can keep a connection between two requests
		DisableCompression:    true, // a compressed stream arrives late
	}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%w %s", errProxy, resp.Status)
		}
		return nil
	}
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("proxy %q is no URL; write http://HOST:PORT", displayURL(proxy))
		}
		t.Proxy = http.ProxyURL(u)
	}
	if caFile == "" {
		return t, nil
	}
	pem, err := textfile.Read(caFile, safefile.Settings)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file %s has no PEM certificate", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return t, nil
}

// environmentProxy returns the proxies of HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, without the
// hosts of NO_PROXY.
func environmentProxy() func(*http.Request) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	c.HTTPProxy, c.HTTPSProxy = cmp.Or(c.HTTPProxy, all), cmp.Or(c.HTTPSProxy, all)
	find := c.ProxyFunc()
	return func(req *http.Request) (*url.URL, error) { return find(req.URL) }
}

var errProxy = errors.New("it answered")

var (
	errRedirect = errors.New("redirected elsewhere")
	errPage     = errors.New("it leads")
)

// sameHost allows a redirect only within the same host, because the key belongs to this host.
// It also rejects a change of the method, a change from HTTPS to HTTP, and more than three
// redirects.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	upgraded := req.URL.Scheme == from.Scheme || req.URL.Scheme == "https"
	if req.Method != via[0].Method && req.URL.Scheme == from.Scheme && req.URL.Host == from.Host {
		return fmt.Errorf("%w to %s", errPage, displayURL(req.URL.String()))
	}
	if req.Method != via[0].Method || !upgraded || req.URL.Host != from.Host || len(via) > 3 {
		return fmt.Errorf("%w: to %s", errRedirect, displayURL(req.URL.String()))
	}
	return nil
}

// displayURL returns a URL for messages, without user, query and fragment.
func displayURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.SplitN(raw, "?", 2)[0]
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
