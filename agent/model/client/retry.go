package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

const (
	maxTries    = 5
	maxTriesOf  = 3               // of an endpoint with a fallback
	maxRetrying = 2 * time.Minute // from the first try to the end of the last wait
	maxBackoff  = 30 * time.Second
	maxAsked    = 60 * time.Second // for a longer wait, the user gets the error instead
)

// try sends the request to an endpoint until it is answered or fails for good. more reports
// whether a fallback follows.
func (s *stream) try(ctx context.Context, e *endpoint, more bool) error {
	if e.broken != nil {
		return e.broken
	}
	s.forms = s.model.formsFor(ctx, e, s.req)
	s.describe(ctx)
	began := time.Now()
	for n := 0; ; n++ {
		err := s.round(ctx, e)
		if err == nil {
			e.accepted(s.req.TextTokens())
		}
		if err == nil || s.over(ctx, err) {
			return err
		}
		var failed *model.Error
		if !errors.As(err, &failed) || !retryable(failed) {
			return err
		}
		wait := backoff(n, failed.RetryAfter)
		if n+1 >= tries(failed, more) || failed.RetryAfter > maxAsked || time.Since(began)+wait > maxRetrying {
			return err
		}
		s.model.log.Info("model retries", "endpoint", e.name(), "try", n+1, "wait", wait, "error", err)
		if err := s.wait(ctx, e, failed, wait); err != nil || s.broken {
			return err
		}
		s.restart = true
	}
}

// wait shows the user a notice about the retry, and waits.
func (s *stream) wait(ctx context.Context, e *endpoint, why *model.Error, wait time.Duration) error {
	if !s.notice(fmt.Sprintf("%s; trying again in %s", brief(why), model.Wait(wait))) {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting to ask %s again: %w", e.url, ctx.Err())
	}
}

// round tries each key once, until the endpoint accepts a key. If all keys fail, it returns the
// error of the key usable first. If all keys are limited because of other requests, it waits.
func (s *stream) round(ctx context.Context, e *endpoint) error {
	keys, err := e.pool(ctx, false)
	if err != nil {
		return err
	}
	var tried []string
	var last, busy *model.Error // busy is the error with the shortest RetryAfter
	printed := false
	for {
		key, rests, refused := s.model.keys.choose(e, keys, s.req, tried)
		if key == nil {
			if last == nil && refused != nil {
				again := *refused // maybe from another model at this host
				last = e.complete(&again)
			}
			break
		}
		if rests > 0 {
			limited := s.limited(e, keys, &model.Error{Kind: model.ErrBusy, Status: 429, RetryAfter: rests})
			if rests > maxAsked {
				return limited
			}
			if err := s.wait(ctx, e, limited, rests); err != nil || s.broken {
				return err
			}
		}
		err := s.ask(ctx, e, key)
		if err == nil {
			s.model.keys.worked(key)
		}
		var failed *model.Error
		if err == nil || s.over(ctx, err) && s.shown > 0 || !errors.As(err, &failed) {
			return err
		}
		if failed.Kind == model.ErrAuth && e.Command != nil && len(e.Keys) == 0 && !printed {
			printed = true
			if keys, err = e.pool(ctx, true); err != nil {
				return err
			}
			if keys[0] != key.key {
				continue
			}
		}
		if !s.model.keys.failed(e, key.key, s.req, failed) || s.over(ctx, err) {
			return err
		}
		tried = append(tried, key.key)
		last = failed
		if retryable(failed) && (busy == nil || failed.RetryAfter < busy.RetryAfter) {
			busy = failed
		}
		s.model.log.Info("model changes key", "endpoint", e.name(), "key", slices.Index(keys, key.key)+1, "of", len(keys), "error", err)
	}
	if busy != nil {
		return s.limited(e, keys, busy)
	}
	return last
}

// limited returns the error of an endpoint whose keys are all limited.
func (s *stream) limited(e *endpoint, keys []string, busy *model.Error) *model.Error {
	if len(keys) < 2 {
		return e.complete(busy)
	}
	all := *busy
	all.EveryKey = true
	all.FirstFree = s.model.keys.firstFree(e, keys)
	all.RetryAfter = cmp.Or(s.model.keys.named(e, keys), all.RetryAfter)
	return e.complete(&all)
}

// ask makes a request with a given key. If the endpoint rejects a picture, state or a
// parameter, ask repeats the request at once without it, or with a smaller response limit. If
// the API pauses the response, ask continues it.
func (s *stream) ask(ctx context.Context, e *endpoint, key *keyState) error {
	leave, err := s.model.keys.enter(ctx, key, e.MaxConcurrent, s.req.Background)
	if err != nil {
		return fmt.Errorf("waiting to ask %s: %w", e.url, err)
	}
	defer leave()
	t := e.target(key.key, s.noState[e.origin()] || e.refusesState())
	before := t.Quirks
	for {
		t.Images = s.forms.forms
		t.Encoded = e.encoded(t)
		known := t.Quirks
		paused, err := s.attempt(ctx, e, t)
		if t.Quirks != known {
			e.learn(t.Quirks)
		}
		if paused && !s.broken {
			if s.paused.times == maxContinued {
				return e.fail(model.ErrEndless, 0, fmt.Sprintf("it was paused %d times", maxContinued), nil)
			}
			s.req = s.paused.next(s.req)
			continue
		}
		var failed *model.Error
		if err == nil && hasState(s.req, t) {
			e.countState(true)
		}
		if err == nil || s.shown > 0 || s.broken || !errors.As(err, &failed) {
			return err
		}
		if s.forms.reject(failed) {
			s.model.log.Info("model endpoint rejects a picture", "endpoint", e.name(), "error", err)
			s.describe(ctx)
			continue
		}
		if failed.Kind == model.ErrState && !t.NoState {
			s.model.log.Info("model endpoint refuses its state", "endpoint", e.name(), "error", err)
			t.NoState = true
			e.countState(false)
			s.dropState(e.origin())
			continue
		}
		if s.lower(e, t, failed) {
			continue
		}
		if !e.API.Adapt(s.req, t, failed) {
			if failed.Kind == model.ErrRequest && t.Quirks != before {
				e.learn(before) // omitting the parameter did not help
			}
			if l, ok := e.API.(api.Locator); ok {
				failed.Named = 1 + l.Locate(s.req, t, failed)
			}
			return s.overflow(e, failed)
		}
		s.model.log.Info("model endpoint refuses a parameter", "endpoint", e.name(), "error", err)
		e.learn(t.Quirks)
	}
}

// dropState omits the state of an origin from all further requests of the stream.
func (s *stream) dropState(origin model.Origin) {
	if s.noState == nil {
		s.noState = map[model.Origin]bool{}
	}
	s.noState[origin], s.dropped = true, &origin
}

// retryable reports whether the same request may succeed later.
func retryable(e *model.Error) bool {
	switch e.Kind {
	case model.ErrBusy, model.ErrDown, model.ErrServer, model.ErrCut, model.ErrStalled:
		return !e.Final
	default:
		return false
	}
}

// tries returns the maximum number of requests for an error. An invalid certificate, a rejected
// connection or a refusal of a proxy rarely changes within seconds.
func tries(e *model.Error, more bool) int {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(e, &certificate):
		return 1
	case errors.Is(e, syscall.ECONNREFUSED), errors.Is(e, errProxy):
		return 2
	case more:
		return maxTriesOf
	default:
		return maxTries
	}
}

// backoff returns the wait before try n+2. If the endpoint asked for a wait, it returns asked.
// Otherwise the wait doubles from 1 s, with jitter, so sessions do not all retry at once.
func backoff(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(time.Second<<n, maxBackoff)
	return d*3/4 + rand.N(d/2)
}

// brief returns a short description of an error, for a notice.
func brief(e *model.Error) string {
	words := e.Model + ": " + string(e.Kind)
	if e.EveryKey {
		words = e.Model + ": every key of " + e.Provider + " is rate limited"
	}
	if e.Status != 0 {
		words += fmt.Sprintf(" (%d)", e.Status)
	}
	return words
}
