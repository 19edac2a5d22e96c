package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

const (
	maxRefusal  = 64 << 10               // bytes of an error's body that are read
	maxReply    = maxEvent               // bytes of a response that is not streamed
	afterFinish = 5 * time.Second        // wait for the usage after the finish reason
	afterDone   = 100 * time.Millisecond // wait for the end of the body, to keep the connection
)

var (
	errStalled  = errors.New("nothing came")
	errRedirect = errors.New("redirected elsewhere")
)

// attempt is one HTTP request and its response. It is the library's HTTP client: the
// library calls [attempt.Do] to send the request.
type attempt struct {
	endpoint *endpoint
	key      string
	body     []byte
	alarm    *alarm
	events   *events // nil until the response has started
}

// attempt sends one request and passes the deltas to s.emit. If the caller stops reading,
// it returns nil.
func (s *stream) attempt(ctx context.Context, e *endpoint, key string, q quirks) error {
	body, err := e.encode(s.req, q, s.forms)
	if err != nil {
		return err
	}
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{endpoint: e, key: key, body: body}
	a.alarm = newAlarm(s.model.first, s.model.idle, func() { cancel(errStalled) })

	reply, err := a.open(reading)
	if err != nil {
		return a.failed(ctx, reading, err)
	}
	defer reply.Close()
	for d, err := range model.Inline(s.req, e.readsTextCalls(s.req), model.Bounded(a.deltas(reading, reply))) {
		if err != nil {
			return a.failed(ctx, reading, err)
		}
		if d.Usage != nil && d.Usage.Cost == 0 {
			d.Usage.Cost = e.cost(d.Usage)
		}
		if !s.accepted(ctx, e) {
			return nil
		}
		if !s.emit(d) {
			return nil
		}
	}
	a.drain()
	return nil
}

// open sends the request and waits until the response starts.
func (a *attempt) open(ctx context.Context) (*goopenai.ChatCompletionStream, error) {
	config := goopenai.DefaultConfig(a.key)
	config.BaseURL = a.endpoint.BaseURL
	config.HTTPClient = a
	client := goopenai.NewClientWithConfig(config)
	// The library gets only the model's name, and Do replaces the body. So the library does
	// not check the parameters: its rules are older than some models.
	return client.CreateChatCompletionStream(ctx, goopenai.ChatCompletionRequest{Model: a.endpoint.Model})
}

// Do sends the library's request with the attempt's body. It returns a response whose body
// is an event stream in the form that the library reads. All other responses are errors.
func (a *attempt) Do(req *http.Request) (*http.Response, error) {
	req.Body = io.NopCloser(bytes.NewReader(a.body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.body)), nil }
	req.ContentLength = int64(len(a.body))
	req.Header.Del("Connection")
	req.Header.Set("User-Agent", "hermes-ls")
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

// sameHost allows a redirect only within the same host, because the key belongs to that
// host. It also rejects a change of the method, a change from HTTPS to HTTP, and more than
// three redirects.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	upgraded := req.URL.Scheme == from.Scheme || req.URL.Scheme == "https"
	if req.Method != via[0].Method || !upgraded || req.URL.Host != from.Host || len(via) > 3 {
		return fmt.Errorf("%w: to %s", errRedirect, displayURL(req.URL.String()))
	}
	return nil
}

// check examines the start of a response and sets a.events. If the response is not an
// event stream or JSON, it returns an error.
func (a *attempt) check(resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(&watched{resp.Body, a.alarm}, maxRefusal)) // if reading fails, the part that was read is enough
		return a.endpoint.refused(resp.StatusCode, resp.Header, body)
	}
	a.events = newEvents(resp.Body, a.alarm, func(data []byte) error { return a.endpoint.refused(0, resp.Header, data) })
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	switch {
	case strings.Contains(kind, "html"):
		page, _ := io.ReadAll(io.LimitReader(&watched{resp.Body, a.alarm}, maxRefusal))
		return a.endpoint.fail(model.ErrGarbage, resp.StatusCode, "a web page came"+api.PageTitle(string(page)), nil)
	case strings.Contains(kind, "json") && !strings.Contains(kind, "stream"):
		body, err := io.ReadAll(io.LimitReader(&watched{resp.Body, a.alarm}, maxReply))
		if err != nil {
			return err
		}
		a.events.src = bufio.NewReader(wholeReply(body))
	}
	return nil
}

// deltas decodes the stream. The last delta has the finish, the usage and the model.
func (a *attempt) deltas(ctx context.Context, reply *goopenai.ChatCompletionStream) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		d := decoder{endpoint: a.endpoint, yield: yield}
		for {
			raw, err := reply.RecvRaw()
			if err == nil {
				finished := d.finish != ""
				if err = d.chunk(raw); err == nil && !d.broken {
					if !finished && d.finish != "" {
						a.alarm.limit(afterFinish)
					}
					continue
				}
			} else if d.finish != "" || err == io.EOF {
				err = d.end(a.events.done) // a later connection error does not matter
			}
			if err != nil && !d.broken {
				yield(model.Delta{}, err)
			}
			return
		}
	}
}

// drain reads the rest of the body, so that the connection can be used again.
func (a *attempt) drain() {
	a.alarm.limit(afterDone)
	_, _ = io.Copy(io.Discard, io.LimitReader(a.events.src, 4096)) // if it fails, only the connection is lost
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
		return e.fail(model.ErrStalled, 0, "nothing came for "+model.Wait(a.waited()), nil)
	}
	if errors.As(err, &address) {
		err = address.Err // without the URL, which may hold a secret
	}
	switch {
	case errors.As(err, &known) && known.Endpoint == "":
		return e.fail(known.Kind, 0, known.Message, nil)
	case errors.As(err, &known):
		return known
	case errors.Is(err, goopenai.ErrChatCompletionInvalidModel):
		return e.fail(model.ErrRequest, 0, "this model does not take part in chats", nil)
	case errors.Is(err, errRedirect):
		return e.fail(model.ErrRequest, 0, err.Error()+", where no key of this endpoint is sent; set model.base_url to it if that is right", nil)
	case errors.Is(err, errNoEvents):
		return e.fail(model.ErrGarbage, 0, err.Error(), nil)
	case a.events != nil:
		return e.fail(model.ErrCut, 0, err.Error(), nil)
	default:
		return e.fail(model.ErrDown, 0, err.Error(), err)
	}
}

// waited returns the limit that was reached.
func (a *attempt) waited() time.Duration {
	if a.alarm.begun {
		return a.alarm.idle
	}
	return a.alarm.first
}
