package extension

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

type nobody struct{ Asker }

type memory struct{ State }

type editor struct{ file.Diagnoser }

// A derived session has exactly the rights listed here. A new field of Session is no right of a
// derived session until derive and this list name it.
func TestDeriveNamesAllRights(t *testing.T) {
	t.Parallel()
	files := &workspace.Workspace{}
	var ask Asker = nobody{}
	var state State = memory{}
	values := []reflect.Value{
		reflect.ValueOf("text"), reflect.ValueOf(true), reflect.ValueOf(Main), reflect.ValueOf(files), reflect.ValueOf(ask), reflect.ValueOf(state), reflect.ValueOf(tools.Bounds{Files: files}), reflect.ValueOf(tools.NewPlan()), reflect.ValueOf(editor{}),
	}
	parent := &Session{}
	var fields []reflect.StructField // also those of embedded structs
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Session]()) {
		if !f.Anonymous {
			fields = append(fields, f)
		}
	}
	for _, field := range fields {
		f := reflect.ValueOf(parent).Elem().FieldByIndex(field.Index)
		if f.Kind() == reflect.Func {
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { panic("called") }))
			continue
		}
		at := slices.IndexFunc(values, func(v reflect.Value) bool { return v.Type().AssignableTo(f.Type()) })
		if at < 0 {
			t.Fatalf("the test has no value for the field %s", field.Name)
		}
		f.Set(values[at])
	}
	own := Own{
		ID: "child", Folders: func() []string { return nil }, Files: files, Editor: files, Bounds: tools.Bounds{Files: files}, Plan: tools.NewPlan(), Ask: ask,
		Confine: func(context.Context, *proc.Cmd) error { return nil },
		State:   func(string) State { return state },
		Spawn:   func(context.Context, Task) (Report, error) { return Report{}, nil },
	}
	always := []string{"ID", "Name", "Kind", "Cwd", "Folders", "Files", "Editor", "Bounds", "Redact", "State", "Config"}
	for kind, more := range map[Kind][]string{
		Subagent: {"Confine", "Ask", "Emit", "Wake", "Plan", "Spawn"},
		Script:   {"Emit"},
		Replay:   {"Confine"},
	} {
		derived := reflect.ValueOf(parent.derive(kind, own)).Elem()
		for _, field := range fields {
			name := field.Name
			want := slices.Contains(always, name) || slices.Contains(more, name)
			if has := !derived.FieldByIndex(field.Index).IsZero(); has != want {
				t.Errorf("a %s has %s: %v, want %v", kind, name, has, want)
			}
		}
	}
}

// The events of a derived session are notices or events of the extension, never questions.
func TestDerivedSessionsAskNoQuestions(t *testing.T) {
	t.Parallel()
	var kinds []string
	parent := &Session{Emit: func(e Event) { kinds = append(kinds, e.Kind) }}
	derived := parent.derive(Script, Own{})
	derived.Notify("a")
	derived.Show("b")
	derived.Question("c?")
	derived.Emit(Event{Kind: "frame", Title: "d"})
	if want := []string{EventNotice, EventNotice, EventNotice, "frame"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}
