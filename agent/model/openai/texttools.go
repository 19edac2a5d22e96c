package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// Tools, calls and results as text, for servers whose chat template drops them. The form is
// Hermes' and Qwen's, known to many other models.
const (
	toolsHead = "\n\n# Tools\n\nYou may call these functions:\n<tools>"
	toolsFoot = "\n</tools>\n\nTo call functions, end your message with one JSON object for each call, in these tags. Write nothing after the last one:\n" +
		"<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>\n\nThen the results come in <tool_response> tags. Without a call, your message is the answer."
	resultOpen, resultClose = "<tool_response>\n", "\n</tool_response>"
)

// toolsText returns the tools' part of the system prompt.
func toolsText(req *model.Request, t *api.Target) (string, error) {
	text, err := t.Encoded.Tools(req.Tools, func() ([]byte, error) {
		out := []byte(toolsHead)
		for _, tool := range encodeTools(req.Tools) {
			line, err := api.Marshal(tool)
			if err != nil {
				return nil, err
			}
			out = append(append(out, '\n'), bytes.TrimSpace(line)...)
		}
		return append(out, toolsFoot...), nil
	})
	return string(text), err
}

// callsText returns a response with its calls as text: if possible, in the model's own bytes,
// so the server finds them in its cache.
func callsText(text string, calls []model.Call) string {
	var b strings.Builder
	b.WriteString(text)
	for _, c := range calls {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		name, err := json.Marshal(c.Name)
		if err != nil { // a string can always be encoded
			panic(err)
		}
		fmt.Fprintf(&b, "<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>", name, sentArgs(c.Args))
	}
	return b.String()
}

// resultText returns a result as the text of a user message. The text of a result cannot end
// it: results are JSON, where the marker is escaped.
func resultText(result string) string {
	return resultOpen + strings.ReplaceAll(result, "</tool_response", `<\/tool_response`) + resultClose
}
