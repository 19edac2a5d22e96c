package clarify

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// user answers a question of clarify.
type user struct {
	away   bool
	answer func(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error)
	asked  []tools.ClarifyRequest
}

func (u *user) CanClarify() bool { return !u.away }

func (u *user) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	u.asked = append(u.asked, q)
	return u.answer(ctx, q)
}

func says(kind tools.AnswerKind, text string) *user {
	return &user{answer: func(context.Context, tools.ClarifyRequest) (tools.Answer, error) {
		return tools.Answer{Kind: kind, Text: text}, nil
	}}
}

type clarified struct{ Answer, Note, Error string }

func TestClarify(t *testing.T) {
	t.Parallel()
	seven := []string{"1", "2", "3", "4", "5", "6", "7"}
	for _, tc := range []struct {
		name string
		user *user
		args map[string]any
		want clarified // expected in each
		took time.Duration
	}{
		{name: "answer", user: says(tools.AnswerGiven, "the second"), args: map[string]any{"question": "Which?"}, want: clarified{Answer: "the second"}},
		{name: "choice", user: says(tools.AnswerGiven, "b"), args: map[string]any{"question": "Which?", "choices": []string{"a", "b"}}, want: clarified{Answer: "b"}},
		{name: "closed", user: says(tools.AnswerNone, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "closed the question"}},
		{name: "left to the model", user: says(tools.AnswerYou, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "leaves it to you"}},
		{name: "later", user: says(tools.AnswerLater, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "End your turn now"}},
		{name: "nobody answers", user: &user{answer: func(ctx context.Context, _ tools.ClarifyRequest) (tools.Answer, error) {
			<-ctx.Done()
			return tools.Answer{}, ctx.Err()
		}}, args: map[string]any{"question": "Which?"}, want: clarified{Note: "There was no answer within 5m0s"}, took: 5 * time.Minute},
		{name: "asking fails", user: &user{answer: func(context.Context, tools.ClarifyRequest) (tools.Answer, error) {
			return tools.Answer{}, errors.New("no window")
		}}, args: map[string]any{"question": "Which?"}, want: clarified{Note: "no window"}},
		{name: "nobody there", user: &user{away: true}, args: map[string]any{"question": "Which?"}, want: clarified{Error: "no user can be asked here"}},
		{name: "empty", user: says(tools.AnswerGiven, "x"), args: map[string]any{"question": " "}, want: clarified{Error: "question is empty"}},
		{name: "seven choices", user: says(tools.AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": seven}, want: clarified{Error: "at most 6"}},
		{name: "twice", user: says(tools.AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": []string{"a", "a"}}, want: clarified{Error: "given twice"}},
		{name: "empty choice", user: says(tools.AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": []string{"a", ""}}, want: clarified{Error: "is empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, began := toolstest.Set(t, Clarify(tc.user, 5*time.Minute)), time.Now()
				var got clarified
				r := toolstest.Call(t, s, &tools.Env{}, "clarify", tc.args, &got)
				if got.Answer != tc.want.Answer || !strings.Contains(got.Note, tc.want.Note) || !strings.Contains(got.Error, tc.want.Error) ||
					r.IsError != (tc.want.Error != "") || (got.Note == "") != (tc.want.Note == "") {
					t.Errorf("got %s", r.JSON)
				}
				if r.IsError && len(tc.user.asked) > 0 {
					t.Error("the user was asked")
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestInquiry(t *testing.T) {
	t.Parallel()
	no := false
	for _, tc := range []struct {
		in   clarifyIn
		want tools.ClarifyRequest
	}{
		{clarifyIn{Question: " A\x1b[31m?\n B "}, tools.ClarifyRequest{Question: "A?\n B", FreeText: true}},
		{clarifyIn{Question: "?", Choices: []string{"x\ny"}}, tools.ClarifyRequest{Question: "?", Choices: []string{"x y"}, FreeText: true}},
		{clarifyIn{Question: "?", Choices: []string{"x"}, AllowFreetext: &no}, tools.ClarifyRequest{Question: "?", Choices: []string{"x"}}},
		{clarifyIn{Question: "?", AllowFreetext: &no}, tools.ClarifyRequest{Question: "?", FreeText: true}}, // else there were no answer at all
	} {
		got, err := requestOf(&tools.Env{}, tools.Call{}, tc.in)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v: got %+v, %v", tc.in, got, err)
		}
	}
}

// TestClarifyWaitsItsTurn checks that a session shows only one question at a time.
func TestClarifyWaitsItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, most := 0, 0
		u := &user{answer: func(context.Context, tools.ClarifyRequest) (tools.Answer, error) {
			open++
			most = max(most, open)
			time.Sleep(time.Minute)
			open--
			return tools.Answer{Kind: tools.AnswerGiven, Text: "x"}, nil
		}}
		s := toolstest.Set(t, Clarify(u, 5*time.Minute))
		env := &tools.Env{Gate: gate.New(gate.Config{})}
		done := make(chan string)
		for range 3 {
			go func() {
				r, _ := s.Call(t.Context(), env, tools.Call{ID: "1", Name: "clarify", Args: []byte(`{"question":"?"}`)})
				done <- string(r.JSON)
			}()
		}
		for range 3 {
			if got := <-done; got != `{"answer":"x"}` {
				t.Errorf("got %s", got)
			}
		}
		if most != 1 {
			t.Errorf("%d questions at once", most)
		}
	})
}

func TestClarifyCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &user{answer: func(ctx context.Context, _ tools.ClarifyRequest) (tools.Answer, error) {
			<-ctx.Done()
			return tools.Answer{}, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		r, err := toolstest.Set(t, Clarify(u, time.Minute)).Call(ctx, &tools.Env{}, tools.Call{ID: "1", Name: "clarify", Args: []byte(`{"question":"?"}`)})
		if !errors.Is(err, context.Canceled) || !strings.Contains(string(r.JSON), "interrupted") {
			t.Errorf("got %s, %v", r.JSON, err)
		}
	})
}
