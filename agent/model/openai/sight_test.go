package openai_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// What tools read as pictures follows their results, for a model that sees; each
// request is still the one before with more at its end.
func TestPicturesOfTools(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"gpt-4o":  `user,assistant,tool,tool,user:2,assistant,user,assistant,tool,user:1`,
		"o3-mini": `user,assistant,tool,tool,user:0,assistant,user,assistant,tool,user:0`,
	} {
		rec := &recorder{}
		m := serve(t, rec.ServeHTTP, func(c *openai.Config) { c.Endpoints[0].Model = id })
		picture := []model.Image{{MIMEType: "image/png", Data: "aGk="}}
		log := []model.Message{
			{Role: model.User, Text: "look"},
			{Role: model.Assistant, Calls: []model.Call{{ID: "1", Name: "read_file", Args: `{}`}, {ID: "2", Name: "read_file", Args: `{}`}}},
			{Role: model.ToolRole, CallID: "1", Name: "read_file", Text: `{}`, Images: picture},
			{Role: model.ToolRole, CallID: "2", Name: "read_file", Text: `{}`, Images: picture},
			{Role: model.Assistant, Text: "two"},
			{Role: model.User, Text: "another"},
			{Role: model.Assistant, Calls: []model.Call{{ID: "3", Name: "read_file", Args: `{}`}}},
			{Role: model.ToolRole, CallID: "3", Name: "read_file", Text: `{}`, Images: picture},
		}
		for _, n := range []int{4, 6, 8} {
			for _, err := range m.Stream(t.Context(), &model.Request{Messages: log[:n]}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range rec.bodies[1:] {
			if before := bytes.TrimSuffix(rec.bodies[i], []byte("]}")); !bytes.HasPrefix(rec.bodies[i+1], before) {
				t.Errorf("%s: request %d does not begin with the one before", id, i+1)
			}
		}
		if got := shape(t, rec.bodies[2]); got != want {
			t.Errorf("%s: sent %s, want %s", id, got, want)
		}
		if m.Sees(t.Context()) != (id == "gpt-4o") {
			t.Errorf("%s: sees %v", id, m.Sees(t.Context()))
		}
	}
}

// shape lists the roles of a request's messages, with the pictures of those of a user
// after tools.
func shape(t *testing.T, body []byte) string {
	t.Helper()
	var sent struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i, m := range sent.Messages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.Role)
		if m.Role == "user" && i > 0 && sent.Messages[i-1].Role == "tool" {
			b.WriteByte(':')
			b.WriteByte('0' + byte(bytes.Count(m.Content, []byte("data:image/png;base64,aGk="))))
		}
	}
	return b.String()
}

func TestSees(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"gpt-5": true, "openai/gpt-4o-mini": true, "anthropic/claude-sonnet-4.5": true, "llama3.2-vision:11b": true, "qwen/qwen2.5-vl-72b": true,
		"gpt-4": false, "o1-mini": false, "deepseek-chat": false, "qwen3-coder": false, "hermes-4": false, "": false,
	} {
		m := openai.New(openai.Config{Endpoints: []openai.Endpoint{{Provider: "custom", Model: id}}})
		if got := m.Sees(t.Context()); got != want {
			t.Errorf("%q sees: %v", id, got)
		}
	}
}
