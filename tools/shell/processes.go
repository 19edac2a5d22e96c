package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

const (
	mostBackground = 64               // known processes, including ended processes
	keptAfter      = 30 * time.Minute // of ended processes
	noticeEvery    = 15 * time.Second // of a process's watched lines, at most
	noticeLines    = 10               // of output in the notice of an end
)

// Processes are the background commands of a session. [Processes.Close] and the end of the
// server end them. Their notices go to the user, and are kept for the model until
// [Processes.Notices] returns them.
type Processes struct {
	report func(text string)
	ctx    context.Context
	cancel context.CancelFunc
	atWork sync.WaitGroup

	mu       sync.Mutex    // never held while waiting for a background's mu
	all      []*background // in the order they were started
	starting int
	count    int // of all processes ever started
	notices  []processNotice
}

// processNotice is something for the model to hear.
type processNotice struct {
	of   *background
	end  bool // the notice is about its end
	text string
}

// background is a command in the background.
type background struct {
	id, command string
	place       policy.Scope // where it was started
	planned     bool         // it was started in plan mode, and writes nothing
	watch       []string     // a line with any of these texts is reported
	started     time.Time
	log         *processLog
	input       *keyboard
	process     *proc.Process
	stopped     func()        // is called when it has ended; nil: it was not started
	expires     *time.Timer   // its time limit; nil: none
	done        chan struct{} // closed when it has ended

	exit   proc.Exit // valid once done is closed, like the next three fields
	failed error     // an error beside the exit code
	note   string
	ended  time.Time

	mu              sync.Mutex
	killed          string      // why we end it; empty: we do not
	reportedAt      time.Time   // when a watched line was last reported
	unreported      []string    // watched lines since then, the newest few
	unreportedCount int         // how many they were
	nextReport      *time.Timer // when they will be reported
	typed           string      // written since the last whole line
}

// NewProcesses returns the background commands of a session. It calls report with notices
// for the user, from any goroutine. Nil: there are no notices for the user.
func NewProcesses(tell func(text string)) *Processes {
	p := &Processes{report: tell}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close ends all processes and waits for their end, or for ctx.
func (p *Processes) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	for _, b := range p.list() {
		b.setEndReason("the session was closed")
	}
	p.cancel()
	gone := make(chan struct{})
	go func() { p.atWork.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("waiting for background processes: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.all {
		b.log.close()
	}
	p.all = nil
	return nil
}

// Notices returns the texts for the model about events since the last call. Each comes once.
func (p *Processes) Notices() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var texts []string
	for _, n := range p.notices {
		texts = append(texts, n.text)
	}
	p.notices = nil
	return texts
}

// start starts a background command.
func (p *Processes) start(ctx context.Context, env *callEnv, call tools.Call, c Command, watch []string) (*background, error) {
	id, err := p.admit()
	if err != nil {
		return nil, err
	}
	b := &background{
		id: id, command: c.Text, place: c.place(ctx, env), planned: env.Planning, watch: watch,
		started: time.Now(), input: newKeyboard(c.pty), done: make(chan struct{}),
	}
	later := *env.Env
	later.Progress = nil // the call is over by then
	places, err := gate.WatchPlaces(ctx, env.Env, call, c.box, env.Secrets.Hide)
	if err == nil {
		if err = b.begin(ctx, p, env, c); err != nil {
			places.Review(ctx, env.Env, call)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if err != nil {
		return nil, err
	}
	p.all = append(p.all, b)
	p.atWork.Go(func() {
		b.exit, b.failed = b.process.Wait()
		b.stopped()
		b.finish(p, places.Review(p.ctx, &later, call))
	})
	return b, nil
}

// begin starts the process of b, whose end is p's.
func (b *background) begin(ctx context.Context, p *Processes, env *callEnv, c Command) (err error) {
	if b.log, err = newProcessLog(env.OutputDir, env.Secrets, func(line string) { b.matchLine(p, line) }); err != nil {
		return err
	}
	c.Output, c.input = b.log, b.input
	child, err := env.Shell.child(ctx, c)
	if err == nil {
		b.stopped = env.Running(ctx)
		b.process, err = proc.Start(p.ctx, child)
	}
	if err != nil {
		if b.stopped != nil {
			b.stopped()
		}
		b.log.close()
		return err
	}
	if c.Timeout > 0 {
		b.expires = time.AfterFunc(c.Timeout, func() {
			b.setEndReason(fmt.Sprintf("its time limit of %v seconds was over", c.Timeout.Seconds()))
			b.process.Stop(timeoutGrace)
		})
	}
	return nil
}

// admit returns an ID for a new process. If necessary, it removes the oldest ended process.
func (p *Processes) admit() (id string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return "", errors.New("the session is closed")
	}
	p.sweep()
	if len(p.all)+p.starting >= mostBackground {
		oldest := slices.IndexFunc(p.all, (*background).isOver)
		if oldest < 0 {
			return "", fmt.Errorf("%d background processes run already, and more there cannot be: end one by process action=kill, or run this in the foreground", mostBackground)
		}
		p.drop(oldest)
	}
	p.count++
	p.starting++
	return fmt.Sprintf("proc_%d", p.count), nil
}

// sweep drops processes that ended long ago. Its caller holds mu.
func (p *Processes) sweep() {
	for i := len(p.all) - 1; i >= 0; i-- {
		if b := p.all[i]; b.isOver() && time.Since(b.ended) > keptAfter {
			p.drop(i)
		}
	}
}

func (p *Processes) drop(i int) {
	p.all[i].log.close()
	p.all = slices.Delete(p.all, i, i+1)
}

// list returns the running and the recently ended processes.
func (p *Processes) list() []*background {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	return slices.Clone(p.all)
}

func (p *Processes) find(id string) *background {
	for _, b := range p.list() {
		if b.id == id {
			return b
		}
	}
	return nil
}

func (b *background) isOver() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// setEndReason notes why b is going to end. The first reason counts.
func (b *background) setEndReason(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.killed = cmp.Or(b.killed, why)
}

// finish is called once, when nothing of the process is left.
func (b *background) finish(p *Processes, settled string) {
	if b.expires != nil {
		b.expires.Stop()
	}
	b.log.end()
	b.mu.Lock()
	if b.nextReport != nil {
		b.nextReport.Stop()
	}
	b.mu.Unlock()
	b.ended = time.Now()
	b.note = joinNotes(explainLimit(Outcome{Exit: b.exit}), settled)
	if b.failed != nil && p.ctx.Err() == nil {
		b.note = joinNotes(b.note, b.failed.Error())
	}
	p.add(processNotice{b, true, b.exitNotice()}, b.ending())
	close(b.done)
}

// ending describes how it ended.
func (b *background) ending() string {
	if why := b.reason(); why != "" {
		return joinNotes("was ended, because "+why, b.note)
	}
	text := fmt.Sprintf("has ended with exit code %d after %v", b.exit.Code, b.ended.Sub(b.started).Round(time.Second/10))
	return joinNotes(text, explainSignal(b.exit.Code), b.note)
}

// reason is why we have ended it; empty: we have not.
func (b *background) reason() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.killed
}

// exitNotice returns the model's notice of the end.
func (b *background) exitNotice() string {
	text := fmt.Sprintf("Background process %s (%s) %s.", b.id, tools.OneLine(b.command, 200), b.ending())
	end, err := b.log.read(-1, noticeLines)
	if err == nil && strings.TrimSpace(end.text) != "" {
		text += " Its last lines:\n" + string(lastChars([]byte(end.text), liveTail))
	}
	return text
}

// matchLine records a line with a watched text. The caller is the log, which is locked.
func (b *background) matchLine(p *Processes, line string) {
	if !slices.ContainsFunc(b.watch, func(w string) bool { return strings.Contains(line, w) }) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unreportedCount++
	if b.unreported = append(b.unreported, tools.OneLine(line, 500)); len(b.unreported) > noticeLines {
		b.unreported = b.unreported[1:]
	}
	if b.nextReport != nil {
		return
	}
	if wait := noticeEvery - time.Since(b.reportedAt); wait > 0 {
		b.nextReport = time.AfterFunc(wait, func() { b.scheduleReport(p) })
		return
	}
	b.reportWatched(p)
}

func (b *background) scheduleReport(p *Processes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nextReport = nil
	b.reportWatched(p)
}

// reportWatched reports the watched lines since its last report. Its caller holds mu.
func (b *background) reportWatched(p *Processes) {
	b.reportedAt = time.Now()
	text := fmt.Sprintf("Background process %s (%s) wrote %s that you watch for:\n%s",
		b.id, tools.OneLine(b.command, 200), plural(b.unreportedCount, "line"), strings.Join(b.unreported, "\n"))
	if b.unreportedCount > len(b.unreported) {
		text += fmt.Sprintf("\n(the last %d of them)", len(b.unreported))
	}
	p.add(processNotice{b, false, text}, "wrote: "+escape.Line(b.unreported[len(b.unreported)-1]))
	b.unreported, b.unreportedCount = nil, 0
}

// add keeps a notice for the model, and shows it to the user in brief.
func (p *Processes) add(n processNotice, brief string) {
	p.mu.Lock()
	p.notices = append(p.notices, n)
	p.mu.Unlock()
	if p.report != nil && p.ctx.Err() == nil {
		p.report(fmt.Sprintf("Background process %s (%s) %s", n.of.id, tools.OneLine(escape.Line(n.of.command), 80), brief))
	}
}

// dropNotice drops the notice of an end already known to the model.
func (p *Processes) dropNotice(b *background) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notices = slices.DeleteFunc(p.notices, func(n processNotice) bool { return n.end && n.of == b })
}

// Busy reports whether any process still runs.
func (p *Processes) Busy() bool {
	return p != nil && slices.ContainsFunc(p.list(), func(b *background) bool { return !b.isOver() })
}
