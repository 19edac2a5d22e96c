package model_test

import (
	"reflect"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

func TestPartsOfAResponse(t *testing.T) {
	t.Parallel()
	signature, item := &model.State{API: "messages", Data: []byte("a")}, &model.State{API: "responses", Data: []byte("b")}
	call := func(i int, args string) *model.CallDelta {
		return &model.CallDelta{Index: i, ID: []string{"c1", "c2"}[i], Name: "x", Args: args}
	}
	x := func(i int, args string) model.Call {
		return model.Call{ID: []string{"c1", "c2"}[i], Name: "x", Args: args}
	}
	for name, c := range map[string]struct {
		deltas []model.Delta
		want   []model.Part
	}{
		"pieces": {
			[]model.Delta{{Reasoning: "Hm"}, {Reasoning: "."}, {Text: "I "}, {Text: "look."}},
			[]model.Part{model.ReasoningPart("Hm."), model.TextPart("I look.")},
		},
		"both at once": {
			[]model.Delta{{Reasoning: "Hm.", Text: "I look."}},
			[]model.Part{model.ReasoningPart("Hm."), model.TextPart("I look.")},
		},
		"order": {
			[]model.Delta{{Text: "a"}, {Reasoning: "b"}, {Call: call(0, "{}")}, {Text: "c"}, {Call: call(1, "{")}, {Call: &model.CallDelta{Index: 1, Args: "}"}}, {Reasoning: "d"}},
			[]model.Part{model.TextPart("a"), model.ReasoningPart("b"), model.CallPart(x(0, "{}")), model.TextPart("c"), model.CallPart(x(1, "{}")), model.ReasoningPart("d")},
		},
		"a signature, and reasoning without text": {
			[]model.Delta{{Begin: model.ReasoningType}, {Reasoning: "Hm."}, {State: signature}, {Begin: model.ReasoningType, State: item}, {Text: "So."}},
			[]model.Part{{Type: model.ReasoningType, Text: "Hm.", State: signature}, {Type: model.ReasoningType, State: item}, model.TextPart("So.")},
		},
		"a complete part is not continued": {
			[]model.Delta{{Text: "a", State: item}, {Text: "b"}, {Begin: model.TextType, Text: "c"}},
			[]model.Part{{Type: model.TextType, Text: "a", State: item}, model.TextPart("b"), model.TextPart("c")},
		},
		"state of calls": {
			[]model.Delta{{Call: call(0, "{}")}, {Call: call(1, "{}"), State: item}, {Call: &model.CallDelta{Index: 0}, State: signature}},
			[]model.Part{{Type: model.CallType, Call: x(0, "{}"), State: signature}, {Type: model.CallType, Call: x(1, "{}"), State: item}},
		},
	} {
		var r model.Reply
		for _, d := range append(c.deltas, model.Delta{Finish: model.FinishStop}) {
			if err := r.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Parts(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
		m := model.Message{Role: model.Assistant, Parts: r.Parts()}
		if m.Text() != r.Text || m.Reasoning() != r.Reasoning || len(m.Calls()) != len(r.Calls) {
			t.Errorf("%s: %+v is not %+v", name, m, r)
		}
	}
}
