package api

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// waitOf returns the wait requested by an endpoint: in the headers for it, in a field of the
// body, in the message, or as the end of a limit. If there is none, it returns 0.
func waitOf(h http.Header, said refusal, err *model.Error) time.Duration {
	wait := cmp.Or(retryAfter(h), said.wait)
	if wait > 0 || err.Kind != model.ErrBusy && err.Kind != model.ErrServer {
		return wait
	}
	if wait = waitIn(err.Message); wait > 0 || err.Status != http.StatusTooManyRequests {
		return wait
	}
	return limitEnds(h)
}

// retryAfter returns the wait of the headers for it, in milliseconds, in seconds or as a
// date. If there is none, it returns 0.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && seconds(ms/1000) > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(v); err == nil {
		return seconds(time.Until(at).Seconds())
	}
	return duration(v)
}

// longestWait limits the waits requested by endpoints.
const longestWait = 24 * time.Hour

// seconds converts s without overflow. It returns at most a day, and 0 for infinity and
// negative numbers.
func seconds(s float64) time.Duration {
	if math.IsNaN(s) || math.IsInf(s, 0) || s <= 0 {
		return 0
	}
	return time.Duration(min(s, longestWait.Seconds()) * float64(time.Second))
}

// duration reads a wait: a number of seconds, or numbers with units, such as 7m12.5s. If the
// text is something else, it returns 0.
func duration(text string) time.Duration {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds(s)
	}
	m := units.FindStringSubmatch(strings.ToLower(text))
	if m == nil || strings.TrimSpace(m[0]) == "" {
		return 0
	}
	total := 0.0
	for i, factor := range []float64{24 * 3600, 3600, 60, 1, 0.001} {
		n, err := strconv.ParseFloat(m[i+1], 64)
		if err == nil {
			total += n * factor
		}
	}
	return seconds(total)
}

// units matches a whole text such as 1h30m, 7m12.5s, 20 ms or 5 minutes and 3 seconds.
var units = lazyregexp.New(`^(?:([\d.]+)\s*d(?:ays?)?[\s,]*)?(?:([\d.]+)\s*h(?:ours?|rs?)?[\s,]*)?(?:(?:and\s+)?([\d.]+)\s*m(?:in(?:ute)?s?)?[\s,]*)?(?:(?:and\s+)?([\d.]+)\s*s(?:ec(?:ond)?s?)?[\s,]*)?(?:([\d.]+)\s*(?:ms|milliseconds?))?$`)

// named matches a wait in a message: "try again in 7m12s", "retry after 20 seconds".
var named = lazyregexp.New(`(?i)(?:try again|retry|retrying|wait|available|resets?|free)(?:[- _]?(?:again|after|in|for|at least|about|within|approximately|your request|the request|it|up to))*[ :=]+((?:[\d.]+ ?(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|milliseconds?|ms|d|h|m|s)\b,? ?(?:and )?|[\d.]+(?:d|h|m)(?:[\d.]+(?:h|ms|m|s))*\b ?)+|[\d.]+\b)`)

// waitIn returns the wait named in a message. If there is none, it returns 0.
func waitIn(message string) time.Duration {
	m := named.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	text := strings.TrimSuffix(strings.TrimRight(m[1], " .,"), " and")
	return duration(strings.TrimRight(text, " .,"))
}

// waitField returns the wait in a field of an error's body.
func waitField(fields map[string]json.RawMessage) time.Duration {
	for _, name := range []string{"retry_after_ms", "retryAfterMs"} {
		if ms, err := strconv.ParseFloat(Text(fields[name]), 64); err == nil {
			return seconds(ms / 1000)
		}
	}
	for _, name := range []string{"retry_after", "retry_after_seconds", "retryAfter", "retry-after", "retryDelay", "retry_delay", "estimated_time"} {
		if wait := duration(Text(fields[name])); wait > 0 {
			return wait
		}
	}
	return 0
}

// limitEnds returns the time until the end of a reached limit, from headers such as
// x-ratelimit-reset-tokens. It takes the longest wait of an exhausted limit. If none is
// exhausted, it takes the shortest wait.
func limitEnds(h http.Header) time.Duration {
	var used, any time.Duration
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.Contains(name, "ratelimit") || !strings.Contains(name, "reset") || len(values) == 0 {
			continue
		}
		wait := ends(values[0])
		if wait <= 0 {
			continue
		}
		if any == 0 || wait < any {
			any = wait
		}
		if left := strings.TrimSpace(h.Get(strings.Replace(name, "reset", "remaining", 1))); left == "0" {
			used = max(used, wait)
		}
	}
	return cmp.Or(used, any)
}

// ends returns the time until the end named in a header: a wait, a time in seconds or
// milliseconds since 1970, or a date.
func ends(value string) time.Duration {
	value = strings.TrimSpace(value)
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return seconds(time.Until(at).Seconds())
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err == nil && n > 9e11:
		return seconds(time.Until(time.UnixMilli(int64(min(n, 1e15)))).Seconds())
	case err == nil && n > 9e8:
		return seconds(time.Until(time.Unix(int64(n), 0)).Seconds())
	}
	return duration(value)
}
