package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/extensions/feedback"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// chatGuest shows a chat of an editor.
type chatGuest struct{ guest }

func (*chatGuest) ShowsOffers() {}

// After a hard turn, a chat shows one line, once a day in all sessions. It is never shown after an
// easy turn, in a plain client, or with feedback.ask: never. After three unanswered offers, there
// are no more; /feedback 1 sends the prompt that writes a skill.
func TestFeedback(t *testing.T) {
	t.Parallel()
	turn := func(calls int) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) {
			if x.Request.Messages[len(x.Request.Messages)-1].Role == model.User {
				for i := range calls {
					x.Call(fmt.Sprint(i), "read_file", `{"path":"none"}`)
				}
			} else {
				x.Text("Done.")
			}
			x.End()
		}
	}
	run := func(t *testing.T, home, config string, calls int, chat bool, prompts ...string) (offers int, m *fakemodel.Model) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		m = fakemodel.Func(turn(calls))
		svc := app.New(server.Options{Home: home, Environ: []string{}, Model: m, Static: true})
		t.Cleanup(func() { _ = svc.Close() })
		g := &chatGuest{}
		var h server.Host = g
		if !chat {
			h = &g.guest
		}
		x, err := svc.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range prompts {
			if _, err := x.Prompt(t.Context(), agent.Input{Text: p}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range g.text {
			if line == "notice: "+feedback.Offer {
				offers++
			}
		}
		return offers, m
	}
	stored := func(home, text string) {
		path := filepath.Join(home, "extensions", "feedback.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	for _, c := range []struct {
		name, config, record string
		calls                int
		chat                 bool
		prompts              []string
		want                 int
	}{
		{"easy", "", "{}", 14, true, []string{"go"}, 0},
		{"a plain client", "", "{}", 15, false, []string{"go"}, 0},
		{"never", "feedback: {ask: never}\n", "{}", 15, true, []string{"go"}, 0},
		{"hard", "", "{}", 15, true, []string{"go", "go"}, 1},
		{"the same day", "", "", 15, true, []string{"go"}, 0},
		{"ignored three times", "", `{"offered":1,"ignored":3}`, 15, true, []string{"go"}, 0},
		{"ignored twice", "", `{"offered":1,"ignored":2}`, 15, true, []string{"go"}, 1},
		{"off", "", `{"offered":1}`, 15, true, []string{"/feedback 4", "go"}, 0},
		{"on", "", "", 15, true, []string{"/feedback on", "go"}, 1},
	} {
		if c.record != "" {
			stored(home, c.record)
		}
		if got, _ := run(t, home, c.config, c.calls, c.chat, c.prompts...); got != c.want {
			t.Errorf("%s: %d offers, want %d", c.name, got, c.want)
		}
	}
	_, m := run(t, home, "", 0, true, "/feedback 2", "/feedback 1")
	if all := m.Requests(); len(all) == 0 || !slices.ContainsFunc(all[0].Messages, func(m model.Message) bool {
		return strings.Contains(m.Text(), "Keep what worked in this session as a skill")
	}) {
		t.Errorf("/feedback 1 sent %d requests", len(all))
	}
}

// TestFeedbackSteered interrupts a turn of fifteen calls, all successful, by a prompt. The next
// turn ends with an offer.
func TestFeedbackSteered(t *testing.T) {
	t.Parallel()
	for _, steered := range []bool{false, true} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m := fakemodel.New()
		svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}, Model: m, Static: true})
		t.Cleanup(func() { _ = svc.Close() })
		g := &chatGuest{}
		x, err := svc.NewSession(t.Context(), server.Place{Cwd: root}, g)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		prompt := func(text string) {
			_, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil)
			ended <- err
		}
		go prompt("go")
		e := m.Next()
		for i := range 15 {
			e.Call(fmt.Sprint(i), "read_file", fmt.Sprintf(`{"path":"a.txt","limit":%d}`, i+1))
		}
		e.End()
		e = m.Next()
		if steered {
			go prompt("no, like this")
			<-e.Gone()
			e = m.Next()
		}
		e.Text("Done.")
		e.End()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if steered {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		if got := slices.Contains(g.text, "notice: "+feedback.Offer); got != steered {
			t.Errorf("steered %v: an offer is %v", steered, got)
		}
	}
}
