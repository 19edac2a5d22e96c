package file

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Diagnoser returns diagnostics of the editor's own tools (compilers, linters).
type Diagnoser interface {
	// CanDiagnose reports whether the editor has diagnostics.
	CanDiagnose() bool
	// Diagnose returns the diagnostics of the file at an absolute path. It waits at most wait for
	// updated diagnostics. The context bounds the request itself.
	Diagnose(ctx context.Context, path string, wait time.Duration) ([]Diagnostic, error)
}

// Diagnostic is an error or a warning.
type Diagnostic struct {
	Line    int // from 1
	Warning bool
	Source  string // its origin; may be empty
	Code    string
	Message string
}

const (
	// Earlier diagnostics are available at once or never. The tools need a moment for updates.
	beforeLimit      = 250 * time.Millisecond
	newsLimit        = 800 * time.Millisecond
	answerSlack      = 200 * time.Millisecond
	diagnosticsShown = 20
)

// diagnosis compares the diagnostics of files before and after an edit. Nil: the editor has
// none.
type diagnosis struct {
	who    Diagnoser
	late   *Late                   // of the session; may be nil
	before map[string][]Diagnostic // by absolute path; files with unknown diagnostics are missing
}

// diagnose records the diagnostics of the files at paths before an edit.
func diagnose(ctx context.Context, env *callEnv, paths ...string) *diagnosis {
	if env.Diagnoser == nil || !env.Diagnoser.CanDiagnose() {
		return nil
	}
	d := &diagnosis{who: env.Diagnoser, late: env.Late, before: map[string][]Diagnostic{}}
	var unknown []string
	for _, p := range paths {
		path, err := env.Files.Abs(p)
		if err != nil {
			continue
		}
		known, comparable, edited := env.Late.baseline(path) // later problems belong to the edit before
		switch {
		case comparable:
			d.before[path] = known
		case !edited:
			unknown = append(unknown, path)
		}
	}
	maps.Copy(d.before, d.ask(ctx, unknown, 0, beforeLimit))
	return d
}

// Waiter is a [Diagnoser] with a known time to wait after an edit. For other diagnosers the wait is
// shorter, because editors do not report unchanged diagnostics.
type Waiter interface {
	WaitFor() time.Duration
}

// Comparer is a [Diagnoser] for earlier texts of a file, too.
type Comparer interface {
	// Compare returns the diagnostics of a file before an edit, with its text old, and its current
	// diagnostics. If the first are unknown, or old is nil, known is false. It waits until ctx ends.
	Compare(ctx context.Context, path string, old []byte) (before, after []Diagnostic, known bool, err error)
}

// waitFor returns how long an edit waits for new diagnostics.
func (d *diagnosis) waitFor() time.Duration {
	if p, ok := d.who.(Waiter); ok {
		if limit := p.WaitFor(); limit > 0 {
			return limit
		}
	}
	return newsLimit
}

// ask asks about several files at once.
func (d *diagnosis) ask(ctx context.Context, files []string, wait, limit time.Duration) map[string][]Diagnostic {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var asking sync.WaitGroup
	var mu sync.Mutex
	said := map[string][]Diagnostic{}
	for _, path := range files {
		asking.Go(func() {
			if found, err := d.who.Diagnose(ctx, path, wait); err == nil {
				mu.Lock()
				defer mu.Unlock()
				said[path] = found
			}
		})
	}
	asking.Wait()
	return said
}

// problems are the errors and warnings added and fixed by an edit, for the model.
type problems struct {
	Diagnostics []string `json:"diagnostics,omitempty"`
	Fixed       []string `json:"fixed,omitempty"`
	More        int      `json:"more_diagnostics,omitempty"` // number of unlisted diagnostics
}

// notice returns the problems added and fixed by an edit. [Late] keeps an answer that takes too long.
func (d *diagnosis) notice(ctx context.Context, written ...*workspace.Written) (p problems) {
	if d == nil {
		return p
	}
	late := d.late
	if late == nil {
		late = new(Late)
		defer late.Close()
	}
	var paths []string
	var looks []*look
	wait := d.waitFor()
	for _, w := range written {
		if _, known := d.before[w.Path]; w.New == nil || !known && d.late == nil {
			continue
		}
		paths = append(paths, w.Path)
		looks = append(looks, late.edit(d, w, wait))
	}
	limited, stop := context.WithTimeout(ctx, late.waitFor(wait)+answerSlack)
	defer stop()
	var brought, fixed []string
	for i, l := range looks {
		if l.wait(limited); !l.ended() {
			late.setSlow(true)
		}
		name, n := late.settle(paths[i], l)
		brought = append(brought, n.came(name)...)
		for _, f := range n.fixed {
			fixed = append(fixed, f.text(name))
		}
	}
	shown := min(len(brought), diagnosticsShown)
	return problems{Diagnostics: brought[:shown], Fixed: fixed[:min(len(fixed), diagnosticsShown)], More: len(brought) - shown}
}

// both merges the diagnostics of two moments. Some editors report none during a check.
func both(before, after []Diagnostic) []Diagnostic {
	return slices.Concat(after, newDiagnostics(after, before))
}

// newDiagnostics returns the diagnostics of now without those in before. It ignores line numbers,
// because lines move with an edit. Errors come first.
func newDiagnostics(before, now []Diagnostic) (news []Diagnostic) {
	known := map[Diagnostic]int{}
	for _, b := range before {
		b.Line = 0
		known[b]++
	}
	for _, n := range now {
		same := n
		same.Line = 0
		if known[same]--; known[same] < 0 {
			news = append(news, n)
		}
	}
	slices.SortStableFunc(news, func(a, b Diagnostic) int {
		if a.Warning != b.Warning {
			if b.Warning {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Line, b.Line)
	})
	return news
}

// text formats a diagnostic as one line.
func (d Diagnostic) text(name string) string {
	kind := "error"
	if d.Warning {
		kind = "warning"
	}
	text := fmt.Sprintf("%s, line %d: %s: %s", name, d.Line, kind, tools.OneLine(d.Message, 200))
	if by := strings.TrimSpace(tools.OneLine(d.Source, 30) + " " + tools.OneLine(d.Code, 40)); by != "" {
		text += " (" + by + ")"
	}
	return text
}
