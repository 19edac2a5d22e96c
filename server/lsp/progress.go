package lsp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

const (
	reportEvery = 100 * time.Millisecond // the minimum time between reports of a progress
	clockAfter  = 2 * time.Second        // a longer call is shown with its time
	createGrace = time.Second            // a finished turn waits so long for its progress to exist
)

// progresses holds the progress of turns and scripts, by their cancel tokens.
type progresses struct {
	log    *slog.Logger
	editor *editor.Editor

	next   atomic.Int64
	broken atomic.Bool // the editor never answers create: do not ask again

	mu      sync.Mutex
	cancels map[lsp.ProgressToken]func()
}

func (p *progresses) add(token lsp.ProgressToken, cancel func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancels == nil {
		p.cancels = map[lsp.ProgressToken]func(){}
	}
	p.cancels[token] = cancel
}

func (p *progresses) remove(token lsp.ProgressToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cancels, token)
}

// cancel cancels the work of a token, if there is any.
func (p *progresses) cancel(token lsp.ProgressToken) {
	p.mu.Lock()
	cancel := p.cancels[token]
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// progress is the work-done progress of a turn. It receives the turn's events, and shows them at a
// pace for editors, from a separate goroutine. [progress.finish] waits for the goroutine.
type progress struct {
	all           *progresses
	token         lsp.ProgressToken
	title         string
	given         bool // the token came from the editor: it exists already
	separateCalls bool // the progress of calls is shown by bars of their own
	news          chan struct{}
	stop          chan struct{}
	done          chan struct{}

	mu    sync.Mutex
	doing string    // the running call, or a word for the state of the model
	since time.Time // when doing began
	call  bool      // doing is a call
	line  string    // the progress of the running call, in place of all else
	open  []agent.CallStarted
	calls int
	brief string // of the turn's summary
	end   string
}

// startTurn shows a turn. If the editor shows more progress than its own, calls with progress, such
// as scripts, get a separate progress.
func (a *progresses) startTurn(token lsp.ProgressToken, title string, cancel func()) *progress {
	return a.start(token, "Hermes: "+title, a.editor.Client.Progress, cancel)
}

// start shows a piece of work; cancel stops it. token is the editor's own. If token is nil and the
// editor shows progress at all, start makes a token.
func (a *progresses) start(token lsp.ProgressToken, title string, apart bool, cancel func()) *progress {
	p := &progress{
		all: a, token: token, title: title, given: token != nil, separateCalls: apart,
		news: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if token == nil {
		if !a.editor.Client.Progress || a.broken.Load() {
			close(p.done)
			return p
		}
		p.token = lsp.String("hermes-" + strconv.FormatInt(a.next.Add(1), 10))
	}
	a.add(p.token, cancel)
	go p.run()
	return p
}

// Event makes progress an [agent.Sink].
func (p *progress) Event(e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		p.setActivity("writing", false)
	case agent.Thought:
		p.setActivity("thinking", false)
	case agent.CallStarted:
		if p.open = append(p.open, e); len(p.open) == 1 {
			p.setActivity(chat.OneLine(e.Title, 80), true)
		}
	case agent.CallProgress:
		if e.Line != "" && !p.separateCalls {
			p.line = chat.OneLine(e.Line, 120)
			p.wake()
		}
	case agent.CallEnded:
		p.calls++
		p.callEnded(e.Call.ID)
	case agent.TurnSummary:
		p.brief = e.Brief
	case agent.Notice:
		p.setActivity(chat.OneLine(e.Text, 80), false)
	case agent.Compaction:
		p.setActivity("compacting the session", e.Status == agent.CompactionRunning)
	}
}

// callEnded removes an ended call and shows the oldest running call. The lock is held.
func (p *progress) callEnded(id string) {
	ended := slices.IndexFunc(p.open, func(c agent.CallStarted) bool { return c.Call.ID == id })
	if ended >= 0 {
		p.open = slices.Delete(p.open, ended, ended+1)
	}
	switch {
	case len(p.open) == 0:
		p.setActivity("thinking", false)
	case ended == 0:
		p.setActivity(chat.OneLine(p.open[0].Title, 80), true)
	default:
		p.wake()
	}
}

// setActivity sets the message; the lock is held.
func (p *progress) setActivity(doing string, call bool) {
	if p.doing == doing && !call {
		return
	}
	p.doing, p.call, p.since, p.line = doing, call, time.Now(), ""
	p.wake()
}

// wake starts the next report.
func (p *progress) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// message returns the text to show now: "$ go test ./… · 12 s · 3 calls".
func (p *progress) message() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		return p.line
	}
	parts := []string{}
	if p.doing != "" {
		parts = append(parts, p.doing)
	}
	if took := time.Since(p.since); p.call && took >= clockAfter {
		parts = append(parts, fmt.Sprintf("%d s", int(took.Seconds())))
	}
	if p.calls > 0 {
		parts = append(parts, counted(p.calls))
	}
	return strings.Join(parts, " · ")
}

func counted(calls int) string {
	if calls == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", calls)
}

// finish ends the progress, and returns when the editor has been notified.
func (p *progress) finish(end string) {
	p.mu.Lock()
	p.end = end
	if p.calls > 0 {
		p.end += " · " + counted(p.calls)
	}
	if p.brief != "" {
		p.end += " · " + p.brief
	}
	p.mu.Unlock()
	close(p.stop)
	<-p.done
	if p.token != nil {
		p.all.remove(p.token)
	}
}

func (p *progress) run() {
	defer close(p.done)
	if !p.given && !p.create() {
		<-p.stop
		return
	}
	yes := true
	p.send(&lsp.WorkDoneProgressBegin{Kind: "begin", Title: p.title, Cancellable: &yes})
	p.report()
	end := p.end // set before stop is closed
	p.send(&lsp.WorkDoneProgressEnd{Kind: "end", Message: &end})
}

// report sends changes until the work ends.
func (p *progress) report() {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	last := ""
	for {
		select {
		case <-p.stop:
			return
		case <-p.news:
		case <-clock.C:
		}
		message := p.message()
		if message == last {
			continue
		}
		last = message
		p.send(&lsp.WorkDoneProgressReport{Kind: "report", Message: &message})
		pause := time.NewTimer(reportEvery)
		select {
		case <-p.stop:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// create asks the editor to show the token. The turn does not wait for it, but its
// end does, for a moment.
func (p *progress) create() bool {
	ctx, cancel := context.WithCancel(p.all.editor.Ctx)
	defer cancel()
	created := make(chan error, 1)
	go func() {
		params := &lsp.WorkDoneProgressCreateParams{Token: p.token}
		created <- p.all.editor.Call(ctx, editor.AnswerLimit, lsp.MethodWindowWorkDoneProgressCreate, params, nil)
	}()
	var err error
	select {
	case err = <-created:
	case <-p.stop:
		grace := time.NewTimer(createGrace)
		defer grace.Stop()
		select {
		case err = <-created:
		case <-grace.C:
			cancel()
			err = <-created
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.all.broken.Store(true)
	}
	return err == nil
}

func (p *progress) send(value any) {
	body, err := lsp.Marshal(value)
	if err != nil {
		p.all.log.Error("encoding a progress", "error", err)
		return
	}
	p.all.editor.Notify(lsp.MethodProgress, &lsp.ProgressParams{Token: p.token, Value: body})
}
