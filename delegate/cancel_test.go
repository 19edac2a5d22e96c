package delegate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestCancelAnywhere cancels a large batch at a hundred random moments. It ends at once, with a
// result for every task, and the history accepts the next prompt. The bubble detects leaked
// goroutines.
func TestCancelAnywhere(t *testing.T) {
	t.Parallel()
	const children = 8
	for seed := range uint64(testneed.Cases(100, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				scripts := map[string][][]step{}
				var goals []string
				for i := range children {
					goal := fmt.Sprintf("Do job number %c", 'a'+i)
					goals = append(goals, goal)
					scripts[goal] = randomScript(random)
				}
				scripts["parent"] = [][]step{
					append([]step{{sleep: 500 * time.Millisecond}}, call("delegate_task", tasks(goals...))...),
					{{sleep: time.Second}, {text: "All done."}}, say("Again."),
				}
				b := newBed(t, scripts, func(b *bed) { b.limits.Children = children })
				b.write("a", "x\n")
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(7*time.Second))))
				defer cancel()
				began := time.Now()
				stop, err := b.parent.Turn(ctx, agent.Input{Text: "parent"}, &recorder{})
				if err != nil || stop != agent.Cancelled && stop != agent.EndTurn {
					t.Errorf("stop = %s, %v", stop, err)
				}
				if deadline, _ := ctx.Deadline(); stop == agent.Cancelled && time.Since(began) > deadline.Sub(began)+time.Second {
					t.Errorf("it took %v to end", time.Since(began))
				}
				b.checkAfterCancel(t, children)
				if next := b.prompt("go on"); next != agent.EndTurn {
					t.Errorf("the next turn: %s", next)
				}
				b.checkLog(b.id)
			})
		})
	}
}

func randomScript(random *rand.Rand) [][]step {
	var script [][]step
	for range 1 + random.IntN(3) {
		pause := step{sleep: time.Duration(random.Int64N(int64(2 * time.Second)))}
		script = append(script, append([]step{{text: "Look. "}, pause}, call("read_file", object{"path": "a", "limit": 1 + random.IntN(1000)})...))
	}
	return append(script, []step{{sleep: time.Second}, {text: "Report."}})
}

// checkAfterCancel checks the history. If the call was made, every task must have a result,
// done or interrupted, and a session in the same state.
func (b *bed) checkAfterCancel(t *testing.T, children int) {
	t.Helper()
	log := b.log(b.id)
	b.checkLog(b.id)
	if len(log) < 3 || len(log[1].Calls()) == 0 {
		return // cancelled before the call
	}
	a := b.answer()
	if len(a.Results) != children {
		t.Fatalf("%d results: %s", len(a.Results), a.text)
	}
	for i, r := range a.Results {
		ok := r.Status == "completed" && r.Exit == "completed" && r.Summary == "Report." ||
			r.Status == "interrupted" && r.Exit == "interrupted" && r.Error != "" && r.Summary != ""
		if r.Index != i || !ok {
			t.Errorf("result %d: %+v", i, r)
		}
		if head, err := b.store.Session(context.Background(), r.Session); err == nil {
			b.checkLog(r.Session)
			if !strings.Contains(head.Origin, `"status":"`+r.Status) {
				t.Errorf("the store says %s, the result %s", head.Origin, r.Status)
			}
		}
	}
	if started, ended := len(of[agent.ChildStarted](b.sink)), len(of[agent.ChildEnded](b.sink)); started != ended {
		t.Errorf("%d children began for the editor, %d ended", started, ended)
	}
}

// TestStopOne stops one of two subagents with its button. The other completes, and the work of
// the first is reported.
func TestStopOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":    {call("delegate_task", tasks("Run away", "Stay here")), say("ok")},
			"Run away":  {append([]step{{text: "I found b."}}, call("read_file", object{"path": "a"})...), {{sleep: time.Hour}}},
			"Stay here": {{{sleep: 3 * time.Second}, {text: "Here."}}},
		})
		b.sink.also = func(e agent.Event) {
			if s, ok := e.(agent.ChildStarted); ok && s.Goal == "Run away" {
				time.AfterFunc(time.Second, s.Stop)
			}
		}
		b.write("a", "x\n")
		b.prompt("parent")
		a := b.answer()
		if r := a.Results[0]; r.Status != "interrupted" || r.Exit != "interrupted" || !strings.Contains(r.Summary, "I found b.") || r.Duration != 1 || !strings.Contains(r.Error, "stopped alone") {
			t.Errorf("stopped: %+v", r)
		}
		if r := a.Results[1]; r.Status != "completed" || r.Summary != "Here." || r.Duration != 3 {
			t.Errorf("the other: %+v", r)
		}
	})
}

// TestTraceOfStopped checks a call cut off by a stop: it is reported as interrupted, also by a
// later process.
func TestTraceOfStopped(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"at once": false, "a later process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string][][]step{
				"parent":  {call("delegate_task", object{"goal": "Hang about", "background": true}), say("ok"), call("delegate_task", object{"action": "wait"}), say("ok")},
				"Hang ab": {call("terminal", object{"command": "echo done"}), call("terminal", object{"command": "echo begun; sleep 1000"}), say("Never.")},
			})
			ended := make(chan struct{})
			stop := sync.OnceFunc(func() { of[agent.ChildStarted](b.sink)[0].Stop() })
			b.sink.also = func(e agent.Event) {
				switch e := e.(type) {
				case agent.ChildEvent:
					if p, ok := e.Event.(agent.CallProgress); ok && len(p.Shown) > 0 && strings.Contains(p.Shown[0].Text, "begun") {
						stop()
					}
				case agent.ChildEnded:
					close(ended)
				}
			}
			b.prompt("parent")
			<-ended
			if later {
				b.close()
				b.open()
			}
			if stop, err := b.parent.Turn(t.Context(), agent.Input{Text: "well?"}, &recorder{}); stop != agent.EndTurn || err != nil {
				t.Errorf("%s, %v", stop, err)
			}
			a := b.answer()
			if len(a.Results) != 1 || len(a.Results[0].Trace) != 2 || a.Results[0].Trace[0].Status != "completed" || a.Results[0].Trace[1].Status != "interrupted" || a.Results[0].Status != "interrupted" {
				t.Errorf("result: %s", a.text)
			}
		})
	}
}
