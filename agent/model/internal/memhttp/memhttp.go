// Package memhttp serves HTTP within the process: real requests and real answers
// over a pipe in memory, with no listener and no port.
//
// Each request has a connection of its own, and both end with the answer's body:
// nothing is left running, and nothing needs to be closed.
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

// Transport returns a round tripper whose every request h answers, whatever the
// request's host. h gets a request when all of it was read: a server that answers and
// closes its end of the pipe earlier makes the client's write fail, and the answer is lost.
func Transport(h http.Handler) http.RoundTripper {
	read := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has given up
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}
	s := &http.Server{Handler: http.HandlerFunc(read), ErrorLog: log.New(io.Discard, "", 0)}
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { _ = s.Serve(&single{conn: server}) }() // ends at once; the connection goes on until it is closed
		return client, nil
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, DisableCompression: true}
}

// single is a listener with one connection.
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
