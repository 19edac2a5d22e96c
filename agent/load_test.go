package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestMain(m *testing.M) {
	modes.Enter() // this binary decodes pictures
	if errno, err := strconv.Atoi(os.Getenv("AGENT_TEST_DISK")); err == nil {
		if err := breakTurns(os.Getenv("AGENT_TEST_STORE"), syscall.Errno(errno)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv("AGENT_TEST_STORE"); path != "" {
		dieInCall(path)
		return
	}
	if err := flag.Set("rapid.checks", "40"); err != nil { // the command line may have set more
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// dieInCall is the main function of a server to be killed while two of its calls run.
func dieInCall(path string) {
	set, err := tools.NewSet(quick("quick", false), tools.New(tools.Tool{Name: "wait", Description: "w", ReadOnly: true},
		func(context.Context, *tools.Env, tools.Call, nothing) (tools.Result, error) {
			fmt.Println("waiting")
			time.Sleep(time.Minute)
			return tools.OK(nothing{}), nil
		}))
	if err != nil {
		panic(err)
	}
	m := fakemodel.Script(func(x *fakemodel.Exchange) {
		x.Text("Wait.")
		x.Call("1", "quick", "{}")
		x.Call("2", "wait", "{}")
		x.Call("3", "wait", "{}")
	})
	s, err := agent.New(context.Background(), agent.Config{Model: m, Store: store.New(path, store.Options{}), Tools: set})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.ID())
	_, err = s.Turn(context.Background(), agent.Input{Text: "go"}, &recorder{})
	fmt.Println("not killed", err)
}

// TestKilled kills a server with kill -9 during calls. The session is then listed, replays
// with a result for every call, and continues.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AGENT_TEST_STORE="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // no effect on a process that has exited
	lines := bufio.NewScanner(out)
	var said []string
	for len(said) < 3 && lines.Scan() {
		said = append(said, lines.Text())
	}
	// While the first server runs, another server does not close its calls.
	st := store.New(path, store.Options{})
	defer st.Close()
	m := fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("fine") })
	config := agent.Config{Head: store.Session{ID: said[0]}, Model: m, Store: st}
	early, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if log := messages(t, st, said[0]); len(log) != 3 {
		t.Errorf("while it lives:\n%s", render(log))
	}
	if _, err := early.Turn(t.Context(), agent.Input{Text: "me too"}, &recorder{}); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed: an error is expected

	page, _, err := st.List(t.Context(), store.Filter{})
	if err != nil || len(page) != 1 || page[0].ID != said[0] || page[0].Title != "go" {
		t.Fatalf("listed: %+v, %v", page, err)
	}
	s, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	sink := &recorder{}
	if err := s.Replay(t.Context(), sink); err != nil {
		t.Fatal(err)
	}
	ended := of[agent.CallEnded](sink)
	if len(ended) != 3 || ended[0].Result.IsError {
		t.Fatalf("replayed %+v", ended)
	}
	for _, e := range ended[1:] {
		if want := `{"error":"interrupted: the server stopped before this ended. It may have had effects: check what it has changed before you run it again"}`; string(e.Result.JSON) != want || !e.Result.IsError {
			t.Errorf("replayed %s", e.Result.JSON)
		}
	}
	if stop, err := s.Turn(t.Context(), agent.Input{Text: "again"}, &recorder{}); err != nil || stop != agent.EndTurn {
		t.Error(stop, err)
	}
	checkLog(t, m.Requests()[0].Messages)
}

// TestReplay compares a replay with its turn. Messages, calls, results, plan, title and usage
// are the same.
func TestReplay(t *testing.T) {
	t.Parallel()
	old := "a"
	shown := []tools.Content{{Diff: &tools.Diff{Path: "/w/a", Old: &old, New: "b"}}, {Location: &tools.Location{Path: "/w/a", Line: 3}}}
	edit := tools.New(tools.Tool{Name: "edit", Description: "e", Kind: tools.KindEdit, Title: func(args json.RawMessage) string { return "Edit " + string(args) }},
		func(context.Context, *tools.Env, tools.Call, nothing) (tools.Result, error) {
			return tools.OK(map[string]bool{"success": true}).With(append(shown, tools.Content{Terminal: "t1"})...), nil
		})
	list := []tools.Tool{edit}
	p := tools.NewPlan()
	list = append(list, todo.Tool(p))
	var replies []func(*fakemodel.Exchange)
	for range 35 { // more than a page
		replies = append(replies, func(x *fakemodel.Exchange) {
			x.Thought("hm")
			x.Text("Now.")
			x.Call("", "edit", "{}")
			x.Call("", "edit", "{]") // not valid JSON
		}, func(*fakemodel.Exchange) {}, func(x *fakemodel.Exchange) {
			x.Text("Done.")
			x.Usage(model.Usage{Input: 10, Output: 1, Cost: 0.5})
		})
	}
	replies = append(replies, func(x *fakemodel.Exchange) {
		x.Call("t", "todo", `{"todos":[{"id":"1","content":"mend","status":"pending"}]}`)
	}, func(x *fakemodel.Exchange) { x.Text("End.") })
	st := openStore(t)
	config := agent.Config{Model: fakemodel.Script(replies...), Store: st, Tools: toolSet(t, list...), Plan: p, Window: 1_000_000}
	live := &recorder{}
	s := begin(t, config)
	for i := range 36 {
		in := agent.Input{Text: fmt.Sprint("prompt ", i), Images: []model.Image{{MIMEType: "image/png", Data: "AA=="}}, Context: []agent.Resource{{URI: "file:///x", Text: "secret"}}}
		if stop, err := s.Turn(t.Context(), in, live); err != nil || stop != agent.EndTurn {
			t.Fatal(stop, err)
		}
	}

	p.Set(nil)
	config.Head = store.Session{ID: s.ID()}
	loaded, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	again := &recorder{}
	if err := loaded.Replay(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	for i := range live.events {
		if e, ok := live.events[i].(agent.CallStarted); ok {
			e.Stop = nil // a replay has nothing to stop
			live.events[i] = e
		}
		if e, ok := live.events[i].(agent.CallEnded); ok {
			e.Duration = 0 // not stored
			e.Result.Shown = slices.DeleteFunc(slices.Clone(e.Result.Shown), func(c tools.Content) bool { return c.Terminal != "" })
			if len(e.Result.Shown) == 0 {
				e.Result.Shown = nil
			}
			// Compare the exported fields only: a replay lacks the others.
			e.Result = tools.Result{JSON: e.Result.JSON, IsError: e.Result.IsError, Images: e.Result.Images, Shown: e.Result.Shown}
			live.events[i] = e
		}
	}
	told := func(r *recorder) (events []agent.Event) {
		for _, e := range r.events {
			switch e.(type) {
			case agent.UserMessage, agent.Text, agent.Thought, agent.CallStarted, agent.CallEnded:
				events = append(events, e)
			}
		}
		return events
	}
	a, b := told(live), told(again)
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Fatalf("event %d:\ntold     %+v\nreplayed %+v", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("told %d, replayed %d", len(a), len(b))
	}
	usage := of[agent.UsageChanged](live)
	if last := of[agent.UsageChanged](again); len(last) != 1 || last[0] != usage[len(usage)-1] || last[0].Total.Cost != 17.5 {
		t.Errorf("usage = %+v, live %+v", last, usage[len(usage)-1])
	}
	plan := []tools.Todo{{ID: "1", Content: "mend", Status: tools.TodoPending}}
	if p := of[agent.PlanChanged](again); len(p) != 1 || !slices.Equal(p[0].Todos, plan) || !slices.Equal(config.Plan.All(), plan) {
		t.Errorf("plan = %+v, todos %+v", p, config.Plan.All())
	}
	if titles := of[agent.TitleChanged](again); len(titles) != 1 || titles[0].Title != "prompt 0" {
		t.Errorf("titles = %+v", titles)
	}
	if !reflect.DeepEqual(loaded.Last(), s.Last()) {
		t.Errorf("last = %+v, want %+v", loaded.Last(), s.Last())
	}
}

func TestLoadUnknown(t *testing.T) {
	t.Parallel()
	_, err := agent.Load(t.Context(), agent.Config{Head: store.Session{ID: "x"}, Model: fakemodel.New(), Store: openStore(t)})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

// TestUpdate checks the first prompt: it stores a session with all earlier changes. ID, System
// and Tools never change.
func TestUpdate(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	m := fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("ok") }, func(x *fakemodel.Exchange) { x.Text("ok") })
	s := begin(t, agent.Config{Head: store.Session{System: "s"}, Model: m, Store: st})
	set := func(model string) {
		if err := s.Update(t.Context(), func(head *store.Session) { head.Model, head.System, head.ID = model, "other", "other" }); err != nil {
			t.Fatal(err)
		}
	}
	set("m1")
	if _, err := os.Stat(st.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store was opened before the first prompt: %v", err)
	}
	for range 2 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
			t.Fatal(err)
		}
		set("m2")
		s.SetEffort("high")
	}
	head, err := st.Session(t.Context(), s.ID())
	if err != nil || head.Model != "m2" || head.System != "s" || head.ID != s.ID() {
		t.Errorf("head = %+v, %v", head, err)
	}
	r := m.Requests()
	if r[0].Model != "m1" || r[1].Model != "m2" || r[0].Effort != "" || r[1].Effort != "high" || r[1].System != "s" {
		t.Errorf("requests %+v", r)
	}
}

// TestDeleted checks the error for a session deleted by another window.
func TestDeleted(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	s := begin(t, agent.Config{Store: st, Model: fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("ok") })})
	if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if err := st.Delete(t.Context(), s.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), s.ID()) {
		t.Errorf("err = %v", err)
	}
}

// TestOpenCallsAfterKill checks the result of a call left open by a killed server. It tells the
// model whether the call may have had effects. Calls queued behind another call had not begun.
func TestOpenCallsAfterKill(t *testing.T) {
	t.Parallel()
	plain := func(name string, readOnly bool) tools.Tool {
		return tools.New(tools.Tool{Name: name, ReadOnly: readOnly, Description: name}, func(context.Context, *tools.Env, tools.Call, struct{}) (tools.Result, error) {
			return tools.OK(map[string]any{}), nil
		})
	}
	set := &tools.Set{}
	if err := errors.Join(set.Add(plain("read", true)), set.Add(plain("write", false))); err != nil {
		t.Fatal(err)
	}
	const read, effects, never = "Run it again if it is still needed", "It may have had effects", "it has changed nothing"
	for name, c := range map[string]struct {
		called, want []string
		waiting      string // the call awaiting approval
	}{
		"a write":                  {[]string{"write", "write", "read"}, []string{effects, never, never}, ""},
		"reads at once":            {[]string{"read", "read", "write"}, []string{read, read, never}, ""},
		"tools of lost servers":    {[]string{"other", "another", "write"}, []string{effects, effects, never}, ""},
		"during an approval":       {[]string{"write", "write"}, []string{"while this waited for approval, so it has changed nothing", never}, "c0"},
		"one of two is approved":   {[]string{"other", "another"}, []string{effects, "so it has changed nothing"}, "c1"},
		"after an earlier request": {[]string{"write"}, []string{effects}, "c9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
			defer st.Close()
			var calls []model.Call
			for i, name := range c.called {
				calls = append(calls, model.Call{ID: fmt.Sprint("c", i), Name: name, Args: "{}"})
			}
			head := store.Session{ID: store.NewID()}
			err := st.Create(t.Context(), head, &store.Message{Seq: 1, Message: model.NewMessage(model.User, "go")}, &store.Message{Seq: 2, Message: model.ResponseMessage("", "", calls...)})
			if err != nil {
				t.Fatal(err)
			}
			if c.waiting != "" {
				if err := st.State(head.ID, "model").Save(t.Context(), "waiting", c.waiting); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := agent.Load(t.Context(), agent.Config{Head: head, Model: fakemodel.Script(), Store: st, Tools: set}); err != nil {
				t.Fatal(err)
			}
			log := messages(t, st, head.ID)[2:]
			if len(log) != len(c.want) {
				t.Fatalf("results:\n%s", render(log))
			}
			for i, want := range c.want {
				if !strings.Contains(log[i].Text(), want) || !log[i].IsError {
					t.Errorf("call %d: %s", i, log[i].Text())
				}
			}
		})
	}
}
