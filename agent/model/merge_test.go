package model_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"pgregory.net/rapid"
)

func TestReplyMergesCalls(t *testing.T) {
	t.Parallel()
	type piece = model.CallDelta
	type calls = []model.Call
	tests := []struct {
		name   string
		pieces []piece
		want   calls
	}{
		{"one, in pieces",
			[]piece{{0, "a", "read_file", ""}, {0, "", "", `{"pa`}, {0, "", "", `th":"x"}`}},
			calls{{"a", "read_file", `{"path":"x"}`}}},
		{"two, interleaved",
			[]piece{{0, "a", "read_file", ""}, {1, "b", "todo", ""}, {0, "", "", `{"path":`}, {1, "", "", `{"n":1`}, {0, "", "", `"x"}`}, {1, "", "", `}`}},
			calls{{"a", "read_file", `{"path":"x"}`}, {"b", "todo", `{"n":1}`}}},
		{"arguments at another index, without id and name",
			[]piece{{0, "a", "read_file", `{"path":"x"}`}, {0, "b", "todo", ""}, {1, "", "", `{"n":`}, {1, "", "", `1}`}, {0, "c", "todo", ""}, {7, "", "", `{}`}},
			calls{{"a", "read_file", `{"path":"x"}`}, {"b", "todo", `{"n":1}`}, {"c", "todo", `{}`}}},
		{"arguments one index too high",
			[]piece{{0, "a", "read_file", ""}, {1, "", "", `{"path":"x"}`}, {1, "b", "todo", ""}, {2, "", "", `{}`}},
			calls{{"a", "read_file", `{"path":"x"}`}, {"b", "todo", `{}`}}},
		{"index restarted, new ids",
			[]piece{{0, "a", "read_file", `{"path":`}, {0, "", "", `"x"}`}, {0, "b", "read_file", `{"path":`}, {0, "", "", `"y"}`}},
			calls{{"a", "read_file", `{"path":"x"}`}, {"b", "read_file", `{"path":"y"}`}}},
		{"no index, by id",
			[]piece{{-1, "a", "read_file", `{"path":`}, {-1, "b", "todo", `{`}, {-1, "a", "", `"x"}`}, {-1, "b", "", `}`}},
			calls{{"a", "read_file", `{"path":"x"}`}, {"b", "todo", `{}`}}},
		{"whole, no ids, all index 0, as ollama did",
			[]piece{{0, "", "read_file", `{"path":"x"}`}, {0, "", "read_file", `{"path":"y"}`}, {0, "", "todo", `{}`}},
			calls{{"call_1", "read_file", `{"path":"x"}`}, {"call_2", "read_file", `{"path":"y"}`}, {"call_3", "todo", `{}`}}},
		{"no index, no ids",
			[]piece{{-1, "", "read_file", `{"path":"x"}`}, {-1, "", "todo", `{}`}},
			calls{{"call_1", "read_file", `{"path":"x"}`}, {"call_2", "todo", `{}`}}},
		{"name split",
			[]piece{{0, "a", "read", ""}, {0, "", "_file", ""}, {0, "", "", `{}`}},
			calls{{"a", "read_file", `{}`}}},
		{"name repeated with every piece",
			[]piece{{0, "a", "read_file", ""}, {0, "a", "read_file", `{"path":`}, {0, "a", "read_file", `"x"}`}},
			calls{{"a", "read_file", `{"path":"x"}`}}},
		{"name growing",
			[]piece{{0, "a", "read", ""}, {0, "a", "read_file", `{}`}},
			calls{{"a", "read_file", `{}`}}},
		{"arguments said again as a whole",
			[]piece{{0, "a", "todo", `{"n":`}, {0, "", "", `1}`}, {0, "", "", `{"n":1}`}},
			calls{{"a", "todo", `{"n":1}`}}},
		{"arguments as growing snapshots",
			[]piece{{0, "a", "todo", `{"n":`}, {0, "", "", `{"n":1,`}, {0, "", "", `{"n":1,"m":2}`}},
			calls{{"a", "todo", `{"n":1,"m":2}`}}},
		{"a nested object that begins like the piece before it",
			[]piece{{0, "a", "todo", `{"n":`}, {0, "", "", `{"n":1}}`}},
			calls{{"a", "todo", `{"n":{"n":1}}`}}},
		{"id in the last piece",
			[]piece{{0, "", "todo", `{`}, {0, "late", "", `}`}},
			calls{{"late", "todo", `{}`}}},
		{"the same id twice",
			[]piece{{0, "a", "todo", `{"n":1}`}, {1, "a", "todo", `{"n":2}`}},
			calls{{"a", "todo", `{"n":1}`}, {"a_2", "todo", `{"n":2}`}}},
		{"cut arguments stay as they came",
			[]piece{{0, "a", "write_file", `{"path":"x","content":"ab`}},
			calls{{"a", "write_file", `{"path":"x","content":"ab`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r model.Reply
			for i := range tt.pieces {
				r.Add(model.Delta{Call: &tt.pieces[i]})
			}
			r.Add(model.Delta{Finish: model.FinishCalls})
			if !reflect.DeepEqual(calls(r.Calls), tt.want) {
				t.Errorf("calls = %q\nwant    %q", r.Calls, tt.want)
			}
		})
	}
}

func TestReplyNumbersCallsOverASession(t *testing.T) {
	t.Parallel()
	r := model.Reply{CallsBefore: 7}
	r.Add(model.Delta{Call: &model.CallDelta{Name: "todo", Args: "{}"}, Finish: model.FinishCalls})
	if got := r.Calls[0].ID; got != "call_8" {
		t.Errorf("id = %q, want call_8", got)
	}
}

func TestReplyKeepsTextUsageAndFinish(t *testing.T) {
	t.Parallel()
	var r model.Reply
	for _, d := range []model.Delta{
		{Reasoning: "hm"}, {Reasoning: "m"}, {Text: "a"}, {Text: "b"}, {Usage: &model.Usage{Input: 1}},
		{Finish: model.FinishLength, Usage: &model.Usage{Input: 3, Output: 2}, Model: "m"},
	} {
		r.Add(d)
	}
	if r.Text != "ab" || r.Reasoning != "hmm" || r.Usage != (model.Usage{Input: 3, Output: 2}) || r.Finish != model.FinishLength || r.Model != "m" {
		t.Errorf("reply = %q %q %+v %q %q", r.Text, r.Reasoning, r.Usage, r.Finish, r.Model)
	}
}

// TestReplyMergesAnyCut cuts well-formed calls into pieces and interleaves them. The calls must
// come out whole.
func TestReplyMergesAnyCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type whole struct {
			call model.Call
			rest string
		}
		n := rapid.IntRange(1, 4).Draw(t, "calls")
		var open []*whole
		var want []model.Call
		var r model.Reply
		for i := range n {
			args, err := json.Marshal(rapid.MapOfN(rapid.StringN(1, 4, -1), rapid.String(), 0, 3).Draw(t, "args"))
			if err != nil {
				t.Fatal(err)
			}
			c := model.Call{ID: fmt.Sprintf("id%d", i), Name: "tool", Args: string(args)}
			want = append(want, c)
			open = append(open, &whole{c, c.Args})
			r.Add(model.Delta{Call: &model.CallDelta{Index: i, ID: c.ID, Name: c.Name}})
		}
		for left := n; left > 0; {
			i := rapid.IntRange(0, n-1).Draw(t, "which")
			w := open[i]
			if w.rest == "" {
				i = firstOpen(func(j int) bool { return open[j].rest != "" })
				w = open[i]
			}
			k := rapid.IntRange(1, len(w.rest)).Draw(t, "length")
			r.Add(model.Delta{Call: &model.CallDelta{Index: i, Args: w.rest[:k]}})
			if w.rest = w.rest[k:]; w.rest == "" {
				left--
			}
		}
		r.Add(model.Delta{Finish: model.FinishCalls})
		if !reflect.DeepEqual(r.Calls, want) {
			t.Fatalf("calls = %q\nwant    %q", r.Calls, want)
		}
	})
}

func firstOpen(open func(int) bool) int {
	for i := 0; ; i++ {
		if open(i) {
			return i
		}
	}
}

func BenchmarkReplyAdd(b *testing.B) {
	b.ReportAllocs()
	var r model.Reply
	call := model.CallDelta{Args: "word "}
	for i := range b.N {
		if i%20000 == 0 {
			r = model.Reply{} // a fresh reply of usual length
		}
		r.Add(model.Delta{Text: "word "})
		r.Add(model.Delta{Call: &call})
	}
	if strings.Count(r.Text, "word") == 0 {
		b.Fatal("nothing was added")
	}
}
