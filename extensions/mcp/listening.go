package mcp

import (
	"io"
	"mime"
	"net/http"
	"time"
)

// listening sends the requests to a server over streamable HTTP. A GET request opens a stream for
// messages outside calls. The SDK connects only after this response has begun, but some servers and
// proxies begin it with the first message.
type listening struct{ *remote }

// listenPause is how long the beginning of the stream is waited for.
const listenPause = 500 * time.Millisecond

// answer is a server's response or an error.
type answer struct {
	resp *http.Response
	err  error
}

// RoundTrip sends a request. If the stream's response is late, it returns a response whose body
// waits for the messages.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("Last-Event-Id") != "" {
		return l.remote.RoundTrip(req)
	}
	answered := make(chan answer, 1)
	go func() {
		resp, err := l.remote.RoundTrip(req)
		answered <- answer{resp, err}
	}()
	select {
	case a := <-answered:
		return a.resp, a.err
	case <-time.After(listenPause):
	}
	messages, out := io.Pipe()
	go func() { // it ends with the request
		a := <-answered
		if a.err == nil {
			copyStream(out, a.resp)
		}
		<-req.Context().Done() // a missing stream ends with the connection
		out.CloseWithError(req.Context().Err())
	}()
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Body: messages, Request: req,
	}, nil
}

// copyStream copies a stream of messages. It ends out with the stream, so the SDK requests the
// stream again.
func copyStream(out *io.PipeWriter, resp *http.Response) {
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return
	}
	_, err := io.Copy(out, resp.Body)
	out.CloseWithError(err)
}
