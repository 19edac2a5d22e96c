package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

const (
	maxRefusal  = 64 << 10               // limit for the body of an error, in bytes
	maxReply    = maxEvent               // limit for a response without streaming, in bytes
	afterFinish = 5 * time.Second        // wait for the usage after the finish reason
	afterDone   = 100 * time.Millisecond // wait for the end of the body, to keep the connection
)

var errStalled = errors.New("nothing came")

// attempt is an HTTP request and its response. It is the HTTP client of an [api.Library].
type attempt struct {
	endpoint *endpoint
	request  *api.Request
	alarm    *alarm
	events   *events // nil until the response starts
}

// attempt sends a request and passes the deltas to s.emit. If the caller stops reading, it
// returns nil. If the API paused the response, it returns true.
func (s *stream) attempt(ctx context.Context, e *endpoint, t *api.Target) (paused bool, err error) {
	req := s.req
	request, err := e.API.Encode(req, t)
	if err != nil {
		return false, fmt.Errorf("encoding the request to %s: %w", e.url, err)
	}
	s.limit = request.Limit
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{endpoint: e, request: request}
	a.alarm = newAlarm(3*s.model.stall, s.model.stall, func() { cancel(errStalled) })

	source, err := a.open(reading, t)
	if err != nil {
		return false, a.failed(ctx, reading, err)
	}
	defer source.Close()
	deltas := model.Bounded(a.deltas(req, t, source))
	if f, ok := e.API.(api.Filter); ok {
		deltas = f.Filter(req, t, deltas)
	}
	for d, err := range deltas {
		if err == nil {
			d, err = s.paused.add(d)
		}
		if err != nil {
			return false, a.failed(ctx, reading, err)
		}
		if d.Usage != nil && d.Usage.Cost == 0 {
			d.Usage.Cost = e.cost(d.Usage)
		}
		if !s.accepted(ctx, e) {
			return false, nil
		}
		if d.Finish == model.FinishPause && len(s.paused.reply.Calls) > 0 {
			d.Finish = model.FinishCalls // the API continues after the results
		}
		if d.Finish == model.FinishPause {
			paused = true
			d.Finish, d.Usage = "", nil
		}
		if d.Finish != "" {
			d.Answered = e.id()
		}
		if d != (model.Delta{}) && !s.emit(d) {
			return false, nil
		}
	}
	a.drain()
	return paused, nil
}

// open sends the request and waits until the response starts.
func (a *attempt) open(ctx context.Context, t *api.Target) (api.Source, error) {
	if lib, ok := a.endpoint.API.(api.Library); ok {
		return lib.Open(ctx, t, a)
	}
	req, err := http.NewRequestWithContext(ctx, a.request.Method, a.request.URL, nil)
	if err != nil {
		return nil, err
	}
	if _, err := a.Do(req); err != nil {
		return nil, err
	}
	return a.events, nil
}

// Do sends a request with the attempt's header and body. The body of its response is an event
// stream in the library's format. All other responses are errors.
func (a *attempt) Do(req *http.Request) (*http.Response, error) {
	body := a.request.Body
	req.Body = io.NopCloser(body.Reader())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.Reader()), nil }
	req.ContentLength = body.Len()
	if to, err := url.Parse(a.request.URL); err == nil && a.request.URL != "" {
		req.URL = to // a library may build another URL
	}
	req.Header.Del("Connection")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "hermes-ls")
	for name, values := range a.request.Header {
		req.Header[name] = values
	}
	for name, value := range a.endpoint.Headers {
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: a.endpoint.Transport, CheckRedirect: sameHost}

	a.alarm.arm()
	resp, err := client.Do(req)
	a.alarm.disarm()
	if err != nil {
		return nil, err
	}
	if err := a.check(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = a.events
	return resp, nil
}

// check examines the start of a response and sets a.events. If the response is not an
// event stream or JSON, it returns an error.
func (a *attempt) check(resp *http.Response) error {
	e := a.endpoint
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(&watched{resp.Body, a.alarm}, maxRefusal)) // if reading fails, the part read so far is enough
		failed := e.complete(e.API.Classify(resp.StatusCode, resp.Header, body))
		if resp.StatusCode == http.StatusProxyAuthRequired || resp.StatusCode >= 502 && resp.StatusCode <= 504 {
			failed.Proxy = e.proxyOf()
		}
		return failed
	}
	a.events = newEvents(resp.Body, a.alarm, func(data []byte) error { return e.complete(e.API.Classify(0, resp.Header, data)) })
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	switch {
	case strings.Contains(kind, "html"):
		page, _ := io.ReadAll(io.LimitReader(&watched{resp.Body, a.alarm}, maxRefusal))
		return e.fail(model.ErrGarbage, resp.StatusCode, "a web page came"+api.PageTitle(string(page)), nil)
	case strings.Contains(kind, "json") && !strings.Contains(kind, "stream") && !a.events.begins():
		body, err := io.ReadAll(io.LimitReader(a.events.src, maxReply))
		if err != nil {
			return err
		}
		a.events.src = bufio.NewReader(wholeReply(body))
	}
	return nil
}

// deltas decodes the events. The last delta contains the finish, the usage and the model.
// Buffered pieces of text become a single delta.
func (a *attempt) deltas(req *model.Request, t *api.Target, source api.Source) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		broken := false
		out := merger{yield: func(delta model.Delta) bool {
			broken = broken || !yield(delta, nil)
			return !broken
		}}
		d := a.endpoint.API.Decoder(req, t, out.add)
		for {
			if !a.events.waits() {
				out.flush()
			}
			name, data, err := source.Next()
			if err == nil {
				finished := d.Finished()
				if err = event(d, name, data); err == nil && !broken {
					if !finished && d.Finished() {
						a.alarm.limit(afterFinish)
					}
					continue
				}
				if err != nil {
					err = understood(err, data)
				}
			} else if d.Finished() || err == io.EOF {
				err = d.End(a.events.done) // a later connection error does not matter
			}
			out.flush()
			if err != nil && !broken {
				yield(model.Delta{}, err)
			}
			return
		}
	}
}

// event decodes an event. A list may contain several.
func event(d api.Decoder, name string, data []byte) error {
	var list []json.RawMessage
	if data[0] != '[' || json.Unmarshal(data, &list) != nil {
		return d.Event(name, data)
	}
	for _, one := range list {
		if err := d.Event(name, one); err != nil {
			return err
		}
	}
	return nil
}

// understood returns the error of a decoder as a [*model.Error].
func understood(err error, data []byte) error {
	var known *model.Error
	if errors.As(err, &known) {
		return err
	}
	return &model.Error{Kind: model.ErrGarbage, Message: fmt.Sprintf("%v in %.200q", err, data)}
}

// drain reads the rest of the body so the connection can be reused.
func (a *attempt) drain() {
	a.alarm.limit(afterDone)
	_, _ = io.Copy(io.Discard, io.LimitReader(a.events.src, 4096)) // a failure only loses the connection
}

// failed describes err as an error of the endpoint. caller is the caller's context.
// reading is the attempt's context, which the alarm cancels. If the caller has canceled
// the request, failed returns the error of the caller's context.
func (a *attempt) failed(caller, reading context.Context, err error) error {
	e := a.endpoint
	var known *model.Error
	var address *url.Error
	if caller.Err() != nil {
		return fmt.Errorf("asking %s: %w", e.url, caller.Err())
	}
	if errors.Is(context.Cause(reading), errStalled) {
		return e.fail(model.ErrStalled, 0, fmt.Sprintf("the stream stalled for %.0f s", a.waited().Seconds()), nil)
	}
	if errors.As(err, &address) {
		err = address.Err // without the URL, which may hold a secret
	}
	switch {
	case errors.As(err, &known) && known.Endpoint == "":
		return e.complete(known)
	case errors.As(err, &known):
		return known
	case errors.Is(err, errRedirect):
		return e.fail(model.ErrRequest, 0, err.Error()+", where no key of this endpoint is sent; set "+cmp.Or(e.AddressIn, "model.base_url")+" to it if that is right", nil)
	case errors.Is(err, errPage):
		return e.fail(model.ErrGarbage, 0, err.Error()+" by a redirect that drops the request, as login pages do", nil)
	case errors.Is(err, errNoEvents), errors.Is(err, errCoding):
		return e.fail(model.ErrGarbage, 0, err.Error(), nil)
	case a.events != nil:
		return e.fail(model.ErrCut, 0, err.Error(), nil)
	default:
		failed := e.fail(model.ErrDown, 0, err.Error(), err)
		failed.Proxy = e.proxyOf()
		return failed
	}
}

// waited returns the exceeded limit.
func (a *attempt) waited() time.Duration {
	if a.alarm.begun {
		return a.alarm.idle
	}
	return a.alarm.first
}
