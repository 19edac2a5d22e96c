package file

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Late finds problems of a session's edits that the editor or the language server reports after the
// result of the edit. It also finds reported problems that are now gone, such as in a file while
// the other file of a rename was unchanged. Nil finds none.
type Late struct {
	mu    sync.Mutex
	who   Diagnoser
	files map[string]edited // by absolute path
}

// edited is a recently edited file.
type edited struct {
	name  string
	known []Diagnostic // the problems before the edit, and all reported to the model
	told  []Diagnostic // problems reported to the model as new, and not yet as gone
	at    time.Time
}

const (
	// lateFor is how long after an edit its problems may arrive. The first request after this time
	// is the last.
	lateFor = 30 * time.Second
	// goneFor is how long after an edit the model learns that its problems are gone.
	goneFor = 10 * time.Minute
)

// baseline returns the problems of a file without those of its last edits.
func (l *Late) baseline(path string) ([]Diagnostic, bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.files[path]
	return e.known, ok && time.Since(e.at) < lateFor
}

// keep records an edit with the problems known to the model, and those in its result. If the file
// was checked after the edit, after holds its problems.
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
	if after != nil { // the result lists the fixed problems
		earlier = without(earlier, newDiagnostics(after, earlier))
	}
	l.files[path] = edited{name: name, known: known, told: slices.Concat(earlier, told), at: time.Now()}
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
	// Some editors report no problems during a check, so problems that seem gone are checked again.
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

// lost returns the files with a reported problem that is missing in now.
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

// compare adds a file's new and gone problems to lists for the model.
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
