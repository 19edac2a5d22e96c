package client

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// outgoing sends the requests of an endpoint. It adds the query of the base URL. Requests ask
// for uncompressed bodies, because a compressed stream arrives late. Some proxies compress
// nevertheless, so outgoing decodes the body.
type outgoing struct {
	base  http.RoundTripper
	query string
}

func (o outgoing) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Clone(req.Context())
	sent.Header.Set("Accept-Encoding", "identity")
	switch {
	case o.query == "":
	case sent.URL.RawQuery == "":
		sent.URL.RawQuery = o.query
	default:
		sent.URL.RawQuery += "&" + o.query
	}
	resp, err := o.base.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	codings := strings.FieldsFunc(strings.ToLower(resp.Header.Get("Content-Encoding")), func(r rune) bool { return r == ',' || r == ' ' })
	for i := len(codings) - 1; i >= 0; i-- { // the last coding was applied last
		if codings[i] != "identity" {
			resp.Body = &decoded{body: resp.Body, coding: codings[i]}
			resp.ContentLength = -1
		}
	}
	resp.Header.Del("Content-Encoding")
	return resp, nil
}

// decoded decodes a body. It reads nothing before the first Read.
type decoded struct {
	body   io.ReadCloser
	coding string
	from   io.Reader
	close  func()
	err    error
}

var errCoding = errors.New("unknown compression")

func (d *decoded) Read(p []byte) (int, error) {
	if d.from == nil && d.err == nil {
		d.from, d.err = d.open()
	}
	if d.err != nil {
		return 0, d.err
	}
	return d.from.Read(p)
}

func (d *decoded) Close() error {
	if d.close != nil {
		d.close()
	}
	return d.body.Close()
}

func (d *decoded) open() (io.Reader, error) {
	src := bufio.NewReader(d.body)
	start, _ := src.Peek(4) // an error comes with the next read
	switch d.coding {
	case "gzip", "x-gzip":
		if len(start) < 2 || start[0] != 0x1f || start[1] != 0x8b {
			return src, nil // the header is wrong
		}
		return gzip.NewReader(src)
	case "deflate":
		if len(start) > 1 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
			return zlib.NewReader(src)
		}
		return flate.NewReader(src), nil
	case "br":
		return brotli.NewReader(src), nil
	case "zstd":
		r, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, err
		}
		d.close = r.Close
		return r, nil
	}
	return nil, fmt.Errorf("%w %q, which was not asked for; turn it off in the proxy or the server", errCoding, d.coding)
}
