package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestCompactionsRemember compacts several times. Each summary contains the first prompt and
// the names of edited files, regardless of the notes. Each request for notes contains the
// previous summary, with its notes.
func TestCompactionsRemember(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	set := toolSet(t, onPath("read_file", tools.KindRead), onPath("patch", tools.KindEdit))
	rapid.Check(t, func(rt *rapid.T) {
		task := "TASK " + strings.Repeat("mend it ", rapid.IntRange(1, 70).Draw(rt, "words")) + "END"
		files, notes, step := rapid.IntRange(4, 20).Draw(rt, "files"), 0, 0
		m := fakemodel.Func(func(x *fakemodel.Exchange) {
			last := x.Request.Messages[len(x.Request.Messages)-1]
			switch {
			case asksForNotes(x.Request):
				text := strings.Join(texts(x.Request.Messages), "\n")
				if !strings.Contains(text, task) {
					rt.Errorf("the request for notes %d lacks the task", notes+1)
				}
				if notes > 0 && !strings.Contains(text, fmt.Sprintf("NOTES %d.", notes)) {
					rt.Errorf("the request for notes %d lacks the notes before", notes+1)
				}
				notes++
				x.Text(fmt.Sprintf("NOTES %d.", notes))
			case last.Role == model.User && step < files:
				step++
				x.Call(fmt.Sprint("w", step), "patch", fmt.Sprintf(`{"path":"src/part/made%02d.go"}`, step))
			default:
				x.Text("answer " + strings.Repeat("word ", 300*(1+step%4)))
			}
			x.End()
		})
		s := begin(t, agent.Config{Model: m, Store: openStore(t), Tools: set, Window: 8192, CompactAt: 0.7})
		talk(t, s, task)
		for n := 0; notes < 5 && n < 120; n++ {
			talk(t, s, fmt.Sprintf("go on %d %s", n, strings.Repeat("please ", 10)))
		}
		all := m.Requests()
		final := strings.Join(texts(all[len(all)-1].Messages), "\n")
		if notes < 5 {
			rt.Fatalf("%d compactions", notes)
		}
		if !strings.Contains(final, task) {
			rt.Errorf("the task is gone:\n%s", final[:2000])
		}
		for i := 1; i <= step; i++ {
			if name := fmt.Sprintf("made%02d.go", i); !strings.Contains(final, name) {
				rt.Errorf("%s of %d is gone", name, step)
			}
		}
	})
}
