package servertest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

type reply = func(*fakemodel.Exchange)

func says(text string) reply { return func(x *fakemodel.Exchange) { x.Text(text) } }

func calls(name string, args map[string]any) reply {
	return func(x *fakemodel.Exchange) {
		b, _ := json.Marshal(args)
		x.Call("c1", name, string(b))
	}
}

// holds keeps the request open until it is cancelled.
func holds(x *fakemodel.Exchange) { <-x.Context().Done() }

// with runs f with an editor in virtual time. Without replies the model is moved
// by hand.
func with(t *testing.T, o servertest.Options, f func(*testing.T, *servertest.Editor, *fakemodel.Model), replies ...reply) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := fakemodel.New()
		if len(replies) > 0 {
			m = fakemodel.Script(replies...)
		}
		o.Model = m
		f(t, servertest.New(t, o), m)
	})
}

func prompt(text string, wait bool) any {
	return map[string]any{"command": protocol.CommandPrompt, "arguments": []any{protocol.PromptArgs{Prompt: text, Wait: wait}}}
}

func rpcCode(err error) int {
	var failed *servertest.RPCError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return 0
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(*servertest.Editor) int
		want  int
	}{
		"shutdown and exit": {func(e *servertest.Editor) int {
			_, _ = e.Call("shutdown", nil)
			e.Notify("exit", nil)
			return e.Wait()
		}, 0},
		"exit alone":         {func(e *servertest.Editor) int { e.Notify("exit", nil); return e.Wait() }, 1},
		"end of input":       {func(e *servertest.Editor) int { return e.End() }, 1},
		"a hopeless header":  {func(e *servertest.Editor) int { e.Raw("Content-Length: x\r\n\r\n"); return e.Wait() }, 1},
		"shutdown, then EOF": {func(e *servertest.Editor) int { _, _ = e.Call("shutdown", nil); return e.End() }, 0},
		"exit while it works": {func(e *servertest.Editor) int {
			e.Go("workspace/executeCommand", prompt("hi", true))
			synctest.Wait()
			e.Notify("exit", nil)
			return e.Wait()
		}, 1},
		"EOF while it asks": {func(e *servertest.Editor) int {
			e.Silence("window/showMessageRequest")
			e.Go("workspace/executeCommand", prompt("hi", false))
			synctest.Wait()
			return e.End()
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				if got := c.leave(e); got != c.want {
					t.Errorf("exit code %d, want %d", got, c.want)
				}
			}, calls("terminal", map[string]any{"command": "rm -rf build"}), holds)
		})
	}
}

// The progress of a turn begins, moves, and has ended before the answer comes.
func TestProgressOfATurn(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "x\n"}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		_, wait := e.Go("workspace/executeCommand", prompt("Look at a.txt\nplease", true))
		x := m.Next()
		x.Call("1", "read_file", `{"path":"a.txt"}`)
		x.End()
		x = m.Next()
		time.Sleep(time.Second)
		x.Text("It says x.")
		time.Sleep(time.Second)
		x.End()
		if _, err := wait(); err != nil {
			t.Fatal(err)
		}
		list := e.Progress()
		if len(list) < 3 {
			t.Fatalf("progress %+v", list)
		}
		first, last := list[0], list[len(list)-1]
		if first.Kind != "begin" || first.Title != "Hermes: Look at a.txt" || !first.Cancellable {
			t.Errorf("begin %+v", first)
		}
		if last.Kind != "end" || last.Message != "done · 1 call" {
			t.Errorf("end %+v", last)
		}
		var said []string
		for _, p := range list {
			said = append(said, p.Message)
		}
		if !slices.Contains(said, "writing · 1 call") {
			t.Errorf("messages %q", said)
		}
		frames := e.Frames()
		if end := frames[len(frames)-2]; end.Method != "$/progress" {
			t.Errorf("before the answer came %s, not the end of the progress", end.Method)
		}
	})
}

// A long call is shown with its time, at a pace for editors.
func TestProgressOfALongCall(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		e.Choose(func(servertest.Question) string { time.Sleep(5 * time.Second); return "no" })
		_, wait := e.Go("workspace/executeCommand", prompt("clean up", true))
		x := m.Next()
		x.Call("1", "terminal", `{"command":"rm -rf build"}`)
		x.End()
		x = m.Next()
		for range 1000 {
			x.Text("a")
			x.Thought("b")
		}
		x.End()
		if _, err := wait(); err != nil {
			t.Fatal(err)
		}
		list := e.Progress()
		timed := slices.ContainsFunc(list, func(p servertest.Progress) bool { return strings.Contains(p.Message, "rm -rf build · 4 s") })
		if !timed {
			t.Errorf("no report tells the time: %+v", list)
		}
		if len(list) > 20 {
			t.Errorf("%d reports", len(list))
		}
	})
}

// Canceling a progress ends its turn and no other.
func TestCancelOneProgress(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		sessions := make([]protocol.SessionResult, 2)
		waits := make([]func() (json.RawMessage, error), 2)
		exchanges := make([]*fakemodel.Exchange, 2)
		for i := range sessions {
			if err := e.Command(protocol.CommandSessionNew, nil, &sessions[i]); err != nil {
				t.Fatal(err)
			}
			_, waits[i] = e.Go("workspace/executeCommand", map[string]any{
				"command": protocol.CommandPrompt, "workDoneToken": i,
				"arguments": []any{protocol.PromptArgs{Prompt: "hi", SessionID: sessions[i].SessionID, Wait: true}},
			})
			exchanges[i] = m.Next()
		}
		e.Notify("window/workDoneProgress/cancel", map[string]any{"token": 1})
		raw, err := waits[1]()
		if err != nil || !strings.Contains(string(raw), `"stopReason":"cancelled"`) {
			t.Errorf("the cancelled turn answered %s, %v", raw, err)
		}
		exchanges[0].Text("still here")
		exchanges[0].End()
		raw, err = waits[0]()
		if err != nil || !strings.Contains(string(raw), `still here`) {
			t.Errorf("the other turn answered %s, %v", raw, err)
		}
		for _, p := range e.Progress() {
			if p.Token != "0" && p.Token != "1" {
				t.Errorf("a progress of our own beside the editor's: %+v", p)
			}
		}
	})
}

// A prompt, and hermes.cancel right behind it, in a single burst.
func TestCancelRightAfterThePrompt(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		_, prompted := e.Go("workspace/executeCommand", prompt("hi", true))
		_, cancelled := e.Go("workspace/executeCommand", map[string]any{"command": protocol.CommandCancel})
		raw, err := cancelled()
		if err != nil || string(raw) != `{"cancelled":true}` {
			t.Errorf("cancel answered %s, %v", raw, err)
		}
		raw, err = prompted()
		if err != nil || !strings.Contains(string(raw), `"stopReason":"cancelled"`) {
			t.Errorf("the prompt answered %s, %v", raw, err)
		}
		if e.Cancel() {
			t.Error("there was something to cancel afterwards")
		}
	})
}

// $/cancelRequest ends the prompt of a waiting command.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		id, wait := e.Go("workspace/executeCommand", prompt("hi", true))
		m.Next().Text("so far")
		e.Notify("$/cancelRequest", map[string]any{"id": id})
		raw, err := wait()
		if err != nil && rpcCode(err) != -32800 || err == nil && !strings.Contains(string(raw), "cancelled") {
			t.Errorf("answered %s, %v", raw, err)
		}
	})
}

// An editor that does not answer, or knows nothing, still gets its answer.
func TestEditorsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"window/workDoneProgress/create", "window/showDocument", "workspace/applyEdit"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				e.Silence(method)
				if got := e.Ask("hi"); *got.Text != "one" {
					t.Errorf("answer %+v", got)
				}
				if err := e.Command(protocol.CommandPrompt, protocol.PromptArgs{Prompt: "and now?"}, nil); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if got := e.Ask("hi"); *got.Text != "three" {
					t.Errorf("answer %+v", got)
				}
			}, says("one"), says("two"), says("three"))
		})
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choose string
		runs   bool
	}{
		{"once", true}, {"session", true}, {"always", true},
		{"no", false}, {"", false}, {"error", false}, {"what is this", false},
	} {
		t.Run("answer "+c.choose, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"build/x": ""}
			with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				e.Choose(func(servertest.Question) string { return c.choose })
				e.Ask("clean up")
				_, err := os.Stat(filepath.Join(e.Root, "build"))
				if gone := errors.Is(err, os.ErrNotExist); gone != c.runs {
					t.Errorf("ran: %v, want %v", gone, c.runs)
				}
				asked := e.Asked()
				if len(asked) != 1 || !strings.Contains(asked[0].Message, "rm -rf build") {
					t.Fatalf("asked %+v", asked)
				}
				for i, word := range []string{"Allow once", "Allow for this session: rm -rf build", "Always allow: rm -rf build", "Deny"} {
					if i >= len(asked[0].Actions) || !strings.HasPrefix(asked[0].Actions[i], word) {
						t.Errorf("the actions are %q", asked[0].Actions)
					}
				}
			}, calls("terminal", map[string]any{"command": "rm -rf build"}), says("done"))
		})
	}
}

// If there is no answer within the configured time, the request is denied.
func TestApprovalTimesOut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"build/x": ""}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		e.Silence("window/showMessageRequest")
		start := time.Now()
		e.Ask("clean up")
		if took := time.Since(start); took < 299*time.Second || took > 310*time.Second {
			t.Errorf("it took %v", took)
		}
		if _, err := os.Stat(filepath.Join(e.Root, "build")); err != nil {
			t.Error("it ran")
		}
	}, calls("terminal", map[string]any{"command": "rm -rf build"}), says("done"))
}

// Edits go to the buffer, at the version that was read, in every encoding.
func TestEditOfAnUnsavedBuffer(t *testing.T) {
	t.Parallel()
	for _, utf16 := range []bool{false, true} {
		files := map[string]string{"a.txt": "on the disk\n"}
		with(t, servertest.Options{Files: files, UTF16: utf16}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
			e.Open("a.txt")
			e.Edit("a.txt", "on the disk", "𝒙 = “unsaved” 𝒙")
			e.Ask("edit")
			if got, want := e.Text("a.txt"), "𝒙 = “agreed” 𝒙\n"; got != want {
				t.Errorf("the buffer reads %q, want %q", got, want)
			}
			if disk, _ := os.ReadFile(filepath.Join(e.Root, "a.txt")); string(disk) != "on the disk\n" {
				t.Errorf("the disk reads %q", disk)
			}
		}, calls("patch", map[string]any{"path": "a.txt", "old_string": "unsaved", "new_string": "agreed"}), says("done"))
	}
}

// The user types at the very moment of an edit: nothing of either is lost.
func TestEditWhileTheUserTypes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "one\ntwo\n"}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		e.Open("a.txt")
		typed := false
		e.BeforeEdit(func(uri.URI) {
			if !typed {
				typed = true
				e.Edit("a.txt", "one", "ONE")
			}
		})
		e.Ask("edit")
		if got, want := e.Text("a.txt"), "ONE\n2\n"; got != want {
			t.Errorf("the buffer reads %q, want %q", got, want)
		}
	}, calls("patch", map[string]any{"path": "a.txt", "old_string": "two", "new_string": "2"}), says("done"))
}

// An editor that refuses every edit: the model gets an error, nothing changes.
func TestEditRefused(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "one\n"}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		e.Open("a.txt")
		e.Refuse(100)
		e.Ask("edit")
		if got := e.Text("a.txt"); got != "one\n" {
			t.Errorf("the buffer reads %q", got)
		}
		requests := m.Requests()
		last := requests[len(requests)-1].Messages
		if result := last[len(last)-1].Text(); !strings.Contains(result, `"error"`) {
			t.Errorf("the model was told %s", result)
		}
	}, calls("patch", map[string]any{"path": "a.txt", "old_string": "one", "new_string": "1"}), says("done"))
}

func TestArguments(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		for _, c := range []struct{ params, want string }{
			{`{"command":"hermes.prompt","arguments":[{"prompt":7}]}`, "prompt must be a string"},
			{`{"command":"hermes.prompt","arguments":[{"prompt":"x","wait":"yes"}]}`, "wait must be true or false"},
			{`{"command":"hermes.prompt","arguments":[{"prompt":"x","textDocument":"a"}]}`, "textDocument must be an object"},
			{`{"command":"hermes.prompt","arguments":[{"prompt":"x","textDocument":{"uri":7}}]}`, "textDocument.uri must be a string"},
			{`{"command":"hermes.prompt","arguments":[]}`, "prompt is missing"},
			{`{"command":"hermes.prompt"}`, "prompt is missing"},
			{`{"command":"hermes.prompt","arguments":["hi"]}`, "one object"},
			{`{"command":"hermes.prompt","arguments":[{"prompt":"x"},{}]}`, "one object"},
			{`{"command":"hermes.prompt","arguments":[{"prompt":"x","sessionId":"nope"}]}`, `no session "nope"`},
			{`{"command":"hermes.explain","arguments":[{}]}`, "textDocument.uri is missing"},
			{`{"command":"hermes.explain","arguments":[{"textDocument":{"uri":"file:///x"},"range":[1]}]}`, "range must be an object"},
			{`{"command":"hermes.edit","arguments":[{"instruction":"x"}]}`, "textDocument.uri is missing"},
			{`{"command":"hermes.edit","arguments":[{"textDocument":{"uri":"file:///x"},"instruction":" "}]}`, "instruction is missing or empty"},
			{`{"command":"hermes.chat.send","arguments":[{"textDocument":{"uri":"file:///x.md"}}]}`, "is no chat"},
			{`{"command":"hermes.session.load","arguments":[{}]}`, "sessionId is missing"},
			{`{"command":"hermes.session.load","arguments":[{"sessionId":"nope"}]}`, `no session "nope"`},
			{`{"command":"hermes.nonsense"}`, "unknown command"},
			{`{"command":"hermes.checkpoint.restore"}`, "checkpointId is missing"},
			{`{"command":5}`, "not understood"},
			{`[1]`, "not understood"},
		} {
			_, err := e.Call("workspace/executeCommand", json.RawMessage(c.params))
			if rpcCode(err) != -32602 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want -32602 with %q", c.params, err, c.want)
			}
		}
	})
}

func TestBeforeAndAfterTheSession(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{Unbegun: true}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		if _, err := e.Call("workspace/executeCommand", prompt("hi", true)); rpcCode(err) != -32002 {
			t.Errorf("before initialize: %v", err)
		}
		if _, err := e.Call("initialize", e.InitializeParams()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Call("initialize", e.InitializeParams()); rpcCode(err) != -32600 {
			t.Errorf("initialize again: %v", err)
		}
		e.Notify("$/foo", nil)
		e.Notify("hermes/unknown", map[string]any{"a": 1})
		e.Notify("textDocument/didChange", "what")
		e.Notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///no", "version": 1}, "contentChanges": []any{}})
		if _, err := e.Call("hermes/unknown", nil); rpcCode(err) != -32601 {
			t.Errorf("an unknown method: %v", err)
		}
		if _, err := e.Call("textDocument/codeAction", map[string]any{"textDocument": 1}); rpcCode(err) != -32602 {
			t.Errorf("wrong parameters: %v", err)
		}
		if _, err := e.Call("shutdown", nil); err != nil {
			t.Error(err)
		}
		if _, err := e.Call("workspace/executeCommand", prompt("hi", true)); rpcCode(err) != -32600 {
			t.Errorf("after shutdown: %v", err)
		}
	})
}

// If the workspace does not exist, each request returns an error, and the server keeps
// running.
func TestNoWorkspace(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{Unbegun: true}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		_, err := e.Call("initialize", map[string]any{"processId": nil, "rootUri": "file:///no/such/folder", "capabilities": map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := e.Call("workspace/executeCommand", prompt("hi", true))
			if rpcCode(err) != -32602 || !strings.Contains(err.Error(), "/no/such/folder") {
				t.Errorf("%v", err)
			}
		}
	})
}

// Nothing is configured: the error names the next step.
func TestNoModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := servertest.New(t, servertest.Options{})
		_, err := e.Call("workspace/executeCommand", prompt("hi", true))
		if err == nil || !strings.Contains(err.Error(), "hermes-ls login") {
			t.Errorf("%v", err)
		}
	})
}

// If the model fails, the answer contains its error, and the next prompt works.
func TestModelFails(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		_, err := e.Call("workspace/executeCommand", prompt("hi", true))
		if rpcCode(err) != -32603 || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("%v", err)
		}
		if got := e.Ask("again"); *got.Text != "fine" {
			t.Errorf("answer %+v", got)
		}
	}, func(x *fakemodel.Exchange) { x.Text("so f"); x.Fail(errors.New("no luck")) }, says("fine"))
}
