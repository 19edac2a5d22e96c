package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
)

// chatModel is a server of Chat Completions. It records its requests.
type chatModel struct {
	sync.Mutex
	url    string
	text   string
	status int
	bodies []string
}

func serveChat(t *testing.T, text string) *chatModel {
	t.Helper()
	m := &chatModel{text: text}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m.Lock()
		defer m.Unlock()
		m.bodies = append(m.bodies, string(body))
		if m.status != 0 {
			http.Error(w, `{"error":{"message":"no"}}`, m.status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", m.text)
	}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *chatModel) sent() string {
	m.Lock()
	defer m.Unlock()
	return strings.Join(m.bodies, "\n")
}

// TestSmallModel checks that model.small writes the notes of a compaction and reviews actions. If
// it fails, the session's model writes the notes.
func TestSmallModel(t *testing.T) {
	t.Parallel()
	main, small := serveChat(t, "main "+strings.Repeat("word ", 3000)), serveChat(t, "ALLOW")
	home := t.TempDir()
	save(t, home, fmt.Sprintf(`
model: {provider: big, default: m, context_window: 100000, small: little/s}
providers: {big: {base_url: %q, api_key: key-of-big}, little: {base_url: %q, api_key: key-of-little}}
`, main.url, small.url))
	x, _ := session(t, open(t, Options{Home: home}), t.TempDir())
	compact := func() {
		t.Helper()
		for range 3 {
			prompt1(t, x, "go on")
		}
		if stop, err := x.StartCompaction("", nil).Run(t.Context()); stop != agent.EndTurn || err != nil {
			t.Fatal(stop, err)
		}
	}
	compact()
	if n := len(small.bodies); n != 1 || len(main.bodies) != 3 || !strings.Contains(small.sent(), `"model":"s"`) {
		t.Errorf("%d requests to the small model, %d to the main one", n, len(main.bodies))
	}
	if !x.settings.judge(t.Context(), "rm -rf build", "deletes") || len(small.bodies) != 2 || len(main.bodies) != 3 {
		t.Errorf("after a review: %d requests to the small model, %d to the main one", len(small.bodies), len(main.bodies))
	}
	small.Lock()
	small.status = http.StatusUnauthorized
	small.Unlock()
	compact()
	if len(main.bodies) != 7 || len(small.bodies) != 3 {
		t.Errorf("after a failure: %d requests to the small model, %d to the main one", len(small.bodies), len(main.bodies))
	}
}

// TestChangedModelNotice checks the notice about a changed model: it loses the prompt cache.
func TestChangedModelNotice(t *testing.T) {
	t.Parallel()
	one, two := serveChat(t, "one"), serveChat(t, "two")
	home := t.TempDir()
	save(t, home, fmt.Sprintf("model: {provider: a, default: m, fallback: [b/n]}\nproviders: {a: {base_url: %q}, b: {base_url: %q}}\n", one.url, two.url))
	x, g := session(t, open(t, Options{Home: home}), t.TempDir())
	for _, name := range []string{"n", "m"} { // before the first prompt there is no cache
		if err := x.SetOption(t.Context(), optionModel, name); err != nil {
			t.Fatal(err)
		}
	}
	prompt1(t, x, "hi")
	if n := g.notices(); len(n) != 0 {
		t.Errorf("notices %q", n)
	}
	if err := x.SetOption(t.Context(), optionModel, "n"); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "again")
	if n := g.notices(); len(n) != 1 || !strings.Contains(n[0], "b/n answers from now on. The prompt cache of a/m does not apply") {
		t.Errorf("notices %q", n)
	}
	if len(one.bodies) != 1 || len(two.bodies) != 1 {
		t.Errorf("%d and %d requests", len(one.bodies), len(two.bodies))
	}
}

// TestSuggestedTitle checks /title auto: it sends the user's prompts to the small model.
func TestSuggestedTitle(t *testing.T) {
	t.Parallel()
	main, small := serveChat(t, "done"), serveChat(t, "“Fix the total.”\nBecause")
	home := t.TempDir()
	save(t, home, fmt.Sprintf("model: {provider: big, default: m, small: little/s}\nproviders: {big: {base_url: %q}, little: {base_url: %q}}\n", main.url, small.url))
	x, _ := session(t, open(t, Options{Home: home}), t.TempDir())
	if _, err := retitle(t.Context(), x, "auto"); err == nil || len(small.bodies) != 0 {
		t.Errorf("without a prompt: %v", err)
	}
	prompt1(t, x, "mend total in shop.py")
	if _, err := retitle(t.Context(), x, "auto"); err != nil || x.Title() != "Fix the total" || !strings.Contains(small.sent(), "mend total in shop.py") || len(main.bodies) != 1 {
		t.Errorf("title %q, %v; the request: %s", x.Title(), err, small.sent())
	}
}

// TestDescribedPicture checks that auxiliary.vision describes pictures, and that its failures name
// the model.
func TestDescribedPicture(t *testing.T) {
	t.Parallel()
	main, eyes := serveChat(t, "done"), serveChat(t, "A cat.")
	home := t.TempDir()
	save(t, home, fmt.Sprintf(`
model: {provider: big, default: m, supports_vision: false}
auxiliary: {vision: {base_url: %q, model: e}}
providers: {big: {base_url: %q, api_key: key-of-big}}
`, eyes.url, main.url))
	x, _ := session(t, open(t, Options{Home: home}), t.TempDir())
	picture := model.Image{MIMEType: "image/gif", Data: "R0lGODlhAgADAAAAAA=="}
	d, asked, err := x.settings.describe(t.Context(), picture, "what is it?")
	if !asked || err != nil || d != (model.Description{By: "e", Text: "A cat."}) || !strings.Contains(eyes.sent(), "what is it?") || !strings.Contains(eyes.sent(), picture.Data) {
		t.Errorf("%+v, %v, %v; the request: %s", d, asked, err, eyes.sent())
	}
	eyes.Lock()
	eyes.status = http.StatusBadRequest
	eyes.Unlock()
	if _, asked, err := x.settings.describe(t.Context(), picture, ""); !asked || err == nil {
		t.Errorf("a refused request: %v, %v", asked, err)
	}
}
