// Package spending keeps the requests of a session below the user's limits in dollars and tokens. If
// a request could pass a limit, it asks the user first.
package spending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config has the functions of a [Ledger].
type Config struct {
	// Limits returns the configured limits, and model.max_tokens.
	Limits func() (l config.Limits, maxTokens int)
	// Session returns the usage of the stored session.
	Session func(ctx context.Context) (model.Usage, error)
	// Today returns the dollars spent by all sessions today.
	Today func(ctx context.Context) (float64, error)
	// Ask asks the user. If no user can answer, it returns an error.
	Ask func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error)
	// Raised returns the amounts by which limits were raised for the session, by their names. Keep stores them.
	Raised func(ctx context.Context) (map[string]float64, error)
	Keep   func(ctx context.Context, raised map[string]float64) error
	// Show shows the user a notice.
	Show func(text string)
}

// Ledger counts the usage of a session, subagents included. It is safe for concurrent use.
type Ledger struct {
	cfg    Config
	asking chan struct{} // holds a token while a request is checked; others wait for the answer

	mu       sync.Mutex  // guards the following, never while waiting
	read     bool        // spent and raised include the stored values
	spent    model.Usage // of the session
	reserved cost        // of running requests
	allowed  map[string]bool
	raised   map[string]float64
	stopped  string          // the reason; empty: the turn goes on
	unpriced map[string]bool // models named to the user
	ratio    float64         // of the newest response's count of its input to our own; 0: none yet
	cached   map[string]read // by session and model: the newest response
}

// New returns a ledger.
func New(c Config) *Ledger { return &Ledger{cfg: c, asking: make(chan struct{}, 1)} }

// read is the input of a request, and the part that came from the endpoint's cache.
type read struct{ own, cached int }

// cost is the estimate of a request.
type cost struct {
	tokens int
	usd    float64
}

// limit is a configured limit with its usage.
type limit struct {
	name  string // of the setting
	usd   bool
	most  float64 // own, and the raise
	own   float64 // as configured
	spent float64
}

// Answers of the user.
const (
	goOn  tools.Decision = "continue"
	raise tools.Decision = "raise"
	stop  tools.Decision = "stop"
)

// Turn begins a turn: limits passed in the turn before apply again.
func (l *Ledger) Turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed, l.stopped = nil, ""
}

// admit returns when a request may be sent. end must be called after the request. If the request
// must not be sent, admit returns a [*model.Stopped]. If asks is false, the user is not asked.
func (l *Ledger) admit(ctx context.Context, m model.Model, own input, asks bool) (end func(), err error) {
	set, maxTokens := l.cfg.Limits()
	if set == (config.Limits{}) {
		return func() {}, nil
	}
	if asks {
		select {
		case l.asking <- struct{}{}:
			defer func() { <-l.asking }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	tokens, cached := l.scaled(own)
	next := cost{tokens: tokens + maxTokens}
	price, priced := model.PriceOf(m)
	if priced {
		next.usd = (float64(tokens-cached)*price.Input + float64(cached)*cmp.Or(price.CacheRead, price.Input) + float64(maxTokens)*price.Output) / 1e6
	}
	for {
		l.mu.Lock()
		stopped := l.stopped
		l.mu.Unlock()
		if stopped != "" {
			return nil, &model.Stopped{Reason: stopped}
		}
		all, err := l.limits(ctx, set)
		if err != nil {
			return nil, fmt.Errorf("adding up what was spent: %w", err)
		}
		passed := l.passes(all, next)
		if passed == nil {
			return l.reserve(next), nil
		}
		if !asks {
			return nil, &model.Stopped{Reason: "The request could pass limits." + passed.name + "."}
		}
		l.decide(ctx, *passed, next)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// limits returns the configured limits with their usage.
func (l *Ledger) limits(ctx context.Context, set config.Limits) (all []limit, err error) {
	spent, running, err := l.session(ctx)
	if err != nil {
		return nil, err
	}
	add := func(name string, own, spent float64, usd bool) {
		if own > 0 {
			l.mu.Lock()
			all = append(all, limit{name, usd, own + l.raised[name], own, spent})
			l.mu.Unlock()
		}
	}
	add("session_usd", set.SessionUSD, spent.Cost+running.usd, true)
	if set.DayUSD > 0 {
		today, err := l.cfg.Today(ctx)
		if err != nil {
			return nil, err
		}
		add("day_usd", set.DayUSD, today+running.usd, true)
	}
	add("session_tokens", float64(set.SessionTokens), float64(spent.Input+spent.Output+running.tokens), false)
	return all, nil
}

// session returns the usage of the session, and the estimates of its running requests.
func (l *Ledger) session(ctx context.Context) (model.Usage, cost, error) {
	l.mu.Lock()
	read := l.read
	l.mu.Unlock()
	if !read {
		stored, err := l.cfg.Session(ctx)
		if err != nil {
			return model.Usage{}, cost{}, err
		}
		raised, err := l.cfg.Raised(ctx)
		if err != nil {
			return model.Usage{}, cost{}, err
		}
		l.mu.Lock()
		if !l.read {
			l.read, l.spent, l.raised = true, stored, raised
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent, l.reserved, nil
}

// passes returns the first limit in danger from the next request, or nil.
func (l *Ledger) passes(all []limit, next cost) *limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range all {
		more := float64(next.tokens)
		if one.usd {
			more = next.usd
		}
		if one.spent+more > one.most && !l.allowed[one.name] && (!one.usd || next.usd > 0) {
			return &one
		}
	}
	return nil
}

// reserve counts a request as spent until end is called.
func (l *Ledger) reserve(next cost) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved = cost{l.reserved.tokens + next.tokens, l.reserved.usd + next.usd}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reserved = cost{l.reserved.tokens - next.tokens, l.reserved.usd - next.usd}
	}
}

// decide asks the user about a limit, and keeps the answer. Without an answer, the turn stops.
func (l *Ledger) decide(ctx context.Context, passed limit, next cost) {
	size := amount.Comma(next.tokens) + " tokens"
	if passed.usd {
		size = fmt.Sprintf("about %s (%s)", dollars(next.usd), size)
	}
	l.mu.Lock()
	choices := []tools.Choice{{ID: goOn, Label: "Continue this turn", Allows: true}}
	if l.raised[passed.name] == 0 {
		choices = append(choices, tools.Choice{ID: raise, Label: "Raise by " + passed.text(passed.own) + " for this session", Allows: true, Lasting: true})
	}
	l.mu.Unlock()
	choice, err := l.cfg.Ask(ctx, tools.ApprovalRequest{
		Call: tools.Call{ID: "limit-" + uuid.NewString()}, Kind: tools.KindOther, Alone: true,
		Title:   "Send the next request to the model",
		Reason:  fmt.Sprintf("could pass limits.%s: %s is spent, and the request has %s", passed.name, passed.share(), size),
		Choices: append(choices, tools.Choice{ID: stop, Label: "Stop"}),
	})
	if err == nil && choice == raise {
		l.raise(ctx, passed)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && choice == goOn:
		if l.allowed == nil {
			l.allowed = map[string]bool{}
		}
		l.allowed[passed.name] = true
	default:
		l.stopped = passed.stopped(size)
		if err != nil && ctx.Err() == nil {
			l.stopped += " No user could be asked. Set a higher limit in config.yaml to go on."
		}
	}
}

// stopped returns the reason for the end of a turn before a request of a size.
func (l limit) stopped(size string) string {
	return fmt.Sprintf("Stopped before the next request, which could pass limits.%s: %s is spent, and the request has %s.", l.name, l.share(), size)
}

// raise raises a limit once, and stores that for a later server. If it cannot be stored, the user is told.
func (l *Ledger) raise(ctx context.Context, passed limit) {
	l.mu.Lock()
	if l.raised[passed.name] > 0 {
		l.stopped = passed.stopped("more")
		l.mu.Unlock()
		return
	}
	raised := maps.Clone(l.raised)
	if raised == nil {
		raised = map[string]float64{}
	}
	raised[passed.name] = passed.own
	l.raised = raised
	l.mu.Unlock()
	if err := l.cfg.Keep(context.WithoutCancel(ctx), raised); err != nil {
		l.cfg.Show(fmt.Sprintf("limits.%s is raised until the server ends: %v.", passed.name, err))
	}
}

// scaled converts our own count of an input to the endpoint's, if that is higher. cached is the part at the price of the
// cache: as many tokens as came from the cache in the request before. After a compaction it is 0.
func (l *Ledger) scaled(own input) (tokens, cached int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tokens = int(float64(own.tokens) * min(max(l.ratio, 1), mostRatio))
	if before := l.cached[own.of]; own.stored && own.tokens >= before.own {
		cached = min(before.cached, tokens)
	}
	return tokens, cached
}

// mostRatio limits the ratio of the endpoint's tokens to our own.
const mostRatio = 4

// add counts the usage of a response to a request with the input own. If a limit in dollars cannot count it, the model is named
// once.
func (l *Ledger) add(u model.Usage, own input, name string, priced bool) {
	set, _ := l.cfg.Limits()
	l.mu.Lock()
	if l.read {
		l.spent = l.spent.Plus(u)
	}
	if own.tokens > 0 && u.Input > 0 {
		l.ratio = float64(u.Input) / float64(own.tokens)
	}
	if l.cached == nil {
		l.cached = map[string]read{}
	}
	l.cached[own.of] = read{own.tokens, u.CachedRead}
	tell := u.Cost == 0 && u.Input+u.Output > 0 && !priced && (set.SessionUSD > 0 || set.DayUSD > 0) && !l.unpriced[name]
	if tell {
		if l.unpriced == nil {
			l.unpriced = map[string]bool{}
		}
		l.unpriced[name] = true
	}
	l.mu.Unlock()
	if tell {
		l.cfg.Show(fmt.Sprintf("The limits in dollars do not count %s: its price is not known. Set its cost under providers.NAME.models in config.yaml, or limits.session_tokens.", name))
	}
}

// Left returns a line for each configured limit, with the amounts spent and left.
func (l *Ledger) Left(ctx context.Context) (lines []string, err error) {
	set, _ := l.cfg.Limits()
	if set == (config.Limits{}) {
		return nil, nil
	}
	all, err := l.limits(ctx, set)
	if err != nil {
		return nil, errors.Join(errors.New("the limits are not known"), err)
	}
	for _, one := range all {
		line := fmt.Sprintf("limits.%s: %s spent, %s left", one.name, one.share(), one.text(max(one.most-one.spent, 0)))
		if one.most > one.own {
			line += fmt.Sprintf(" (raised by %s for this session)", one.text(one.own))
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// share writes the spent part of the limit, such as "$0.40 of $1.00".
func (l limit) share() string {
	if l.usd {
		return dollars(l.spent) + " of " + dollars(l.most)
	}
	return amount.Comma(int(l.spent)) + " of " + l.text(l.most)
}

// text writes an amount of the limit.
func (l limit) text(n float64) string {
	if l.usd {
		return dollars(n)
	}
	return amount.Comma(int(n)) + " tokens"
}

func dollars(n float64) string {
	if n < 0.1 && n > 0 {
		return fmt.Sprintf("$%.4f", n)
	}
	return fmt.Sprintf("$%.2f", n)
}
