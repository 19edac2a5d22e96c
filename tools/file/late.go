package file

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Late finds problems of a session's edits that the editor or the language server reports after the
// result of the edit. It also finds reported problems that are now gone, such as in a file while
// the other file of a rename was unchanged. Nil finds none.
type Late struct {
	mu     sync.Mutex
	who    Diagnoser
	files  map[string]*edited // by absolute path
	looks  sync.WaitGroup
	slow   bool // the last look did not end in time
	closed bool
}

// edited is a recently edited file.
type edited struct {
	name  string
	known []Diagnostic // the problems before the edit, and all reported to the model
	base  []byte       // the text before the edit, if its problems are unknown; otherwise nil
	text  []byte       // after the edit
	told  []Diagnostic // problems reported to the model as new, and not yet as gone
	at    time.Time
	last  bool      // a look that began after lateFor has ended: later problems do not belong to the edit
	look  *look     // the latest
	seen  time.Time // when the latest answered look began; it has no problems of later
}

const (
	// lateFor is how long after an edit its problems may arrive. The first request after this time
	// is the last.
	lateFor = 30 * time.Second
	// goneFor is how long after an edit the model learns that its problems are gone.
	goneFor = 10 * time.Minute
	// editorLimit is how long a look waits for the answer of an editor.
	editorLimit = 10 * time.Second
)

// look is a request for the problems of a file. It continues without a waiting call.
type look struct {
	done  chan struct{} // closed after the other fields are set
	stop  context.CancelFunc
	began time.Time

	answered      bool
	known         bool // before holds the diagnostics of the text before the edit
	before, after []Diagnostic
}

// ended reports whether the look has ended.
func (l *look) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wait returns when the look or ctx has ended.
func (l *look) wait(ctx context.Context) {
	select {
	case <-l.done:
	case <-ctx.Done():
	}
}

// start requests the problems of a file, and of its earlier text base unless base is nil. The lock is held.
func (l *Late) start(who Diagnoser, path string, base []byte, wait time.Duration) *look {
	limit := editorLimit
	w, tells := who.(Waiter)
	if tells = tells && w.WaitFor() > 0; tells {
		limit = max(lateFor, w.WaitFor())
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	k := &look{done: make(chan struct{}), stop: stop, began: time.Now()}
	if l.closed {
		stop()
		close(k.done)
		return k
	}
	l.looks.Go(func() {
		defer stop()
		defer close(k.done)
		var err error
		if c, ok := who.(Comparer); ok && tells {
			k.before, k.after, k.known, err = c.Compare(ctx, path, base)
		} else {
			k.after, err = who.Diagnose(ctx, path, wait)
		}
		if k.answered = err == nil; k.answered {
			l.setSlow(false)
		}
	})
	return k
}

func (l *Late) setSlow(slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = slow
}

// waitFor returns how long the result of an edit waits for a look. After a server was too slow, such as
// during the load of a large project, the next edits wait a shorter time.
func (l *Late) waitFor(limit time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slow {
		return min(limit, newsLimit)
	}
	return limit
}

// Close ends all looks.
func (l *Late) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	for _, e := range l.files {
		e.look.stop()
	}
	l.mu.Unlock()
	l.looks.Wait()
}

// baseline returns the problems of a file without those of its last edits. Without an edit, edited is
// false. If the problems before the edits are unknown, comparable is false.
func (l *Late) baseline(path string) (known []Diagnostic, comparable, edited bool) {
	if l == nil {
		return nil, false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.files[path]
	if e == nil || e.last {
		return nil, false, false
	}
	return e.known, e.base == nil, true
}

// edit records an edit and requests its problems.
func (l *Late) edit(d *diagnosis, w *workspace.Written, wait time.Duration) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = map[string]*edited{}
	}
	l.who = d.who
	e := l.files[w.Path]
	if e == nil {
		e = &edited{}
		l.files[w.Path] = e
	} else {
		e.look.stop() // its answer may belong to the text before this edit
	}
	before, known := d.before[w.Path]
	switch {
	case known || w.Created:
		e.known, e.base = before, nil
	case e.base == nil:
		e.base = slices.Concat([]byte{}, w.Old) // never nil
	}
	e.name, e.text, e.at, e.last = w.Name, w.New, time.Now(), false
	e.look = l.start(d.who, w.Path, e.base, wait)
	return e.look
}

// news are the changes in the problems of a file.
type news struct {
	sure   []Diagnostic // added by an edit
	unsure []Diagnostic // outside the lines of an edit; they may be older
	fixed  []Diagnostic // gone
}

// came returns a line for each new problem.
func (n news) came(name string) (lines []string) {
	for _, d := range n.sure {
		lines = append(lines, d.text(name))
	}
	for _, d := range n.unsure {
		lines = append(lines, d.text(name)+"; it may be older than the edit")
	}
	return lines
}

// settle returns the news of the look after an edit. Until its end, there are none.
func (l *Late) settle(path string, k *look) (name string, n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.files[path]
	if e == nil || e.look != k || !k.ended() || !k.answered {
		return "", n
	}
	e.learn(k)
	n = e.arrived(k.after)
	n.fixed = without(e.known, k.after)
	// The model knows which earlier problems are gone. If they come again, they are new.
	e.told, e.known = without(e.told, without(e.told, k.after)), k.after
	e.told = slices.Concat(e.told, n.sure, n.unsure)
	return e.name, n
}

// learn copies the problems before the edit from a look.
func (e *edited) learn(k *look) {
	if e.base != nil && k.known {
		e.known, e.base = k.before, nil
	}
}

// arrived returns the new problems. If the problems before the edit are unknown, problems on its lines are
// sure, and the others may be older.
func (e *edited) arrived(after []Diagnostic) (n news) {
	if e.base == nil {
		n.sure = newDiagnostics(e.known, after)
		return n
	}
	changes := diff.Compare(strings.SplitAfter(string(e.base), "\n"), strings.SplitAfter(string(e.text), "\n"))
	for _, d := range newDiagnostics(nil, after) {
		written := slices.ContainsFunc(changes, func(c diff.Change) bool { return d.Line > c.NewFrom && d.Line <= c.NewTo })
		switch {
		case written:
			n.sure = append(n.sure, d)
		case !slices.ContainsFunc(e.told, func(t Diagnostic) bool { t.Line = d.Line; return t == d }):
			n.unsure = append(n.unsure, d)
		}
	}
	e.base = nil
	return n
}

// without returns the diagnostics in list but not in others. Equal diagnostics are counted.
func without(list, others []Diagnostic) []Diagnostic { return newDiagnostics(others, list) }

// Found returns a text for the model, or "": the problems since the last report, and the reported
// problems that are gone.
func (l *Late) Found(ctx context.Context) string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	d := &diagnosis{who: l.who}
	l.mu.Unlock()
	if d.who == nil {
		return ""
	}
	now := l.ask(ctx)
	// Some editors report no problems during a check, so problems that seem gone are checked again.
	maps.Copy(now, d.ask(ctx, l.lost(now), newsLimit, newsLimit+answerSlack))
	l.mu.Lock()
	defer l.mu.Unlock()
	var came, gone []string
	for _, path := range slices.Sorted(maps.Keys(l.files)) {
		e := l.files[path]
		after, answered := now[path]
		if answered {
			came, gone = e.compare(after, came, gone)
		}
		age := time.Since(e.at)
		e.last = e.last || answered && e.seen.Sub(e.at) > lateFor
		unanswered := e.look.ended() && !e.look.answered
		if age > goneFor && (e.last || unanswered) || e.last && len(e.told) == 0 {
			e.look.stop()
			delete(l.files, path)
		}
	}
	return strings.TrimSpace(listed("Problems that came after the results of your edits:\n", came) + listed("Problems that you were told and that are gone:\n", gone))
}

// ask returns the current problems of the edited files, or the result of the last complete look.
func (l *Late) ask(ctx context.Context) map[string][]Diagnostic {
	ctx, stop := context.WithTimeout(ctx, beforeLimit)
	defer stop()
	now := map[string][]Diagnostic{}
	var looks []*look
	take := func(path string, e *edited) {
		if e.look.ended() && e.look.answered {
			e.learn(e.look)
			now[path], e.seen = e.look.after, e.look.began
		}
	}
	l.mu.Lock()
	for path, e := range l.files {
		take(path, e)
		if e.look.ended() && l.who.CanDiagnose() {
			e.look = l.start(l.who, path, e.base, 0)
		}
		looks = append(looks, e.look)
	}
	l.mu.Unlock()
	for _, k := range looks {
		k.wait(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, e := range l.files {
		take(path, e)
	}
	return now
}

// lost returns the files with a reported problem that is missing in now.
func (l *Late) lost(now map[string][]Diagnostic) (paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, after := range now {
		if e := l.files[path]; e != nil && len(without(e.told, after)) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// compare adds a file's new and gone problems to lists for the model.
func (e *edited) compare(after []Diagnostic, came, gone []string) (_, _ []string) {
	lost := without(e.told, after)
	for _, g := range lost {
		gone = append(gone, "- "+g.text(e.name))
	}
	e.told, e.known = without(e.told, lost), without(e.known, lost)
	if !e.last || len(lost) > 0 {
		n := e.arrived(after)
		for _, line := range n.came(e.name) {
			came = append(came, "- "+line)
		}
		e.told = slices.Concat(e.told, n.sure, n.unsure)
	}
	e.known = both(e.known, after)
	return came, gone
}

// listed returns lines with a title, or "".
func listed(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	more := len(lines) - diagnosticsShown
	if lines = lines[:min(len(lines), diagnosticsShown)]; more > 0 {
		lines = append(lines, "- and more")
	}
	return title + strings.Join(lines, "\n") + "\n"
}
