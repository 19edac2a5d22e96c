// Package running tracks the running calls of a server.
package running

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Calls are the calls of a server. The zero value is empty. It is safe for concurrent use.
type Calls struct {
	mu   sync.Mutex
	last int
	when time.Time // the last call began or ended
	open map[string]call
}

type call struct {
	tell  func(*sdk.ProgressNotificationParams)
	pause func(context.Context) (resume func()) // nil: it waits untold
	ended chan struct{}
}

// Follow adds a call, until over is called. tell gets its progress. pause is called when the call
// begins to wait for the user.
func (c *Calls) Follow(tell func(*sdk.ProgressNotificationParams), pause func(context.Context) (resume func())) (token string, over func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.when = time.Now()
	token = fmt.Sprintf("call-%d", c.last)
	if c.open == nil {
		c.open = map[string]call{}
	}
	ended := make(chan struct{})
	c.open[token] = call{tell, pause, ended}
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.when = time.Now()
		delete(c.open, token)
		close(ended)
	}
}

// Used returns when a call last began or ended, and whether a call is running.
func (c *Calls) Used() (last time.Time, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.when, len(c.open) > 0
}

// Progress passes a progress on to its call.
func (c *Calls) Progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	c.mu.Lock()
	tell := c.open[token].tell
	c.mu.Unlock()
	if tell != nil {
		tell(p)
	}
}

// During returns a context for a request of the server. It ends with ctx, or when all currently
// running calls have ended: their turn may be canceled, and a server need not withdraw its
// requests. If no call runs, it ends with ctx. The calls are notified of the wait.
func (c *Calls) During(ctx context.Context) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	open := slices.Collect(maps.Values(c.open))
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := cancel
	for _, one := range open {
		if one.pause != nil {
			resume, next := one.pause(ctx), stop
			stop = sync.OnceFunc(func() { resume(); next() })
		}
	}
	if len(open) > 0 {
		go func() {
			defer cancel()
			for _, one := range open {
				select {
				case <-one.ended:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	go c.keepAlive(ctx)
	return ctx, stop
}

// keepAlive reports to running calls that they wait for the user, until ctx ends.
func (c *Calls) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		c.mu.Lock()
		open := slices.Collect(maps.Values(c.open))
		c.mu.Unlock()
		for _, one := range open {
			if one.tell != nil {
				one.tell(&sdk.ProgressNotificationParams{Message: "Waiting for your answer"})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// gap is the shortest time between two visible lines of progress.
const gap = 100 * time.Millisecond

// Thin returns a function that passes lines of progress on, and stop, after which it passes none.
// If lines come too fast, only the last is passed on.
func Thin(show func(line string)) (pass func(line string), stop func()) {
	var mu sync.Mutex
	var last time.Time
	var waiting *string
	var timer *time.Timer
	ended := false
	send := func() { // the caller holds mu
		if waiting == nil || ended {
			return
		}
		last = time.Now()
		show(*waiting)
		waiting = nil
	}
	pass = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		began := waiting != nil
		waiting = &line
		switch wait := gap - time.Since(last); {
		case wait <= 0:
			send()
		case !began:
			timer = time.AfterFunc(wait, func() {
				mu.Lock()
				defer mu.Unlock()
				send()
			})
		}
	}
	return pass, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		if timer != nil {
			timer.Stop()
		}
	}
}
