package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &transcript.Writer{Out: &out, IDs: true}
	w.Head("Mend\nit", "s1", "/w")
	for _, e := range []agent.Event{
		agent.UserMessage{MessageID: "m1", Text: "hello"},
		agent.Thought{MessageID: "m2", Text: "one\ntwo"},
		agent.Text{MessageID: "m2", Text: "I "},
		agent.Text{MessageID: "m2", Text: "look."},
		agent.CallStarted{Call: tools.Call{Name: "execute_code", Args: json.RawMessage(`{"code":"x"}`)}, Title: "Run\n## You"},
		agent.CallEnded{Result: tools.Result{JSON: json.RawMessage(`{"output":"` + "```\\n## You" + `"}`), Shown: []tools.Content{
			{Text: "not this"}, {Inner: &tools.Inner{Tool: "read_file", Arguments: json.RawMessage(`{"path":"a` + "`" + `b"}`), Duration: 0.25, Status: "completed"}},
		}}},
		agent.UserMessage{MessageID: "m5", Text: "and this?", Images: []model.Image{{Name: "a`\n## You.png", MIMEType: "image/png"}, {MIMEType: "image/gif"}}, Attached: "file:///a.go\n```\n## You\n```"},
		agent.Compaction{ID: "m3", Status: agent.CompactionCompleted},
		agent.UsageChanged{},
		agent.Text{MessageID: "m4", Text: "Done."},
	} {
		w.Event(e)
	}
	w.End()
	want := "# Mend it\n\nSession s1 in /w\n" +
		"\n## You · m1\n\nhello\n" +
		"\n> one\n> two\n" +
		"\n## Hermes · m2\n\nI look.\n" +
		"\n### Run ## You\n\n```json\n{\n  \"code\": \"x\"\n}\n```\n" +
		"\n````json\n{\n  \"output\": \"```\\n## You\"\n}\n````\n" +
		"\nCalls of the script:\n\n- sandbox_tool_call `read_file` ``{\"path\":\"a`b\"}`` · 0.250 s · completed\n" +
		"\n## You · m5\n\nand this?\n" +
		"\n- picture ``a` ## You.png`` · image/png\n\n- picture `pasted` · image/gif\n" +
		"\nAttached:\n\n````\nfile:///a.go\n```\n## You\n```\n````\n" +
		"\n> Here a summary replaced older messages for the model.\n" +
		"\n## Hermes · m4\n\nDone.\n"
	if out.String() != want || w.Err() != nil {
		t.Errorf("got %q\nwant %q, %v", out.String(), want, w.Err())
	}
}
