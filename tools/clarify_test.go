package tools

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// user answers a question of clarify.
type user struct {
	away   bool
	answer func(ctx context.Context, q Inquiry) (Answer, error)
	asked  []Inquiry
}

func (u *user) CanClarify() bool { return !u.away }

func (u *user) Clarify(ctx context.Context, q Inquiry) (Answer, error) {
	u.asked = append(u.asked, q)
	return u.answer(ctx, q)
}

func says(kind AnswerKind, text string) *user {
	return &user{answer: func(context.Context, Inquiry) (Answer, error) { return Answer{kind, text}, nil }}
}

type clarified struct{ Answer, Note, Error string }

func TestClarify(t *testing.T) {
	t.Parallel()
	seven := []string{"1", "2", "3", "4", "5", "6", "7"}
	for _, tc := range []struct {
		name string
		user *user
		args map[string]any
		env  Env
		want clarified // what each holds
		took time.Duration
	}{
		{name: "answer", user: says(AnswerGiven, "the second"), args: map[string]any{"question": "Which?"}, want: clarified{Answer: "the second"}},
		{name: "choice", user: says(AnswerGiven, "b"), args: map[string]any{"question": "Which?", "choices": []string{"a", "b"}}, want: clarified{Answer: "b"}},
		{name: "closed", user: says(AnswerNone, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "closed the question"}},
		{name: "left to the model", user: says(AnswerYou, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "leaves it to you"}},
		{name: "later", user: says(AnswerLater, ""), args: map[string]any{"question": "Which?"}, want: clarified{Note: "End your turn now"}},
		{name: "nobody answers", user: &user{answer: func(ctx context.Context, _ Inquiry) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}}, args: map[string]any{"question": "Which?"}, want: clarified{Note: "Nobody answered within 5m0s"}, took: 5 * time.Minute},
		{name: "asking fails", user: &user{answer: func(context.Context, Inquiry) (Answer, error) { return Answer{}, errors.New("no window") }}, args: map[string]any{"question": "Which?"}, want: clarified{Note: "no window"}},
		{name: "nobody there", user: &user{away: true}, args: map[string]any{"question": "Which?"}, want: clarified{Error: "nobody can be asked here"}},
		{name: "subagent", user: says(AnswerGiven, "x"), args: map[string]any{"question": "Which?"}, env: Env{For: "a goal"}, want: clarified{Error: "nobody can be asked here"}},
		{name: "empty", user: says(AnswerGiven, "x"), args: map[string]any{"question": " "}, want: clarified{Error: "question is empty"}},
		{name: "seven choices", user: says(AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": seven}, want: clarified{Error: "at most 6"}},
		{name: "twice", user: says(AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": []string{"a", "a"}}, want: clarified{Error: "given twice"}},
		{name: "empty choice", user: says(AnswerGiven, "x"), args: map[string]any{"question": "Which?", "choices": []string{"a", ""}}, want: clarified{Error: "is empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, began := setOf(t, Clarify(tc.user, 5*time.Minute)), time.Now()
				var got clarified
				r := callJSON(t, s, &tc.env, "clarify", tc.args, &got)
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
		want Inquiry
	}{
		{clarifyIn{Question: " A\x1b[31m?\n B "}, Inquiry{Question: "A?\n B", FreeText: true}},
		{clarifyIn{Question: "?", Choices: []string{"x\ny"}}, Inquiry{Question: "?", Choices: []string{"x y"}, FreeText: true}},
		{clarifyIn{Question: "?", Choices: []string{"x"}, AllowFreetext: &no}, Inquiry{Question: "?", Choices: []string{"x"}}},
		{clarifyIn{Question: "?", AllowFreetext: &no}, Inquiry{Question: "?", FreeText: true}}, // else there were no answer at all
	} {
		got, err := inquiry(&Env{}, Call{}, tc.in)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v: got %+v, %v", tc.in, got, err)
		}
	}
}

// TestClarifyWaitsItsTurn: one question at a time stands in a session.
func TestClarifyWaitsItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, most := 0, 0
		u := &user{answer: func(context.Context, Inquiry) (Answer, error) {
			open++
			most = max(most, open)
			time.Sleep(time.Minute)
			open--
			return Answer{AnswerGiven, "x"}, nil
		}}
		s := setOf(t, Clarify(u, 5*time.Minute))
		env := &Env{Gate: NewGate(GateConfig{})}
		done := make(chan string)
		for range 3 {
			go func() {
				r, _ := s.Call(t.Context(), env, Call{ID: "1", Name: "clarify", Args: []byte(`{"question":"?"}`)})
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
		u := &user{answer: func(ctx context.Context, _ Inquiry) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		r, err := setOf(t, Clarify(u, time.Minute)).Call(ctx, &Env{}, Call{ID: "1", Name: "clarify", Args: []byte(`{"question":"?"}`)})
		if !errors.Is(err, context.Canceled) || !strings.Contains(string(r.JSON), "interrupted") {
			t.Errorf("got %s, %v", r.JSON, err)
		}
	})
}
