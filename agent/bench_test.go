package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// BenchmarkTurn measures a turn with a call after histories of several lengths. The cost must
// not depend on the length.
func BenchmarkTurn(b *testing.B) {
	for _, length := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			st := openStore(b)
			s := begin(b, agent.Config{Store: st, Model: endless(), Tools: toolSet(b, quick("look", true))})
			text := strings.Repeat("x", 1000)
			for kept := 0; kept < length; kept += 4 {
				if _, err := s.Turn(b.Context(), agent.Input{Text: text}, nowhere{}); err != nil {
					b.Fatal(err)
				}
			}
			// The history grows during the measurement, so it is cut after some turns.
			head := store.Session{ID: s.ID()}
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				if i%8 == 0 {
					b.StopTimer()
					execute(b, st.Path(), fmt.Sprintf("DELETE FROM messages WHERE log = (SELECT log FROM pieces WHERE session_id = '%s') AND seq > %d", s.ID(), length))
					var err error
					if s, err = agent.Load(b.Context(), agent.Config{Head: head, Store: st, Model: endless(), Tools: toolSet(b, quick("look", true))}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if _, err := s.Turn(b.Context(), agent.Input{Text: text}, nowhere{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDelta measures the cost of the turn loop for each delta.
func BenchmarkDelta(b *testing.B) {
	for b.Loop() {
		s := begin(b, agent.Config{Model: fakemodel.Script(func(x *fakemodel.Exchange) {
			for range 20_000 {
				x.Text("some words ")
			}
		})})
		if _, err := s.Turn(b.Context(), agent.Input{Text: "go"}, nowhere{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/delta")
}

type nowhere struct{}

func (nowhere) Event(agent.Event) {}

// endless returns a model with alternating answers: a call, then a text.
func endless() *fakemodel.Model {
	replies := make([]func(*fakemodel.Exchange), 2000)
	for i := range replies {
		replies[i] = func(x *fakemodel.Exchange) {
			if i%2 == 0 {
				x.Call("", "look", "{}")
				return
			}
			x.Text("done")
		}
	}
	return fakemodel.Script(replies...)
}
