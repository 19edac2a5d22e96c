// Package memhttp serves HTTP within the process: real requests and real answers
// over a pipe in memory, with no listener and no port.
//
// Each request uses a new connection, and both end with the answer's body: nothing is left
// running, and nothing needs to be closed.
package memhttp

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// Transport returns a round tripper that lets h answer every request, for any host. h gets a
// request after all of it was read: if a server closed its end of the pipe earlier, the
// client's write would fail, and the answer would be lost.
func Transport(h http.Handler) http.RoundTripper {
	read := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client gave up
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}
	s := &http.Server{Handler: http.HandlerFunc(read), ErrorLog: log.New(io.Discard, "", 0)}
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { _ = s.Serve(&single{conn: server}) }() // ends at once; the connection stays until it is closed
		return client, nil
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, DisableCompression: true}
}

// single is a listener with a single connection.
type single struct {
	once sync.Once
	conn net.Conn
}

func (l *single) Accept() (net.Conn, error) {
	var c net.Conn
	l.once.Do(func() { c = l.conn })
	if c == nil {
		return nil, io.EOF
	}
	return c, nil
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
