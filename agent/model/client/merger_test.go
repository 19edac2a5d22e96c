package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// TestPiecesThatWaitAreOneDelta buffers the text of several events: it becomes a single delta.
// Text is not held back until the endpoint sends more, even if a proxy's ping follows.
func TestPiecesThatWaitAreOneDelta(t *testing.T) {
	t.Parallel()
	piece := func(text string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{` + text + `}}]}` + "\n\n"
	}
	read := make(chan struct{})
	m := inMemory(func(w http.ResponseWriter, _ *http.Request) {
		send := func(s string) {
			_, _ = io.WriteString(w, s)
			w.(http.Flusher).Flush()
		}
		send(piece(`"reasoning_content":"I "`) + piece(`"reasoning_content":"think"`) + strings.Repeat(piece(`"content":"word "`), 20))
		<-read
		send(piece(`"content":"later"`) + "data: ping\n\n")
		<-read
		send(": ping\n\n" + modeltest.Fine)
	})
	var got []string
	for d, err := range m.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != "" || d.Reasoning != "" {
			got = append(got, d.Reasoning+"|"+d.Text)
		}
		if strings.HasSuffix(d.Text, "word ") && strings.Count(strings.Join(got, ""), "word ") == 20 || d.Text == "later" {
			read <- struct{}{}
		}
	}
	var all model.Delta
	for _, g := range got {
		reasoning, text, _ := strings.Cut(g, "|")
		all.Reasoning += reasoning
		all.Text += text
	}
	if all.Reasoning != "I think" || !strings.HasPrefix(all.Text, strings.Repeat("word ", 20)+"later") {
		t.Errorf("%q, %q", all.Reasoning, all.Text)
	}
	if len(got) > 12 {
		t.Errorf("%d deltas: %q", len(got), got)
	}
}
