package extension_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// feature is an extension with a given instance.
type feature struct {
	name     string
	instance extension.Instance
}

func (f feature) Name() string { return f.name }
func (f feature) Open(context.Context, *extension.Session) (extension.Instance, error) {
	return f.instance, nil
}

// watcher is an instance with event functions.
type watcher []extension.Handlers

func (watcher) Close(context.Context) error { return nil }
func (w watcher) Hooks() extension.Hooks    { return extension.Hooks{Events: w} }

func none(string) *extension.Session { return &extension.Session{} }

// echo is a tool that returns its argument.
func echo(t testing.TB) *tools.Set {
	t.Helper()
	type input struct {
		Text string `json:"text"`
	}
	s, err := tools.NewSet(tools.New(tools.Tool{Name: "echo", Toolset: "test", Kind: tools.KindRead}, func(_ context.Context, _ *tools.Env, _ tools.Call, in input) (tools.Result, error) {
		return tools.OK(map[string]string{"said": in.Text}), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// watched returns a set of tools whose calls pass the functions.
func watched(t testing.TB, handlers ...extension.Handlers) *tools.Set {
	t.Helper()
	set, err := extension.Open(t.Context(), []extension.Extension{feature{"watcher", watcher(handlers)}}, none)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.WithoutCancel(t.Context())) })
	s := echo(t)
	s.Events = set.Events()
	return s
}

func call(t testing.TB, s *tools.Set, env *tools.Env) string {
	t.Helper()
	r, err := s.Call(t.Context(), env, tools.Call{ID: "1", Name: "echo", Args: json.RawMessage(`{"text":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.JSON)
}

func before(d extension.Decision, err error) extension.Handlers {
	return extension.Handlers{PreToolCall: func(context.Context, extension.ToolCall) (extension.Decision, error) { return d, err }}
}

// asked is a user who allows everything, and remembers the titles.
type asked struct{ titles []string }

func (a *asked) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	a.titles = append(a.titles, q.Title+" because it "+q.Reason)
	return tools.DecisionOnce, nil
}

func TestBeforeACall(t *testing.T) {
	t.Parallel()
	change := before(extension.Decision{Args: json.RawMessage(`{"text":"b"}`)}, nil)
	merge := before(extension.Decision{Merge: map[string]json.RawMessage{"text": json.RawMessage(`"c"`)}}, nil)
	deny := before(extension.Decision{Deny: "No."}, nil)
	ask := before(extension.Decision{Ask: "smells"}, nil)
	broken := before(extension.Decision{}, errors.New("out of paper"))
	open := broken
	open.FailOpen = true
	panics := extension.Handlers{Name: `the hook "x"`, PreToolCall: func(context.Context, extension.ToolCall) (extension.Decision, error) { panic("oh") }}
	for _, tc := range []struct {
		name     string
		handlers []extension.Handlers
		want     string
		asked    string
	}{
		{"no opinion", []extension.Handlers{before(extension.Decision{}, nil)}, `{"said":"a"}`, ""},
		{"changed", []extension.Handlers{change}, `{"said":"b"}`, ""},
		{"changes in order", []extension.Handlers{change, merge}, `{"said":"c"}`, ""},
		{"the other order", []extension.Handlers{merge, change}, `{"said":"b"}`, ""},
		{"denied", []extension.Handlers{change, deny}, `{"error":"No."}`, ""},
		{"deny beats ask", []extension.Handlers{ask, deny}, `{"error":"No."}`, ""},
		{"asked about the changed call", []extension.Handlers{ask, change}, `{"said":"b"}`, `echo {"text":"b"} because it smells`},
		{"arguments are checked afterwards", []extension.Handlers{before(extension.Decision{Args: json.RawMessage(`{"txt":"b"}`)}, nil)}, `unknown parameter \"txt\"`, ""},
		{"fails closed", []extension.Handlers{broken}, "echo was not run: the extension watcher failed (out of paper). Tell the user; do not try to get around it.", ""},
		{"fails open", []extension.Handlers{open}, `{"said":"a"}`, ""},
		{"a panic fails closed", []extension.Handlers{panics}, `echo was not run: the hook \"x\" failed (it failed by a mistake: oh)`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			user := &asked{}
			gate := gate.New(gate.Config{Mode: "off", Asker: user})
			if got := call(t, watched(t, tc.handlers...), &tools.Env{Gate: gate}); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := strings.Join(user.titles, ";"); got != tc.asked {
				t.Errorf("the user was asked %q, want %q", got, tc.asked)
			}
		})
	}
	if got := call(t, watched(t, ask), &tools.Env{}); !strings.Contains(got, "no user is present") {
		t.Errorf("without a gate: %s", got)
	}
}

// A function that exceeds its limit blocks the call, and its context is canceled.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause error
		s := watched(t, extension.Handlers{PreToolCall: func(ctx context.Context, _ extension.ToolCall) (extension.Decision, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return extension.Decision{}, nil
		}})
		began := time.Now()
		if got := call(t, s, &tools.Env{}); !strings.Contains(got, "no answer within 30s") {
			t.Error(got)
		}
		synctest.Wait()
		if took := time.Since(began); took != extension.DefaultLimit || cause == nil {
			t.Errorf("after %v, with the cause %v", took, cause)
		}
	})
}

// The end of the call's context ends the waiting for a function.
func TestCancelDuringAnEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := watched(t, extension.Handlers{PreToolCall: func(ctx context.Context, _ extension.ToolCall) (extension.Decision, error) {
			<-ctx.Done()
			return extension.Decision{}, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		began := time.Now()
		r, err := s.Call(ctx, &tools.Env{}, tools.Call{ID: "1", Name: "echo", Args: json.RawMessage(`{"text":"a"}`)})
		if !errors.Is(err, context.Canceled) || !r.IsError || time.Since(began) != time.Second {
			t.Errorf("%s, %v after %v", r.JSON, err, time.Since(began))
		}
	})
}

func TestAfterACall(t *testing.T) {
	t.Parallel()
	add := func(name string) extension.Handlers {
		return extension.Handlers{TransformToolResult: func(_ context.Context, _ extension.ToolCall, r tools.Result) (tools.Result, error) {
			return r.WithField(name, len(r.JSON)), nil
		}}
	}
	broken := extension.Handlers{TransformToolResult: func(context.Context, extension.ToolCall, tools.Result) (tools.Result, error) {
		return tools.Result{}, errors.New("no ink")
	}}
	closed := broken
	closed.FailClosed = true
	noted := extension.Handlers{TransformToolResult: func(_ context.Context, _ extension.ToolCall, r tools.Result) (tools.Result, error) {
		return r.WithField("note", "own").WithField("more", 1), nil
	}}
	note := func(text string) extension.Handlers {
		return extension.Handlers{PostToolCall: func(_ context.Context, c extension.ToolCall, r tools.Result) (string, error) {
			return text, nil
		}}
	}
	for name, tc := range map[string]struct {
		handlers []extension.Handlers
		want     string
	}{
		"one sees the other": {[]extension.Handlers{add("x"), add("y")}, `{"said":"a","x":12,"y":19}`},
		"a failure":          {[]extension.Handlers{broken, add("x")}, `{"said":"a","x":12}`},
		"withheld":           {[]extension.Handlers{closed}, `{"error":"the result of echo is withheld: the extension watcher failed (no ink). Tell the user; do not try to get around it."}`},
		"notes":              {[]extension.Handlers{note("one"), note(""), note("two")}, `{"said":"a","note":"one\ntwo"}`},
		"notes after a note": {[]extension.Handlers{noted, note("one"), note("two")}, `{"said":"a","note":"own\none\ntwo","more":1}`},
		"secrets":            {[]extension.Handlers{note("the key is s3cret-value")}, `{"said":"a","note":"the key is [secret KEY withheld]"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := watched(t, tc.handlers...)
			s.Secrets = tools.NewSecrets(map[string]string{"KEY": "s3cret-value"})
			if got := call(t, s, &tools.Env{}); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// Ended is called when the call is over, whatever ended it.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, deny := range []string{"", "No."} {
		var order []string
		s := watched(t, extension.Handlers{
			PreToolCall: func(context.Context, extension.ToolCall) (extension.Decision, error) {
				order = append(order, "before")
				return extension.Decision{Deny: deny, Ended: func() { order = append(order, "ended") }}, nil
			},
			TransformToolResult: func(_ context.Context, _ extension.ToolCall, r tools.Result) (tools.Result, error) {
				order = append(order, "after")
				return r, nil
			},
		})
		call(t, s, &tools.Env{})
		want := []string{"before", "after", "ended"}
		if deny != "" {
			want = []string{"before", "ended"}
		}
		if !slices.Equal(order, want) {
			t.Errorf("deny %q: %v", deny, order)
		}
	}
}

// capability is a feature without tools for derived sessions.
type capability struct{ called *[]extension.Kind }

func (capability) Close(context.Context) error { return nil }
func (c capability) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return []tools.Tool{{Name: "new_power", Toolset: "power", Schema: json.RawMessage(`{"type":"object"}`), Run: func(context.Context, *tools.Env, tools.Call) (tools.Result, error) {
		return tools.OK(map[string]bool{"ok": true}), nil
	}}}, nil
}
func (c capability) Notices(context.Context, extension.When) []string { return []string{"psst"} }
func (c capability) Commands() []extension.Command                    { return []extension.Command{{Name: "power"}} }
func (c capability) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{PreToolCall: func(_ context.Context, call extension.ToolCall) (extension.Decision, error) {
		*c.called = append(*c.called, call.Kind)
		return extension.Decision{}, nil
	}}}}
}

// A new capability reaches neither subagents, scripts nor replays by default. Its events still see
// their calls.
func TestNothingIsDerivedByItself(t *testing.T) {
	t.Parallel()
	var called []extension.Kind
	set, err := extension.Open(t.Context(), []extension.Extension{feature{"power", capability{&called}}}, none)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []extension.Kind{extension.Subagent, extension.Script, extension.Replay} {
		derived, err := set.Derive(t.Context(), kind, extension.Own{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := derived.Tools(t.Context(), nil)
		if len(list) != 0 || len(derived.Notices(t.Context(), extension.WithPrompt)) != 0 || len(derived.Commands()) != 0 || err != nil {
			t.Errorf("a %s has %v, %v", kind, list, err)
		}
		s := echo(t)
		s.Events = derived.Events()
		call(t, s, &tools.Env{})
	}
	if want := []extension.Kind{extension.Subagent, extension.Script, extension.Replay}; !slices.Equal(called, want) {
		t.Errorf("the event has seen calls of %v", called)
	}
}

// A call without a handler costs next to nothing.
func BenchmarkNoSubscriber(b *testing.B) {
	set, err := extension.Open(b.Context(), []extension.Extension{feature{"none", watcher(nil)}}, none)
	if err != nil {
		b.Fatal(err)
	}
	events, env, r := set.Events(), &tools.Env{}, tools.OK(map[string]int{"a": 1})
	for b.Loop() {
		a := events.BeforeCall(b.Context(), env, tools.Tool{}, tools.Call{})
		events.AfterCall(b.Context(), env, tools.Tool{}, a.Call, r)
	}
}

func TestCloseIsInReverse(t *testing.T) {
	t.Parallel()
	var order []string
	var all []extension.Extension
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, feature{name, closing{name, &order}})
	}
	set, err := extension.Open(t.Context(), all, none)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "closing b") {
		t.Errorf("the error of b is lost: %v", err)
	}
	if !slices.Equal(order, []string{"c", "b", "a"}) {
		t.Error(order)
	}
}

type closing struct {
	name  string
	order *[]string
}

func (c closing) Close(context.Context) error {
	*c.order = append(*c.order, c.name)
	if c.name == "b" {
		return errors.New("stuck")
	}
	return nil
}

// If an extension cannot be opened, the others stay.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	set, err := extension.Open(t.Context(), []extension.Extension{feature{"empty", nil}, panicking{}, feature{"ok", watcher(nil)}}, none)
	if err == nil || !strings.Contains(err.Error(), "empty is not available") || !strings.Contains(err.Error(), "panicking is not available") {
		t.Error(err)
	}
	if _, ok := extension.Find[watcher](set); !ok {
		t.Error("the last one is not open")
	}
}

type panicking struct{}

func (panicking) Name() string { return "panicking" }
func (panicking) Open(context.Context, *extension.Session) (extension.Instance, error) {
	panic("oh")
}
