package acp

import (
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestAnswerOf(t *testing.T) {
	t.Parallel()
	choice := tools.ClarifyRequest{Choices: []string{"a", "b"}}
	both := tools.ClarifyRequest{Choices: []string{"a", "b"}, FreeText: true}
	open := tools.ClarifyRequest{FreeText: true}
	given := func(text string) tools.Answer { return tools.Answer{Kind: tools.AnswerGiven, Text: text} }
	none := tools.Answer{}
	for name, tc := range map[string]struct {
		answer string
		q      tools.ClarifyRequest
		want   tools.Answer
	}{
		"choice":               {`{"action":"accept","content":{"answer":"b"}}`, choice, given("b")},
		"never offered":        {`{"action":"accept","content":{"answer":"c"}}`, choice, none},
		"own words, not asked": {`{"action":"accept","content":{"other":"c"}}`, choice, none},
		"own words":            {`{"action":"accept","content":{"other":" c "}}`, both, given("c")},
		"both":                 {`{"action":"accept","content":{"answer":"a","other":"c"}}`, both, given("c")},
		"choice, other empty":  {`{"action":"accept","content":{"answer":"a","other":""}}`, both, given("a")},
		"open":                 {`{"action":"accept","content":{"answer":"anything"}}`, open, given("anything")},
		"open, empty":          {`{"action":"accept","content":{"answer":"  "}}`, open, none},
		"no content":           {`{"action":"accept"}`, open, none},
		"a number":             {`{"action":"accept","content":{"answer":3}}`, open, none},
		"decline":              {`{"action":"decline"}`, open, none},
		"cancel":               {`{"action":"cancel"}`, open, none},
		"decline with content": {`{"action":"decline","content":{"answer":"a"}}`, open, none},
	} {
		var r acp.ElicitResponse
		if err := json.Unmarshal([]byte(tc.answer), &r); err != nil {
			t.Fatal(err)
		}
		if got := answerOf(r, tc.q); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestShowsForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		caps string
		want bool
	}{
		"nothing":  {`{}`, false},
		"form":     {`{"elicitation":{"form":{}}}`, true},
		"url only": {`{"elicitation":{"url":{}}}`, false},
		"null":     {`{"elicitation":null}`, false},
	} {
		var can acp.ClientCapabilities
		if err := json.Unmarshal([]byte(tc.caps), &can); err != nil {
			t.Fatal(err)
		}
		c := newClient(nil)
		c.SetCapabilities(can)
		if got := c.ShowsForms(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
