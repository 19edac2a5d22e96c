package file

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Late finds problems that edits of a session have brought, if the editor or the language server
// reports them after the result of the edit. It also finds those that the model was told and that are
// gone since, such as those of one file while the other one of a rename was not changed yet. Nil
// finds none.
type Late struct {
	mu    sync.Mutex
	who   Diagnoser
	files map[string]edited // by absolute path
}

// edited is a file that was edited a short time ago.
type edited struct {
	name  string
	known []Diagnostic // those that the model knows, and those before the edit
	told  []Diagnostic // those that the model was told as new, and not as gone
	at    time.Time
}

const (
	// lateFor is how long after an edit its problems may come. The first question after that is the last one.
	lateFor = 30 * time.Second
	// goneFor is how long after an edit the model is told that its problems are gone.
	goneFor = 10 * time.Minute
)

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

// keep records an edit, with the problems that the model knows, and those that its result tells.
// If the file was asked about after the edit, after has its problems.
func (l *Late) keep(who Diagnoser, path, name string, known, after, told []Diagnostic) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = map[string]edited{}
	}
	l.who = who
	earlier := l.files[path].told
	if after != nil { // the result tells which ones are fixed
		earlier = without(earlier, newDiagnostics(after, earlier))
	}
	l.files[path] = edited{name: name, known: known, told: slices.Concat(earlier, told), at: time.Now()}
}

// without returns the diagnostics of a list that are not in another one. It tells equal ones apart by their number.
func without(list, others []Diagnostic) []Diagnostic { return newDiagnostics(others, list) }

// Found returns a text for the model, or "": the problems that came since they were last told, and
// those that are gone.
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
	d := &diagnosis{who: who}
	now := d.ask(ctx, files, 0, beforeLimit)
	// Some editors report none while they look at a file, so those that seem gone are asked for again.
	maps.Copy(now, d.ask(ctx, l.lost(now), newsLimit, newsLimit+answerSlack))
	l.mu.Lock()
	defer l.mu.Unlock()
	var came, gone []string
	for _, path := range files {
		e, there := l.files[path]
		if !there {
			continue
		}
		if after, answered := now[path]; answered {
			came, gone = e.compare(after, came, gone)
		}
		l.files[path] = e
		if age := time.Since(e.at); age > goneFor || age > lateFor && len(e.told) == 0 {
			delete(l.files, path)
		}
	}
	return strings.TrimSpace(listed("Problems that came after the results of your edits:\n", came) + listed("Problems that you were told and that are gone:\n", gone))
}

// lost returns the files with a problem that the model was told and that is not there now.
func (l *Late) lost(now map[string][]Diagnostic) (paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, after := range now {
		if len(without(l.files[path].told, after)) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// compare adds the problems of a file that came, and those that are gone, to lists for the model.
func (e *edited) compare(after []Diagnostic, came, gone []string) (_, _ []string) {
	lost := without(e.told, after)
	for _, g := range lost {
		gone = append(gone, "- "+g.text(e.name))
	}
	e.told, e.known = without(e.told, lost), without(e.known, lost)
	if time.Since(e.at) <= lateFor || len(lost) > 0 {
		news := newDiagnostics(e.known, after)
		for _, n := range news {
			came = append(came, "- "+n.text(e.name))
		}
		e.told = slices.Concat(e.told, news)
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
