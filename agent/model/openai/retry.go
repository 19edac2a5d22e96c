package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	maxTries    = 5
	maxRetrying = 2 * time.Minute // from the first try to the end of the last wait
	maxBackoff  = 30 * time.Second
	maxAsked    = 60 * time.Second // if Retry-After is longer, the user gets the error instead
)

// try sends the request to one endpoint until it is answered or fails for good.
func (s *stream) try(ctx context.Context, e *endpoint) error {
	if e.needsKey() && len(e.Keys) == 0 {
		return e.fail(model.ErrNoKey, 0, "", nil)
	}
	s.forms = s.model.formsFor(ctx, e, s.req)
	began := time.Now()
	for n := 0; ; n++ {
		err := s.round(ctx, e)
		if err == nil || s.shown || s.broken || ctx.Err() != nil {
			return err
		}
		var failed *model.Error
		if !errors.As(err, &failed) || !retryable(failed) {
			return err
		}
		wait := backoff(n, failed.RetryAfter)
		if n+1 >= tries(failed) || failed.RetryAfter > maxAsked || time.Since(began)+wait > maxRetrying {
			return err
		}
		s.model.log.Info("model retries", "endpoint", e.name(), "try", n+1, "wait", wait, "error", err)
		if !s.notice(fmt.Sprintf("%s; trying again in %s", brief(failed), model.Wait(wait))) {
			return nil
		}
		if !sleep(ctx, wait) {
			return fmt.Errorf("waiting to ask %s again: %w", e.url, ctx.Err())
		}
	}
}

// round tries each key once, until the endpoint accepts one. If all keys fail, it returns
// the error of the key that is usable first.
func (s *stream) round(ctx context.Context, e *endpoint) error {
	keys := e.pool()
	var last error
	var busy *model.Error // the error with the shortest RetryAfter
	for i, key := range keys {
		err := s.ask(ctx, e, key)
		if err == nil || s.shown || s.broken || ctx.Err() != nil {
			if err == nil && i > 0 {
				e.prefer(key)
			}
			return err
		}
		if !refusedKey(err) {
			return err
		}
		last = err
		var failed *model.Error
		if errors.As(err, &failed) && retryable(failed) && (busy == nil || failed.RetryAfter < busy.RetryAfter) {
			busy = failed
		}
		if i+1 < len(keys) {
			s.model.log.Info("model changes key", "endpoint", e.name(), "key", i+1, "of", len(keys), "error", err)
		}
	}
	if busy != nil {
		return busy
	}
	return last
}

// ask makes one request with one key. If the endpoint rejects a picture or a
// parameter, ask sends the request again at once without it.
func (s *stream) ask(ctx context.Context, e *endpoint, key string) error {
	q := e.known()
	for {
		err := s.attempt(ctx, e, key, q)
		var failed *model.Error
		if err == nil || s.shown || s.broken || !errors.As(err, &failed) {
			return err
		}
		if s.forms.reject(failed) {
			s.model.log.Info("model endpoint rejects a picture", "endpoint", e.name(), "error", err)
			continue
		}
		next, ok := q.without(failed, s.req)
		if !ok {
			return err
		}
		s.model.log.Info("model endpoint refuses a parameter", "endpoint", e.name(), "error", err)
		e.learn(next)
		q = next
	}
}

// refusedKey reports whether the request may succeed with another key.
func refusedKey(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusPaymentRequired ||
		e.Status == http.StatusTooManyRequests || e.Kind == model.ErrAuth || e.Kind == model.ErrCredit
}

// retryable reports whether the same request may succeed later.
func retryable(e *model.Error) bool {
	switch e.Kind {
	case model.ErrBusy, model.ErrDown, model.ErrServer, model.ErrCut:
		return true
	default:
		return false
	}
}

// tries returns how often a request with this error is sent. An invalid certificate or a
// rejected connection rarely changes within seconds.
func tries(e *model.Error) int {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(e, &certificate):
		return 1
	case errors.Is(e, syscall.ECONNREFUSED):
		return 2
	default:
		return maxTries
	}
}

// backoff returns the wait before try n+2. If the endpoint asked for a wait, it returns
// that. Otherwise it doubles from one second, with jitter, so that sessions do not all try
// again at once.
func backoff(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(time.Second<<n, maxBackoff)
	return d*3/4 + rand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// brief returns a short description of an error, for a notice.
func brief(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	words := e.Model + ": " + string(e.Kind)
	if e.Status != 0 {
		words += fmt.Sprintf(" (%d)", e.Status)
	}
	return words
}
