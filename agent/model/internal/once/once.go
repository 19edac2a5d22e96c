// Package once sends a request of an [api.API], without retries, for tests of the API.
package once

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Ask sends a request and returns the merged response. If the response failed, it returns
// the partial response and the error. Ask also returns the last delta.
func Ask(ctx context.Context, a api.API, t *api.Target, req *model.Request) (*model.Reply, *model.Delta, error) {
	out, err := a.Encode(req, t)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, out.Method, out.URL, out.Body.Reader())
	if err != nil {
		return nil, nil, err
	}
	r.Header = out.Header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, a.Classify(resp.StatusCode, resp.Header, body)
	}
	return Decode(a, t, req, body)
}

// Decode decodes the body of a response. It also returns the last delta.
func Decode(a api.API, t *api.Target, req *model.Request, body []byte) (*model.Reply, *model.Delta, error) {
	reply, last := new(model.Reply), new(model.Delta)
	var failed error
	d := a.Decoder(req, t, func(delta model.Delta) bool {
		if last.Finish != "" && failed == nil {
			failed = fmt.Errorf("%+v came after the finish", delta)
		}
		*last = delta
		if err := reply.Add(delta); err != nil && failed == nil {
			failed = err
		}
		return failed == nil
	})
	done, err := Events(body, func(name string, data []byte) error {
		if failed != nil {
			return failed
		}
		if name == "error" {
			return a.Classify(0, nil, data)
		}
		return d.Event(name, data)
	})
	if err == nil {
		err = d.End(done)
	}
	if err == nil {
		err = failed
	}
	return reply, last, err
}

// Events calls take for each server-sent event. It reports whether the stream contained
// "[DONE]".
func Events(body []byte, take func(name string, data []byte) error) (done bool, err error) {
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 16<<20)
	name, data := "", ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			name = value
		case field == "data":
			data += value
		case lines.Text() == "" && data == "[DONE]":
			return true, nil
		case lines.Text() == "" && data != "":
			if err := take(name, []byte(data)); err != nil {
				return false, err
			}
			name, data = "", ""
		}
	}
	return false, lines.Err()
}
