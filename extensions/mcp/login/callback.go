package login

import (
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const callbackPath = "/callback"

// listen opens the callback on the first free port between first and last. 0: any port.
func (a *Attempt) listen(first, last int) error {
	var err error
	for port := first; port <= last; port++ {
		if a.listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			a.redirect()
			return nil
		}
	}
	return fmt.Errorf("the callback of the login cannot listen: %w", errors.Unwrap(err))
}

// redirect sets the address of the callback.
func (a *Attempt) redirect() {
	set := a.target.Settings
	a.Port = a.listener.Addr().(*net.TCPAddr).Port
	host := "127.0.0.1"
	if set.RedirectHost != "" {
		host = set.RedirectHost
	}
	a.client.Redirect = "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port)) + callbackPath
	if set.RedirectURI != "" {
		a.client.Redirect = set.RedirectURI
	}
}

// serve answers the browser until the login ends.
func (a *Attempt) serve() {
	path := callbackPath
	if u, err := url.Parse(a.client.Redirect); err == nil && u.Path != "" {
		path = u.Path
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != path || query.Get("state") != a.state {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Connection", "close")
		text := "hermes-ls has the answer for the MCP server " + a.target.label() + ". You can close this page."
		if query.Get("error") != "" {
			text = "The login at the MCP server " + a.target.label() + " failed: " + (&refusal{query.Get("error"), query.Get("error_description")}).Error()
		}
		fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>hermes-ls</title><p>%s</p></html>\n", html.EscapeString(text))
		_ = http.NewResponseController(w).Flush() // the browser may have closed the connection
		a.deliver(query)
	})}
	_ = server.Serve(a.listener) // ends with the listener
}
