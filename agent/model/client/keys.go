package client

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Strategies of a pool of keys.
const (
	FillFirst  = "fill_first"  // the first key that is not limited
	RoundRobin = "round_robin" // the next key for each session
	LeastUsed  = "least_used"  // the key with the fewest requests
)

// Keys holds the state of the keys of a process: limits, refusals, and the requests under way.
// The zero value is ready to use. It is safe for concurrent use.
type Keys struct {
	mu   sync.Mutex
	all  map[keyID]*keyState
	last map[string]string        // by host: the key of the newest session
	kept map[sessionAtHost]string // the keys of sessions
}

type keyID struct{ host, key string }

type sessionAtHost struct{ session, host string }

const mostSessions = 10_000 // limit of the remembered keys of sessions

// keyState is the state of a key at a host.
type keyState struct {
	key     string
	refused *model.Error // the newest refusal; nil: never refused, or worked since
	since   time.Time    // of the newest refusal
	resting time.Time    // the endpoint accepts no request before this time
	turns   turns        // turns in which the key was refused or limited
	cooling time.Time    // other keys are preferred until this time
	used    int          // requests
	running int
	waiting [2][]chan struct{} // requests of users, then of subagents
}

const (
	refusedFor  = time.Minute // until a refused key is retried without a new prompt
	mostRefused = 100         // turns to remember
)

// turns are turns of users. The set does not contain a new turn.
type turns map[string]bool

func (t turns) has(req *model.Request) bool { return req.Background || req.Turn == "" || t[req.Turn] }

func (t *turns) add(req *model.Request) {
	if *t == nil || len(*t) >= mostRefused {
		*t = turns{}
	}
	(*t)[req.Turn] = true
}

// mayTry reports whether to use a refused key again: for the user's next prompt, since the user
// may have paid or unlocked it, and otherwise once a minute.
func (s *keyState) mayTry(req *model.Request, now time.Time) bool {
	return s.refused == nil || !s.turns.has(req) || now.Sub(s.since) >= refusedFor
}

// of returns the state of a key. The caller holds the lock.
func (k *Keys) of(host, key string) *keyState {
	id := keyID{host, key}
	if k.all == nil {
		k.all, k.last, k.kept = map[keyID]*keyState{}, map[string]string{}, map[sessionAtHost]string{}
	}
	if k.all[id] == nil {
		k.all[id] = &keyState{key: key}
	}
	return k.all[id]
}

// choose returns the key for a request and the time until it may be used. It skips keys in
// tried. If all keys were refused, it returns nil and the newest error. If all other keys were
// tried, it returns nil.
func (k *Keys) choose(e *endpoint, keys []string, req *model.Request, tried []string) (*keyState, time.Duration, *model.Error) {
	session := req.SessionID
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	var free, rest, again []*keyState
	var refused *model.Error
	for _, key := range keys {
		switch s := k.of(e.host, key); {
		case slices.Contains(tried, key):
			refused = cmp.Or(s.refused, refused)
		case !s.mayTry(req, now):
			refused = s.refused
		case s.refused != nil:
			again = append(again, s)
		case s.resting.After(now) || s.cooling.After(now):
			rest = append(rest, s)
		default:
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		free = again
	}
	at := sessionAtHost{session, e.host}
	if len(free) > 0 {
		chosen := k.pick(e, keys, free, at)
		if session != "" {
			if len(k.kept) >= mostSessions {
				clear(k.kept)
			}
			k.kept[at] = chosen.key
		}
		chosen.used++
		return chosen, 0, nil
	}
	if len(rest) == 0 || len(tried) > 0 { // the caller waits after a round
		return nil, 0, refused
	}
	first := slices.MinFunc(rest, func(a, b *keyState) int { return a.resting.Compare(b.resting) })
	first.used++
	wait := max(0, first.resting.Sub(now))
	if wait > maxAsked && !first.turns.has(req) {
		wait = 0 // the user's next prompt tests whether the limit has ended
	}
	return first, wait, nil
}

// worked records an accepted key.
func (k *Keys) worked(s *keyState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.refused, s.resting, s.turns = nil, time.Time{}, nil
}

// pick returns a key from free. A session keeps its key.
func (k *Keys) pick(e *endpoint, keys []string, free []*keyState, at sessionAtHost) *keyState {
	if at.session != "" {
		for _, s := range free {
			if s.key == k.kept[at] {
				return s
			}
		}
	}
	switch e.Pool {
	case RoundRobin:
		newest := slices.Index(keys, k.last[e.host])
		next := slices.IndexFunc(free, func(s *keyState) bool { return slices.Index(keys, s.key) > newest })
		k.last[e.host] = free[max(next, 0)].key
		return free[max(next, 0)]
	case LeastUsed:
		return slices.MinFunc(free, func(a, b *keyState) int { return a.used - b.used })
	}
	return free[0]
}

// creditCooldown is how long a key without credit ranks behind other keys.
const creditCooldown = time.Hour

// failed records the failure of a key. It reports whether another key may work.
func (k *Keys) failed(e *endpoint, key string, req *model.Request, err *model.Error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(e.host, key)
	switch {
	case err.Kind == model.ErrAuth:
		err.Keyless = key == "" && err.Status != http.StatusForbidden
		if key != "" {
			refused := *err // the caller modifies its copy
			s.refused, s.since = &refused, time.Now()
			s.turns.add(req)
		}
	case err.Kind == model.ErrCredit:
		s.cooling = time.Now().Add(creditCooldown)
	case err.Status == http.StatusTooManyRequests:
		s.resting = time.Now().Add(err.RetryAfter)
		s.turns.add(req)
		if err.RetryAfter == 0 {
			s.cooling = time.Now().Add(e.Cooldown)
		}
	default:
		return false
	}
	return true
}

// named returns the time until a key is usable, among keys whose limit names an end. If there
// is none, it returns 0.
func (k *Keys) named(e *endpoint, keys []string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := time.Duration(0)
	for _, key := range keys {
		if wait := time.Until(k.of(e.host, key).resting); wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}
	return first
}

// firstFree returns the time until a limited key is usable.
func (k *Keys) firstFree(e *endpoint, keys []string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := time.Duration(-1)
	for _, key := range keys {
		s := k.of(e.host, key)
		until := s.resting
		if s.cooling.After(until) {
			until = s.cooling
		}
		if wait := time.Until(until); s.refused == nil && (first < 0 || wait < first) {
			first = wait
		}
	}
	return max(first, 0)
}

// enter waits until fewer than most requests use a key. Requests of users come before requests
// of subagents. It returns the function to end the request. If ctx is canceled, it returns its
// error.
func (k *Keys) enter(ctx context.Context, s *keyState, most int, background bool) (leave func(), err error) {
	k.mu.Lock()
	if most <= 0 || s.running < most {
		s.running++
		k.mu.Unlock()
		return func() { k.leave(s) }, nil
	}
	rank := 0
	if background {
		rank = 1
	}
	mine := make(chan struct{})
	s.waiting[rank] = append(s.waiting[rank], mine)
	k.mu.Unlock()
	select {
	case <-mine:
		return func() { k.leave(s) }, nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	i := slices.Index(s.waiting[rank], mine)
	if i >= 0 {
		s.waiting[rank] = slices.Delete(s.waiting[rank], i, i+1)
	}
	k.mu.Unlock()
	if i < 0 { // it got its slot at the same moment
		k.leave(s)
	}
	return nil, ctx.Err()
}

// leave passes the slot of a request to the first waiting request.
func (k *Keys) leave(s *keyState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for rank := range s.waiting {
		if len(s.waiting[rank]) > 0 {
			close(s.waiting[rank][0])
			s.waiting[rank] = s.waiting[rank][1:]
			return
		}
	}
	s.running--
}
