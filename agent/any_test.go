package agent_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// TestAnything sends random responses and cancels turns at random. Every call must end,
// requests may only grow, and every endpoint must accept the history. The history must be the
// same in memory, in the store and after loading.
func TestAnything(t *testing.T) {
	t.Parallel()
	delta := rapid.Custom(func(t *rapid.T) model.Delta {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return model.Delta{Text: rapid.SampledFrom([]string{"", " ", "word", "☃\n"}).Draw(t, "text")}
		case 1:
			return model.Delta{Reasoning: "hm"}
		default:
			return model.Delta{Call: &model.CallDelta{
				Index: rapid.IntRange(0, 2).Draw(t, "index"),
				ID:    rapid.SampledFrom([]string{"", "a", "b", "call_1"}).Draw(t, "id"),
				Name:  rapid.SampledFrom([]string{"", "look", "write", "clock", "nosuch", " "}).Draw(t, "name"),
				Args:  rapid.SampledFrom([]string{"", "{}", `{"path":"a"}`, `{"path":`, `"b"}`, "[1]", "null", "\xff"}).Draw(t, "args"),
			}}
		}
	})
	reply := rapid.Custom(func(t *rapid.T) func(*fakemodel.Exchange) {
		deltas := rapid.SliceOfN(delta, 0, 6).Draw(t, "deltas")
		end := rapid.SampledFrom([]model.Finish{model.FinishStop, model.FinishCalls, model.FinishCalls, model.FinishLength, model.FinishRefusal, "", "error"}).Draw(t, "end")
		return func(x *fakemodel.Exchange) {
			for _, d := range deltas {
				x.Delta(d)
			}
			switch end {
			case "":
				x.Fail(&model.Error{Kind: model.ErrCut})
			case "error":
				x.Fail(errors.New("something else"))
			default:
				x.Finish(end)
			}
		}
	})
	st := openStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := fakemodel.Script(rapid.SliceOfN(reply, 24, 24).Draw(rt, "replies")...)
		config := agent.Config{Model: m, Store: st, Tools: scriptTools(t, nil), MaxIterations: 6}
		s := begin(t, config)
		var refused []int
		for range 4 {
			if playAnything(t, rt, s) == agent.Refusal {
				refused = append(refused, len(m.Requests()))
			}
		}
		log := messages(t, st, s.ID())
		checkLog(t, append(bare(log), closing(log)...))
		checkGrowth(t, m.Requests(), refused...)
		config.Head.ID = s.ID()
		loaded := load(t, config)
		if !reflect.DeepEqual(loaded.Last(), s.Last()) || loaded.Usage() != s.Usage() || len(messages(t, st, s.ID())) != len(log) {
			t.Error("what was loaded is not what was there")
		}
		if t.Failed() {
			rt.Fatalf("log:\n%s", render(log))
		}
	})
}

func playAnything(t *testing.T, rt *rapid.T, s *agent.Session) agent.StopReason {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, at := 0, rapid.IntRange(1, 40).Draw(rt, "cancelled at event")
	sink := &recorder{also: func(agent.Event) {
		if events++; events == at {
			cancel()
		}
	}}
	stop, err := s.Turn(ctx, agent.Input{Text: "go"}, sink)
	switch {
	case err != nil && stop != "", err == nil && stop == "":
		t.Errorf("stop %q with error %v", stop, err)
	case stop == agent.Cancelled && ctx.Err() == nil:
		t.Error("cancelled by nobody")
	}
	if a, b := len(of[agent.CallStarted](sink)), len(of[agent.CallEnded](sink)); a != b {
		t.Errorf("%d calls started, %d ended", a, b)
	}
	return stop
}
