package spending

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/tools"
)

// paid is a model whose requests have a usage. If price is nil, it has no known price.
type paid struct {
	usage model.Usage
	price *model.Price
	sent  *int
}

func (p paid) Price() (model.Price, bool) {
	if p.price == nil {
		return model.Price{}, false
	}
	return *p.price, true
}

func (p paid) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		*p.sent++
		yield(model.Delta{Usage: &p.usage, Finish: model.FinishStop, Answered: "x/m"}, nil)
	}
}

// bed is a ledger with a user who gives answers in sequence.
type bed struct {
	*Ledger
	set       config.Limits
	maxTokens int
	stored    model.Usage
	today     float64
	answers   []tools.Decision
	asked     []tools.ApprovalRequest
	shown     []string
	sent      int
	kept      map[string]float64 // the stored raises
}

func newBed(set config.Limits, answers ...tools.Decision) *bed {
	b := &bed{set: set, answers: answers}
	b.Ledger = New(Config{
		Limits:  func() (config.Limits, int) { return b.set, b.maxTokens },
		Session: func(context.Context) (model.Usage, error) { return b.stored, nil },
		Today:   func(context.Context) (float64, error) { return b.today, nil },
		Ask: func(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
			b.asked = append(b.asked, q)
			if len(b.answers) == 0 {
				return "", errors.New("no user")
			}
			answer := b.answers[0]
			b.answers = b.answers[1:]
			return answer, nil
		},
		Raised: func(context.Context) (map[string]float64, error) { return b.kept, nil },
		Keep: func(_ context.Context, raised map[string]float64) error {
			b.kept = raised
			return nil
		},
		Show: func(text string) { b.shown = append(b.shown, text) },
	})
	return b
}

// send sends requests of 4,000 bytes, about 1,000 tokens, and returns the last error.
func (b *bed) send(ctx context.Context, m model.Model, n int) (err error) {
	for range n {
		for _, e := range m.Stream(ctx, &model.Request{System: strings.Repeat("x", 4000)}) {
			err = e
		}
	}
	return err
}

func (b *bed) model(usage model.Usage, price *model.Price) model.Model {
	return b.Model(paid{usage, price, &b.sent})
}

var (
	used  = model.Usage{Input: 1000, Output: 100, Cost: 0.1}
	price = &model.Price{Input: 100, Output: 1000} // 1,000 tokens cost $0.10
)

// TestLimits checks when the user is asked, and the effect of the answers.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set       config.Limits
		answers   []tools.Decision
		price     *model.Price
		usage     model.Usage
		stored    model.Usage
		today     float64
		maxTokens int
		requests  int
		sent      int
		asked     int
		stopped   bool
	}{
		"no limit":                          {price: price, usage: used, requests: 50, sent: 50},
		"below":                             {set: config.Limits{SessionUSD: 1, DayUSD: 9, SessionTokens: 99999}, price: price, usage: used, requests: 9, sent: 9},
		"stop":                              {set: config.Limits{SessionUSD: 0.35}, answers: []tools.Decision{stop}, price: price, usage: used, requests: 9, sent: 3, asked: 1, stopped: true},
		"no user":                           {set: config.Limits{SessionUSD: 0.35}, price: price, usage: used, requests: 9, sent: 3, asked: 1, stopped: true},
		"continue":                          {set: config.Limits{SessionUSD: 0.35}, answers: []tools.Decision{goOn}, price: price, usage: used, requests: 9, sent: 9, asked: 1},
		"raise, then stop":                  {set: config.Limits{SessionUSD: 0.35}, answers: []tools.Decision{raise, stop}, price: price, usage: used, requests: 20, sent: 7, asked: 2, stopped: true},
		"raise twice":                       {set: config.Limits{SessionUSD: 0.35}, answers: []tools.Decision{raise, raise}, price: price, usage: used, requests: 20, sent: 7, asked: 2, stopped: true},
		"stored before":                     {set: config.Limits{SessionUSD: 1}, stored: model.Usage{Cost: 0.95}, price: price, usage: used, requests: 1, asked: 1, stopped: true},
		"the day":                           {set: config.Limits{DayUSD: 1}, today: 0.95, price: price, usage: used, requests: 1, asked: 1, stopped: true},
		"tokens":                            {set: config.Limits{SessionTokens: 5000}, usage: used, requests: 9, sent: 4, asked: 1, stopped: true},
		"tokens of the response, if set":    {set: config.Limits{SessionTokens: 5000}, usage: used, maxTokens: 3500, requests: 9, sent: 1, asked: 1, stopped: true},
		"dollars of the response, if set":   {set: config.Limits{SessionUSD: 1}, price: price, usage: used, maxTokens: 800, requests: 9, sent: 2, asked: 1, stopped: true},
		"the endpoint counts more than we":  {set: config.Limits{SessionTokens: 5000}, usage: model.Usage{Input: 2000}, requests: 9, sent: 2, asked: 1, stopped: true},
		"no price known":                    {set: config.Limits{SessionUSD: 0.01}, usage: model.Usage{Input: 1000, Output: 100}, requests: 9, sent: 9},
		"a price of 0":                      {set: config.Limits{SessionUSD: 0.01}, price: &model.Price{}, usage: model.Usage{Input: 1000, Output: 100}, requests: 9, sent: 9},
		"two limits, each asks in its turn": {set: config.Limits{SessionUSD: 0.35, SessionTokens: 5000}, answers: []tools.Decision{goOn, stop}, price: price, usage: used, requests: 20, sent: 4, asked: 2, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(tc.set, tc.answers...)
			b.maxTokens, b.stored, b.today = tc.maxTokens, tc.stored, tc.today
			err := b.send(t.Context(), b.model(tc.usage, tc.price), tc.requests)
			var stopped *model.Stopped
			if errors.As(err, &stopped) != tc.stopped || b.sent != tc.sent || len(b.asked) != tc.asked {
				t.Errorf("sent %d, asked %d times, %v; want %d, %d, stopped %v", b.sent, len(b.asked), err, tc.sent, tc.asked, tc.stopped)
			}
			for _, q := range b.asked {
				ids := []tools.Decision{}
				for _, c := range q.Options() {
					ids = append(ids, c.ID)
				}
				first := slices.Equal(ids, []tools.Decision{goOn, raise, stop})
				if again := slices.Equal(ids, []tools.Decision{goOn, stop}); !first && !again || !strings.Contains(q.Reason, "could pass limits.") {
					t.Errorf("%q, %s", ids, q.Reason)
				}
			}
		})
	}
}

// A new turn asks again: “continue” and “stop” hold for a turn, “raise” for the session.
func TestTurns(t *testing.T) {
	t.Parallel()
	b := newBed(config.Limits{SessionUSD: 0.35}, goOn, stop, raise)
	b.stored = model.Usage{Cost: 0.3}
	m := b.model(used, price)
	for i, want := range []int{3, 3, 4} { // sent in all; raised, the limit is $0.70
		b.Turn()
		_ = b.send(t.Context(), m, 3) // the number tells
		if b.sent != want {
			t.Errorf("turn %d: %d sent, want %d", i+1, b.sent, want)
		}
	}
}

// A raise is stored: a later server has it, and does not offer another one.
func TestRaisedBefore(t *testing.T) {
	t.Parallel()
	b := newBed(config.Limits{SessionUSD: 0.35}, raise)
	if err := b.send(t.Context(), b.model(used, price), 4); err != nil || b.kept["session_usd"] != 0.35 {
		t.Fatalf("%v, %v is stored", err, b.kept)
	}
	later := newBed(config.Limits{SessionUSD: 0.35}, stop)
	later.stored, later.kept = model.Usage{Cost: 0.4}, b.kept
	err := later.send(t.Context(), later.model(used, price), 9)
	var stopped *model.Stopped
	if !errors.As(err, &stopped) || later.sent != 3 || len(later.asked) != 1 || len(later.asked[0].Options()) != 2 {
		t.Errorf("%v, sent %d, asked %+v", err, later.sent, later.asked)
	}
}

// Input from the endpoint's cache counts at the price of the cache. After a compaction, all input counts at the full price.
func TestCached(t *testing.T) {
	t.Parallel()
	b := newBed(config.Limits{SessionUSD: 0.25}, stop)
	cheap := &model.Price{Input: 100, Output: 1000, CacheRead: 10}
	m := b.model(model.Usage{Input: 1000, CachedRead: 900, Cost: 0.1}, cheap)
	ask := func(bytes int) (err error) {
		for _, e := range m.Stream(t.Context(), &model.Request{SessionID: "s", System: strings.Repeat("x", bytes)}) {
			err = e
		}
		return err
	}
	for range 2 { // $0.10 and 1,000 tokens each; 100 of them at the full price leave a third request below the limit
		if err := ask(4000); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(4000); err != nil || len(b.asked) != 0 {
		t.Errorf("%v, asked %d times: the cached part counts in full", err, len(b.asked))
	}
	b.set.SessionUSD = 0.35
	if err := ask(3000); err == nil {
		t.Error("a shorter history counts as cached")
	}
}

// A model without a known price is named once.
func TestUnpriced(t *testing.T) {
	t.Parallel()
	b := newBed(config.Limits{SessionUSD: 1})
	if err := b.send(t.Context(), b.model(model.Usage{Input: 1000}, nil), 3); err != nil || len(b.shown) != 1 || !strings.Contains(b.shown[0], "x/m: its price is not known") {
		t.Errorf("%v, %q", err, b.shown)
	}
}

// TestLeft checks the lines of /usage and of the picker.
func TestLeft(t *testing.T) {
	t.Parallel()
	b := newBed(config.Limits{SessionUSD: 0.35, DayUSD: 5, SessionTokens: 1_000_000}, raise)
	b.today = 1.5
	if err := b.send(t.Context(), b.model(used, price), 4); err != nil {
		t.Fatal(err)
	}
	lines, err := b.Left(t.Context())
	want := []string{
		"limits.session_usd: $0.40 of $0.70 spent, $0.30 left (raised by $0.35 for this session)", "limits.day_usd: $1.50 of $5.00 spent, $3.50 left",
		"limits.session_tokens: 4,400 of 1,000,000 tokens spent, 995,600 tokens left",
	}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
}

// While a request runs, its estimate counts: concurrent subagents do not pass a limit together. Others wait while the user is asked, and get the same answer. A quiet request never asks.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(config.Limits{SessionUSD: 0.25}, stop)
		begun, release := make(chan struct{}, 9), make(chan struct{})
		slow := b.Model(waiting{paid{used, price, &b.sent}, begun, release})
		errs := make(chan error, 5)
		for range 5 {
			go func() { errs <- b.send(t.Context(), slow, 1) }()
		}
		synctest.Wait()
		if len(begun) != 2 || len(errs) != 3 || len(b.asked) != 1 {
			t.Errorf("%d run, %d stopped, asked %d times", len(begun), len(errs), len(b.asked))
		}
		b.Turn()
		if err := b.send(t.Context(), b.Quiet(paid{used, price, &b.sent}), 1); err == nil || len(b.asked) != 1 {
			t.Errorf("a quiet request: %v, asked %d times", err, len(b.asked))
		}
		close(release)
		synctest.Wait()
	})
}

// waiting is a model whose requests wait.
type waiting struct {
	paid
	begun   chan<- struct{}
	release <-chan struct{}
}

func (w waiting) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		w.begun <- struct{}{}
		<-w.release
		yield(model.Delta{Usage: &w.usage, Finish: model.FinishStop}, nil)
	}
}
