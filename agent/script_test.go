package agent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
)

var update = flag.Bool("update", false, "rewrite the expected part of testdata/*.txtar")

// TestModels runs scripts of the behavior of real models. The section "model" contains the
// stream, a delta per line; "end" or "fail" ends a response. The section "want" lists the
// history, the notices and the end of the turn. The optional section "contains" lists lines of
// the history's texts. After each script, the history is valid and the session accepts a
// prompt.
func TestModels(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = string(f.Data)
			}
			got := play(t, sections)
			if !*update {
				if got != sections["want"] {
					t.Errorf("got:\n%s\nwant:\n%s", got, sections["want"])
				}
				return
			}
			for i := range archive.Files {
				if archive.Files[i].Name == "want" {
					archive.Files[i].Data = []byte(got)
				}
			}
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func play(t *testing.T, sections map[string]string) string {
	t.Helper()
	replies := parseReplies(t, sections["model"])
	m := fakemodel.Script(append(replies, func(x *fakemodel.Exchange) { x.Text("fine") })...)
	st := openStore(t)
	p := tools.NewPlan()
	s := begin(t, agent.Config{Model: m, Store: st, MaxIterations: 8, Tools: scriptTools(t, p), Plan: p})
	sink := &recorder{}
	stop, err := s.Turn(t.Context(), agent.Input{Text: "go"}, sink)
	log := messages(t, st, s.ID())
	got := render(log)
	for _, n := range of[agent.Notice](sink) {
		got += "notice: " + n.Text + "\n"
	}
	for _, p := range of[agent.PlanChanged](sink) {
		got += fmt.Sprintf("plan: %v\n", p.Todos)
	}
	if err != nil {
		got += "error: " + err.Error() + "\n"
	} else {
		got += "stop: " + string(stop) + "\n"
	}
	if asked := len(m.Requests()); asked > len(replies) {
		t.Fatalf("%d requests, but only %d replies are in the script\n%s", asked, len(replies), got)
	}
	for line := range strings.Lines(sections["contains"]) {
		if line = strings.TrimSpace(line); count(texts(bare(log)), line) == 0 {
			t.Errorf("%q is nowhere in the log:\n%s", line, strings.Join(texts(bare(log)), "\n"))
		}
	}
	checkLog(t, append(bare(log), closing(log)...))
	checkGoesOn(t, stop, s, m, st)
	return got
}

// closing returns the messages to be appended before the next prompt.
func closing(log []store.Message) []model.Message {
	if role := log[len(log)-1].Role; role == model.Assistant {
		return nil
	}
	return []model.Message{model.ResponseMessage("", "")}
}

func checkGoesOn(t *testing.T, stop agent.StopReason, s *agent.Session, m *fakemodel.Model, st *store.Store) {
	t.Helper()
	next := fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("fine") })
	again, err := agent.Load(t.Context(), agent.Config{Head: s.Head(), Model: next, Store: st, Tools: scriptTools(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := again.Turn(t.Context(), agent.Input{Text: "again"}, &recorder{}); err != nil || stop != agent.EndTurn {
		t.Errorf("the next turn: %s, %v", stop, err)
	}
	requests := append(m.Requests(), next.Requests()...)
	if stop == agent.Refusal {
		checkGrowth(t, requests, len(m.Requests()))
	} else {
		checkGrowth(t, requests)
	}
	checkLog(t, requests[len(requests)-1].Messages)
}

// scriptTools returns the tools of the scripts, and the real todo tool.
func scriptTools(t *testing.T, p *tools.Plan) *tools.Set {
	t.Helper()
	type path struct {
		Path string `json:"path"`
	}
	type file struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	var ticks atomic.Int64 // calls run concurrently
	list := []tools.Tool{
		tools.New(tools.Tool{Name: "look", Description: "look", ReadOnly: true, Kind: tools.KindRead},
			func(_ context.Context, _ *tools.Env, _ tools.Call, in path) (tools.Result, error) {
				return tools.OK(map[string]string{"content": "of " + in.Path}), nil
			}),
		tools.New(tools.Tool{Name: "write", Description: "write", Kind: tools.KindEdit},
			func(_ context.Context, _ *tools.Env, _ tools.Call, in file) (tools.Result, error) {
				return tools.OK(map[string]int{"bytes_written": len(in.Content)}), nil
			}),
		tools.New(tools.Tool{Name: "clock", Description: "clock", ReadOnly: true},
			func(context.Context, *tools.Env, tools.Call, nothing) (tools.Result, error) {
				return tools.OK(map[string]int64{"ticks": ticks.Add(1)}), nil
			}),
		tools.New(tools.Tool{Name: "fail", Description: "fail"},
			func(_ context.Context, _ *tools.Env, _ tools.Call, in path) (tools.Result, error) {
				return tools.Fail("%q is not in dir/%s. %d edits have failed", in.Path, in.Path, ticks.Add(1)), nil
			}),
		tools.New(tools.Tool{Name: "script", Description: "script"},
			func(context.Context, *tools.Env, tools.Call, nothing) (tools.Result, error) {
				r := tools.OK(map[string]any{"status": "error", "errors": "Traceback\nNameError: name 'x'", "duration_seconds": ticks.Add(1)})
				r.IsError = true
				return r, nil
			}),
	}
	return toolSet(t, append(list, todo.Tool(p))...)
}

// parseReplies reads a stream:
//
//	text "…" · think "…" · notice "…"
//	call ID NAME ARGS         a whole call; ID - is none
//	piece INDEX ID NAME ARGS  a piece of one; - is nothing
//	usage INPUT OUTPUT
//	end [REASON] · fail KIND
func parseReplies(t *testing.T, script string) (replies []func(*fakemodel.Exchange)) {
	t.Helper()
	var steps []func(*fakemodel.Exchange)
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		steps = append(steps, parseDelta(t, line))
		if word, _, _ := strings.Cut(line, " "); word == "end" || word == "fail" {
			reply := steps
			replies = append(replies, func(x *fakemodel.Exchange) {
				for _, step := range reply {
					step(x)
				}
			})
			steps = nil
		}
	}
	if len(steps) > 0 {
		t.Fatal("the last reply has no end")
	}
	return replies
}

func parseDelta(t *testing.T, line string) func(*fakemodel.Exchange) {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	var fields []string
	if n := map[string]int{"call": 3, "piece": 4}[word]; n > 0 {
		fields = strings.SplitN(rest+strings.Repeat(" ", n), " ", n) // missing fields are empty
	}
	for i := range fields {
		fields[i] = strings.TrimRight(fields[i], " ")
		if fields[i] == "-" {
			fields[i] = ""
		}
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return n
	}
	quoted := func() string {
		text, err := strconv.Unquote(rest)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return text
	}
	switch word {
	case "text":
		d := model.Delta{Text: quoted()}
		return func(x *fakemodel.Exchange) { x.Delta(d) }
	case "think":
		d := model.Delta{Reasoning: quoted()}
		return func(x *fakemodel.Exchange) { x.Delta(d) }
	case "notice":
		d := model.Delta{Notice: quoted()}
		return func(x *fakemodel.Exchange) { x.Delta(d) }
	case "call":
		return func(x *fakemodel.Exchange) { x.Call(fields[0], fields[1], fields[2]) }
	case "piece":
		d := model.CallDelta{Index: number(fields[0]), ID: fields[1], Name: fields[2], Args: fields[3]}
		return func(x *fakemodel.Exchange) { x.Delta(model.Delta{Call: &d}) }
	case "usage":
		in, out, _ := strings.Cut(rest, " ")
		u := model.Usage{Input: number(in), Output: number(out)}
		return func(x *fakemodel.Exchange) { x.Usage(u) }
	case "end":
		if rest == "" {
			return (*fakemodel.Exchange).End
		}
		return func(x *fakemodel.Exchange) { x.Finish(model.Finish(rest)) }
	case "fail":
		return func(x *fakemodel.Exchange) {
			x.Fail(&model.Error{Kind: model.ErrorKind(rest), Endpoint: "http://x/v1"})
		}
	}
	t.Fatalf("%q is no delta", line)
	return nil
}
