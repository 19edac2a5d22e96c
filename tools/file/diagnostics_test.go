package file

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// linter is an editor that reads the diagnostics of a file from its lines, such as "error:
// undefined x". It reports updates late.
type linter struct {
	late   time.Duration
	silent bool
	read   func(path string) string
	mu     sync.Mutex
	asked  []string
}

func (l *linter) CanDiagnose() bool { return true }

func (l *linter) Diagnose(ctx context.Context, path string, wait time.Duration) (found []Diagnostic, err error) {
	l.mu.Lock()
	l.asked = append(l.asked, fmt.Sprint(filepath.Base(path), " ", wait))
	l.mu.Unlock()
	if l.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(min(l.late, wait))
	if l.late > wait && wait > 0 {
		return nil, nil
	}
	for i, line := range strings.Split(l.read(path), "\n") {
		kind, message, ok := strings.Cut(line, ": ")
		if ok && (kind == "error" || kind == "warning") {
			found = append(found, Diagnostic{Line: i + 1, Warning: kind == "warning", Source: "lint", Code: "E1", Message: message})
		}
	}
	return found, nil
}

// The model gets only the diagnostics caused by an edit.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("error: again\n", 25)
	for name, tt := range map[string]struct {
		before string
		tool   string
		args   string
		late   time.Duration
		want   []string
	}{
		"new":                   {"ok\n", "write_file", `{"path":"a.x","content":"ok\nerror: undefined: x\n"}`, 0, []string{"a.x, line 2: error: undefined: x (lint E1)"}},
		"a moment later":        {"ok\n", "write_file", `{"path":"a.x","content":"error: y\n"}`, 500 * time.Millisecond, []string{"a.x, line 1: error: y (lint E1)"}},
		"too late":              {"ok\n", "write_file", `{"path":"a.x","content":"error: y\n"}`, 5 * time.Second, nil},
		"known before":          {"error: old\nend\n", "patch", `{"path":"a.x","old_string":"end","new_string":"more\nend"}`, 0, nil},
		"moved":                 {"end\nerror: old\n", "patch", `{"path":"a.x","old_string":"end","new_string":"more\nend"}`, 0, nil},
		"once more":             {"error: old\nend\n", "patch", `{"path":"a.x","old_string":"end","new_string":"error: old"}`, 0, []string{"a.x, line 2: error: old (lint E1)"}},
		"mended":                {"error: old\n", "patch", `{"path":"a.x","old_string":"error: old","new_string":"fine again"}`, 0, nil},
		"errors before warning": {"ok\n", "write_file", `{"path":"a.x","content":"warning: w\nerror: e\n"}`, 0, []string{"a.x, line 2: error: e (lint E1)", "a.x, line 1: warning: w (lint E1)"}},
		"a new file":            {"ok\n", "write_file", `{"path":"d/b.x","content":"error: e\n"}`, 0, []string{"d/b.x, line 1: error: e (lint E1)"}},
		"several files":         {"ok\n", "patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Update File: a.x\n@@\n-ok\n+error: e\n*** Add File: b.x\n+error: f\n*** End Patch"}`, 0, []string{"a.x, line 1: error: e (lint E1)", "b.x, line 1: error: f (lint E1)"}},
		"twenty at most":        {"ok\n", "write_file", fmt.Sprintf(`{"path":"a.x","content":%q}`, many), 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t, map[string]string{"a.x": tt.before})
				l := &linter{late: tt.late, read: func(path string) string {
					f, err := p.env.Files.Read(context.WithoutCancel(t.Context()), path)
					if err != nil {
						return ""
					}
					return string(f.Text)
				}}
				p.env.Diagnoser = l
				began := time.Now()
				out := as[patchOut](t, p.call(t, tt.tool, tt.args))
				got := out.Diagnostics
				if fixed := []string{"a.x, line 1: error: old (lint E1)"}; name == "mended" && !slices.Equal(out.Fixed, fixed) || name != "mended" && out.Fixed != nil {
					t.Errorf("fixed: %q", out.Fixed)
				}
				if name == "twenty at most" {
					if len(got) != 20 || out.More != 5 {
						t.Errorf("%d: %q and %d more", len(got), got, out.More)
					}
				} else if !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// An editor without an answer delays a single edit by a moment, and the result lists no problems.
func TestDiagnosticsOfASilentEditor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, nil)
		l := &linter{silent: true}
		p.env.Diagnoser = l
		began := time.Now()
		if out := as[writeOut](t, p.call(t, "write_file", `{"path":"a.x","content":"error: e\n"}`)); out.Diagnostics != nil || out.BytesWritten == 0 {
			t.Errorf("%+v", out)
		}
		if took := time.Since(began); took != beforeLimit || len(l.asked) != 1 {
			t.Errorf("it took %v for %q", took, l.asked)
		}
	})
}
