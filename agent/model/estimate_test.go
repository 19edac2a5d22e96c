package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

func TestTokensOfARequest(t *testing.T) {
	t.Parallel()
	r := &model.Request{
		System: strings.Repeat("s", 40), Tools: []model.Tool{{Name: "tool", Description: "does", Schema: json.RawMessage(`{"a":1} `)}},
		Messages: []model.Message{
			model.NewMessage(model.User, strings.Repeat("u", 20), model.ImageParts(model.Image{Data: strings.Repeat("A", 4000)})...),
			{Role: model.Assistant, Parts: []model.Part{{Type: model.ReasoningType, Text: "abcdefgh"}, model.CallPart(model.Call{ID: "1", Name: "tool", Args: `{"path":"a"}`})}},
		},
	}
	if got, want := r.TextTokens(), (40+16+20+16)/4; got != want {
		t.Errorf("%d tokens of text, want %d", got, want)
	}
	if got, want := r.Tokens(), r.TextTokens()+2+model.ImageTokens; got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}
