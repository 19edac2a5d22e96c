package fetch

import (
	"context"
	"sync"
	"time"
)

// politeGap is the time between two requests to a host.
const politeGap = 500 * time.Millisecond

// pace allows a host one request at a time, with a gap between requests.
type pace struct {
	gap time.Duration

	mu    sync.Mutex
	hosts map[string]*slot
}

type slot struct {
	place chan struct{} // capacity 1
	ended time.Time     // of the request before; only the holder of place may use it
}

// enter waits for the slot of a host. If ctx ends, it returns ctx's error. Otherwise the caller
// must call leave.
func (p *pace) enter(ctx context.Context, host string, gap time.Duration) (leave func(), err error) {
	p.mu.Lock()
	if p.hosts == nil {
		p.hosts = map[string]*slot{}
	}
	t := p.hosts[host]
	if t == nil {
		t = &slot{place: make(chan struct{}, 1)}
		p.hosts[host] = t
	}
	p.mu.Unlock()
	select {
	case t.place <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !t.ended.IsZero() {
		wait := time.NewTimer(time.Until(t.ended.Add(max(gap, p.gap))))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			<-t.place
			return nil, ctx.Err()
		}
	}
	return func() {
		t.ended = time.Now()
		<-t.place
	}, nil
}
