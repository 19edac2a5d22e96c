package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// TestNamedWaits checks the waits requested in headers, bodies and messages.
func TestNamedWaits(t *testing.T) {
	t.Parallel()
	message := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, text) }
	for _, c := range []struct {
		status int
		header string // name: value
		body   string
		want   time.Duration
	}{
		{429, "Retry-After: 7", "", 7 * time.Second},
		{429, "Retry-After: 1.5", "", 1500 * time.Millisecond},
		{429, "Retry-After: inf", "", 0},
		{429, "Retry-After: +Infinity", "", 0},
		{429, "Retry-After: NaN", "", 0},
		{429, "Retry-After: -5", "", 0},
		{429, "Retry-After: 1e300", "", 24 * time.Hour},
		{429, "Retry-After: soon", "", 0},
		{429, "Retry-After: Fri, 31 Dec 2199 23:59:59 GMT", "", 24 * time.Hour},
		{429, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", "", 0},
		{429, "Retry-After: Sat, 01 Jan 2000 00:00:30 GMT", "", 30 * time.Second},
		{429, "Retry-After-Ms: 250", "", 250 * time.Millisecond},
		{429, "", message("Rate limit reached. Please try again in 7m12s. Visit https://x."), 7*time.Minute + 12*time.Second},
		{429, "", message("Please try again in 1.898s."), 1898 * time.Millisecond},
		{429, "", message("Please try again in 20ms."), 20 * time.Millisecond},
		{429, "", message("try again in 6h30m0s"), 6*time.Hour + 30*time.Minute},
		{429, "", message("Please retry after 20 seconds."), 20 * time.Second},
		{429, "", message("Please retry in 38.4s."), 38400 * time.Millisecond},
		{429, "", message("Please wait 2 minutes and 5 seconds before you send more."), 2*time.Minute + 5*time.Second},
		{429, "", message("Wait for 30 sec"), 30 * time.Second},
		{429, "", message("retry after 12"), 12 * time.Second},
		{429, "", message("retry_after: 9"), 9 * time.Second},
		{429, "", message("The limit resets in 45 seconds"), 45 * time.Second},
		{429, "", message("Limit 30000, used 29000, requested 4000."), 0},
		{429, "", `{"error":{"message":"slow","details":[{"@type":"x","retryDelay":"38s"}]}}`, 38 * time.Second},
		{429, "", `{"error":{"message":"slow","retry_after":11}}`, 11 * time.Second},
		{429, "", `{"message":"slow","retry_after":"12.5"}`, 12500 * time.Millisecond},
		{429, "", `{"error":{"message":"slow"},"retry_after_ms":1500}`, 1500 * time.Millisecond},
		{503, "", `{"error":"Model m is currently loading","estimated_time":20.0}`, 20 * time.Second},
		{429, "", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"Please try again in 13s\"}}","provider_name":"X"}}}`, 13 * time.Second},
		{429, "X-Ratelimit-Reset-Tokens: 7.66s", "", 7660 * time.Millisecond},
		{429, "X-Ratelimit-Reset-Requests: 6m0s", "", 6 * time.Minute},
		{429, "X-Ratelimit-Reset: 946684830", "", 30 * time.Second},
		{429, "X-Ratelimit-Reset: 946684830000", "", 30 * time.Second},
		{429, "Anthropic-Ratelimit-Tokens-Reset: 2000-01-01T00:00:40Z", "", 40 * time.Second},
		{400, "X-Ratelimit-Reset-Tokens: 7.66s", message("bad"), 0},
		{400, "", message("the command must wait 5 seconds"), 0},
	} {
		t.Run(c.header+c.body, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the bubble's clock starts in the year 2000
				h := http.Header{}
				if c.header != "" {
					name, value, _ := strings.Cut(c.header, ": ")
					h.Set(name, value)
				}
				if got := api.Classify(c.status, h, []byte(c.body)).RetryAfter; got.Round(time.Millisecond) != c.want {
					t.Errorf("wait %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestReachedLimit checks the wait for several limits: it is the wait for the exhausted limit.
func TestReachedLimit(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	for name, value := range map[string]string{
		"X-Ratelimit-Reset-Requests": "2s", "X-Ratelimit-Remaining-Requests": "99", "X-Ratelimit-Reset-Tokens": "41s", "X-Ratelimit-Remaining-Tokens": "0",
	} {
		h.Set(name, value)
	}
	if got := api.Classify(429, h, nil).RetryAfter; got != 41*time.Second {
		t.Error(got)
	}
}
