package servertest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

const probe = "workspace/workspaceFolders"

// behind returns the methods of the messages after the response to a request.
func behind(t *testing.T, e *servertest.Editor, id json.RawMessage) []string {
	t.Helper()
	var methods []string
	found := false
	for _, f := range e.Frames() {
		if found {
			methods = append(methods, f.Method)
		}
		found = found || f.Method == "" && string(f.ID) == string(id)
	}
	if !found {
		t.Fatalf("request %s has no response", id)
	}
	return methods
}

// Messages after a response follow it at once, for every client name.
func TestWhatFollowsAResponse(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"", "-", "Eglot", "Neovim"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			with(t, servertest.Options{Client: client}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				start := time.Now()
				id, wait := e.Go("session/new", map[string]any{"cwd": e.Root, "mcpServers": []any{}})
				if _, err := wait(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := behind(t, e, id); !slices.Equal(got, []string{"session/update"}) {
					t.Errorf("behind the session came %q", got)
				}
				if err := e.Command(protocol.CommandSessionNew, nil, nil); err != nil {
					t.Fatal(err)
				}
				before := len(e.Frames())
				id, wait = e.Go("workspace/executeCommand", prompt("hi", false))
				if _, err := wait(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := e.Frames()[before]; string(got.ID) != string(id) || got.Method != "" {
					t.Errorf("before the response came %s", got.Method)
				}
				if got := behind(t, e, id); !slices.Contains(got, "window/workDoneProgress/create") || !slices.Contains(got, "window/showDocument") {
					t.Errorf("behind the response came %q", got)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("a message waited for %v", took)
				}
			}, says("hello"))
		})
	}
}

// lsp-mode loses messages if it reads them together with a response. It gets only requests until it
// has answered one.
func TestLspModeHasReadTheResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost   int // requests read together with the response
		within time.Duration
	}{
		"at once":   {0, 0},
		"three":     {3, 70 * time.Millisecond},
		"never":     {1000, 5 * time.Second},
		"and again": {1, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, servertest.Options{Client: "emacs"}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				e.SilenceNext(probe, c.lost)
				start := time.Now()
				id, wait := e.Go("workspace/executeCommand", prompt("hi", false))
				if _, err := wait(); err != nil || time.Since(start) != 0 {
					t.Fatalf("the response came after %v, %v", time.Since(start), err)
				}
				if c.within > 0 {
					time.Sleep(c.within - time.Millisecond)
					synctest.Wait()
					for _, method := range behind(t, e, id) {
						if method != probe {
							t.Errorf("%s came before the client had read the response", method)
						}
					}
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if got := behind(t, e, id); got[0] != probe || !slices.Contains(got, "window/workDoneProgress/create") {
					t.Errorf("behind the response came %q", got)
				}
				time.Sleep(time.Minute)
				if text := e.Text(strings.TrimPrefix(e.Shown()[0], "file://")); !strings.Contains(text, "hello") {
					t.Errorf("the chat reads %q", text)
				}
			}, says("hello"))
		})
	}
}

// slow are options of an editor whose first session takes a second to open: it does not
// answer the question for its settings.
func slow() servertest.Options {
	return servertest.Options{Plugin: true, Settings: map[string]any{}, SettingsAfter: time.Hour}
}

// A cancel is answered at once, despite waiting messages, and reaches queued turns.
func TestCancelOvertakes(t *testing.T) {
	t.Parallel()
	with(t, slow(), func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		start := time.Now()
		_, turn := e.Go("workspace/executeCommand", prompt("hi", true))
		var others []func() (json.RawMessage, error)
		for range 100 {
			_, wait := e.Go("workspace/executeCommand", map[string]any{"command": protocol.CommandSessionList})
			others = append(others, wait)
		}
		if !e.Cancel() || time.Since(start) != 0 {
			t.Errorf("the cancel was answered after %v", time.Since(start))
		}
		_, later := e.Go("workspace/executeCommand", prompt("and now", true))
		var result protocol.TurnResult
		if raw, err := turn(); err != nil || json.Unmarshal(raw, &result) != nil || result.StopReason != "cancelled" {
			t.Errorf("the prompt before the cancel: %+v, %v", result, err)
		}
		for _, wait := range others {
			if _, err := wait(); err != nil {
				t.Error(err)
			}
		}
		if raw, err := later(); err != nil || json.Unmarshal(raw, &result) != nil || *result.Text != "hello" {
			t.Errorf("the prompt behind the cancel: %+v, %v", result, err)
		}
		if n := len(m.Requests()); n != 1 {
			t.Errorf("%d requests to the model, want only that of the later prompt", n)
		}
	}, says("hello"))
}

// A queued turn can be canceled by its progress token and by the Agent Client Protocol.
func TestCancelBeforeItBegins(t *testing.T) {
	t.Parallel()
	command := func(e *servertest.Editor) func() (json.RawMessage, error) {
		_, wait := e.Go("workspace/executeCommand", map[string]any{
			"command": protocol.CommandPrompt, "workDoneToken": "mine", "arguments": []any{protocol.PromptArgs{Prompt: "hi", Wait: true}},
		})
		return wait
	}
	for name, c := range map[string]struct {
		token string
		want  string
	}{
		"its token":   {"mine", `"stopReason":"cancelled"`},
		"other token": {"yours", `"stopReason":"end_turn"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, slow(), func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				wait := command(e)
				e.Notify("window/workDoneProgress/cancel", map[string]any{"token": c.token})
				if raw, err := wait(); err != nil || !strings.Contains(string(raw), c.want) {
					t.Errorf("%s, %v", raw, err)
				}
			}, says("hello"))
		})
	}
	t.Run("session/cancel", func(t *testing.T) {
		t.Parallel()
		with(t, servertest.Options{Plugin: true}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
			id := e.Ask("hi").SessionID
			_, running := e.Go("session/prompt", acpPrompt(id, "work"))
			_, queued := e.Go("session/prompt", acpPrompt(id, "more"))
			start := time.Now()
			e.Notify("session/cancel", map[string]any{"sessionId": id})
			for _, wait := range []func() (json.RawMessage, error){running, queued} {
				if raw, err := wait(); err != nil || string(raw) != `{"stopReason":"cancelled"}` {
					t.Errorf("%s, %v", raw, err)
				}
			}
			if time.Since(start) != 0 {
				t.Errorf("it took %v", time.Since(start))
			}
		}, says("hello"), holds, holds)
	})
}

func acpPrompt(id, text string) any {
	return map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// A slow load of a session does not delay a cancel, neither its own nor another session's.
func TestCancelDuringASlowLoad(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), t.TempDir()
	var id string
	with(t, servertest.Options{Home: home, Root: root}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		id = e.Ask("hi").SessionID
		e.End()
	}, says("hello"))
	load := map[string]any{"sessionId": id, "cwd": root, "mcpServers": []any{}}
	command := map[string]any{"command": protocol.CommandSessionLoad, "arguments": []any{protocol.SessionArgs{SessionID: id}}}
	for name, c := range map[string]struct {
		method string
		params any
		named  string // by session/cancel; empty: only hermes.cancel comes
		code   int
	}{
		"of the load":    {"session/load", load, id, -32800},
		"of another":     {"session/load", load, "other", 0},
		"of none":        {"session/load", load, "", 0},
		"of the command": {"workspace/executeCommand", command, "", 0},
	} {
		o := slow()
		o.Home, o.Root = home, root
		with(t, o, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
			start := time.Now()
			_, loaded := e.Go(c.method, c.params)
			if c.named != "" {
				e.Notify("session/cancel", map[string]any{"sessionId": c.named})
			}
			if e.Cancel(); time.Since(start) != 0 {
				t.Errorf("%s: the cancel was answered after %v", name, time.Since(start))
			}
			if _, err := loaded(); rpcCode(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}, says("unasked"))
	}
}

// Deleting an unknown session returns an error with its id.
func TestDeleteUnknown(t *testing.T) {
	t.Parallel()
	const unknown = "01234567-89ab-cdef-0123-456789abcdef"
	with(t, servertest.Options{Plugin: true}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		id := e.Ask("hi").SessionID
		for _, c := range []struct {
			id   string
			fine bool
		}{{unknown, false}, {"none", false}, {id, true}, {id, false}} {
			err := e.Command(protocol.CommandSessionDelete, protocol.SessionArgs{SessionID: c.id}, nil)
			if c.fine && err != nil || !c.fine && (rpcCode(err) != -32602 || !strings.Contains(err.Error(), c.id)) {
				t.Errorf("%s: %v", c.id, err)
			}
		}
		if _, err := e.Call("session/delete", map[string]any{"sessionId": unknown}); err != nil {
			t.Errorf("session/delete, which succeeds as the protocol says: %v", err)
		}
	}, says("hello"))
}

// The first session uses the editor's settings, if they come within a second.
func TestFirstSessionHasTheSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after, took time.Duration
		model       string
	}{
		"at once": {0, 0, "openai/theirs"},
		"late":    {900 * time.Millisecond, 900 * time.Millisecond, "openai/theirs"},
		"never":   {time.Hour, time.Second, "openai/gpt-5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := servertest.Options{Settings: map[string]any{"model": map[string]any{"default": "theirs"}}, SettingsAfter: c.after}
			with(t, o, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				for _, took := range []time.Duration{c.took, 0} {
					start := time.Now()
					raw, err := e.Call("session/new", map[string]any{"cwd": e.Root, "mcpServers": []any{}})
					if err != nil || time.Since(start) != took {
						t.Errorf("a session after %v, want %v; %v", time.Since(start), took, err)
					}
					if want := fmt.Sprintf(`"currentValue":%q,`, c.model); !strings.Contains(string(raw), want) {
						t.Errorf("no %s in %s", want, raw)
					}
				}
			}, says("hello"))
		})
	}
}

// If an editor uses the Agent Client Protocol without announcing it, it gets the messages of its
// sessions, and no others.
func TestUnannounced(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		e.Choose(func(servertest.Question) string { return "no" })
		raw, err := e.Call("session/new", map[string]any{"cwd": e.Root, "mcpServers": []any{}})
		if err != nil {
			t.Fatal(err)
		}
		var opened protocol.SessionResult
		if err := json.Unmarshal(raw, &opened); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Call("session/prompt", acpPrompt(opened.SessionID, "Clean up")); err != nil {
			t.Fatal(err)
		}
		updates := updatesOf(e)
		for _, want := range []string{`"text":"I remove it."`, `"sessionUpdate":"tool_call"`, `"text":"Not removed."`} {
			if !strings.Contains(updates, want) {
				t.Errorf("no %s in %s", want, updates)
			}
		}
		if len(e.Asked()) != 1 { // it does not know session/request_permission
			t.Errorf("asked %+v", e.Asked())
		}
		if len(e.Shown()) != 0 {
			t.Errorf("shown %q", e.Shown())
		}
		if err := e.Command(protocol.CommandSessionNew, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := e.Command(protocol.CommandPrompt, protocol.PromptArgs{Prompt: "hi"}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if updatesOf(e) != updates || len(e.Shown()) != 1 {
			t.Errorf("a session of hermes.prompt belongs into a chat document; shown %q, updates %s", e.Shown(), updatesOf(e))
		}
	}, func(x *fakemodel.Exchange) {
		x.Text("I remove it.")
		x.Call("c1", "terminal", `{"command":"rm -rf build"}`)
	}, says("Not removed."), says("hello"))
}

// updatesOf are the parameters of all session/update so far.
func updatesOf(e *servertest.Editor) string {
	var b strings.Builder
	for _, f := range e.Frames() {
		if f.Method == "session/update" {
			b.Write(f.Params)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
