package file

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Late finds problems that edits of a session have brought, if the editor or the language server
// reports them after the result of the edit. Nil finds none.
type Late struct {
	mu    sync.Mutex
	who   Diagnoser
	files map[string]edited // by absolute path
}

// edited is a file that was edited a short time ago.
type edited struct {
	name  string
	known []Diagnostic // those that the model knows, and those before the edit
	at    time.Time
}

// lateFor is how long after an edit its problems may come. The first question after that is the last one.
const lateFor = 30 * time.Second

// baseline returns the problems of a file that are not of its last edits.
func (l *Late) baseline(path string) ([]Diagnostic, bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.files[path]
	return e.known, ok && time.Since(e.at) < lateFor
}

// keep records an edit, with the problems that the model knows.
func (l *Late) keep(who Diagnoser, path, name string, known []Diagnostic) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = map[string]edited{}
	}
	l.who = who
	l.files[path] = edited{name: name, known: known, at: time.Now()}
}

// Found returns a text for the model with the problems that came since they were last told, or "".
func (l *Late) Found(ctx context.Context) string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	who, files := l.who, make([]string, 0, len(l.files))
	for path := range l.files {
		files = append(files, path)
	}
	l.mu.Unlock()
	if len(files) == 0 || !who.CanDiagnose() {
		return ""
	}
	slices.Sort(files)
	now := (&diagnosis{who: who}).ask(ctx, files, 0, beforeLimit)
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, path := range files {
		e, there := l.files[path]
		if !there {
			continue
		}
		after, answered := now[path]
		if answered {
			for _, n := range newDiagnostics(e.known, after) {
				lines = append(lines, "- "+n.text(e.name))
			}
			e.known = both(e.known, after)
		}
		if l.files[path] = e; time.Since(e.at) > lateFor {
			delete(l.files, path)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	more := len(lines) - diagnosticsShown
	if lines = lines[:min(len(lines), diagnosticsShown)]; more > 0 {
		lines = append(lines, "- and more")
	}
	return "Problems that came after the results of your edits:\n" + strings.Join(lines, "\n")
}
