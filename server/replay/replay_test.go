package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/tools/shell"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/replay"
	"github.com/hermes-ls/hermes-ls/tools"
)

func TestMain(m *testing.M) {
	modes.Enter()
	goleak.VerifyTestMain(m)
}

// user is a host that allows everything.
type user struct{}

func (user) Documents(string) workspace.Documents { return nil }
func (user) Terminals(string) shell.Terminals     { return nil }
func (user) Sink(string) agent.Sink               { return user{} }
func (user) Event(agent.Event)                    {}
func (user) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	return tools.DecisionOnce, nil
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// record records a session in a workspace, and returns its stored messages.
func record(t *testing.T, cwd string, replies []func(*fakemodel.Exchange), prompts ...string) replay.Config {
	t.Helper()
	home := t.TempDir()
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	svc := app.New(server.Options{Home: home, Environ: []string{}, Store: st, Model: fakemodel.Script(replies...), Static: true})
	defer svc.Close() // read below
	x, err := svc.NewSession(t.Context(), server.Place{Cwd: cwd}, user{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range prompts {
		if _, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); err != nil && !strings.Contains(err.Error(), "broke") {
			t.Fatal(err)
		}
	}
	log, err := st.Messages(t.Context(), x.ID(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return replay.Config{Head: x.Head(), Messages: log, Home: home}
}

func call(tool, args string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text("Now."); x.Call("", tool, args); x.End() }
}

func say(text string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text(text); x.Usage(model.Usage{Input: 1, Output: 1}); x.End() }
}

// A replay from the same state has the same results, and a replay from another state shows the
// difference. External calls are not played.
func TestPlay(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	files := map[string]string{"a.txt": "one\ntwo\n"}
	cwd := folder(t, files)
	c := record(t, cwd, []func(*fakemodel.Exchange){
		call("read_file", `{"path":"`+cwd+`/a.txt"}`),
		call("patch", `{"path":"a.txt","old_string":"two","new_string":"three"}`),
		call("terminal", `{"command":"pwd; cat a.txt; date +%T; echo done > b.txt"}`),
		call("terminal", `{"command":"rm -rf b.txt"}`),
		call("nosuch", `{}`),
		say("Changed."),
		call("search_files", `{"pattern":"three"}`),
		func(x *fakemodel.Exchange) { x.Fail(&model.Error{Kind: model.ErrServer, Message: "it broke"}) },
		call("todo", `{"todos":[{"id":"1","content":"x","status":"pending"}]}`),
		say("End."),
	}, "first", "second, which fails", "third")

	play := func(files map[string]string, approve bool) (*replay.Report, string) {
		t.Helper()
		again := c
		again.Workspace, again.Home, again.Approve = filepath.Join(t.TempDir(), "copy"), t.TempDir(), approve
		if err := replay.CopyWorkspace(folder(t, files), again.Workspace); err != nil {
			t.Fatal(err)
		}
		var told []replay.Call
		again.OnCall = func(c replay.Call) { told = append(told, c) }
		report, err := replay.Play(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		if report.Prompts != 3 || len(told) != 7 || len(report.Calls) != 7 {
			t.Fatalf("%d prompts, %d calls, told %d", report.Prompts, len(report.Calls), len(told))
		}
		return report, again.Workspace
	}
	verdicts := func(r *replay.Report) (all []replay.Verdict) {
		for _, c := range r.Calls {
			all = append(all, c.Verdict)
		}
		return all
	}

	report, copied := play(files, true)
	if got := verdicts(report); slices.ContainsFunc(got, func(v replay.Verdict) bool { return v != replay.Same }) {
		t.Errorf("from the same beginning: %v\n%+v", got, report.Calls)
	}
	if text, err := os.ReadFile(filepath.Join(copied, "a.txt")); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("the copy has %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(cwd, "a.txt")); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("the workspace has %q, %v", text, err)
	}

	again := filepath.Join(t.TempDir(), "copy")
	if err := replay.CopyWorkspace(cwd, again); err != nil {
		t.Fatal(err)
	}
	if n, err := replay.RestoreStart(t.Context(), c.Home, c.Head.ID, cwd, again); n == 0 || err != nil {
		t.Errorf("%d files brought back, %v", n, err)
	}
	if text, err := os.ReadFile(filepath.Join(again, "a.txt")); err != nil || string(text) != files["a.txt"] {
		t.Errorf("as it began, a.txt is %q, %v", text, err)
	}

	report, _ = play(files, false)
	if got := report.Calls[3]; got.Verdict != replay.NotPlayed || !strings.Contains(got.Why, "--approve") {
		t.Errorf("what asks: %+v", got)
	}

	report, _ = play(map[string]string{"a.txt": "one\n2\n"}, true)
	if got := verdicts(report); got[0] != replay.Differs || got[1] != replay.Differs || got[4] != replay.Same || got[6] != replay.Same {
		t.Errorf("from another beginning: %v", got)
	}
	if diff := report.Calls[0].Diff; !strings.Contains(diff, "--- then\n+++ now\n@@") || !strings.Contains(diff, "\n-2|two") || !strings.Contains(diff, "\n+2|2") {
		t.Errorf("the difference: %s", diff)
	}
}

// Exported sessions that once failed now run correctly: testdata/NAME contains the session and its
// initial workspace.
func TestRegressions(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	all, err := filepath.Glob("testdata/*/session.jsonl")
	if err != nil || len(all) == 0 {
		t.Fatal("no sessions", err)
	}
	for _, file := range all {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			st := store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
			defer st.Close() // it was only read
			added, err := st.Import(t.Context(), f, store.ImportOptions{})
			if err != nil || len(added) != 1 {
				t.Fatal(added, err)
			}
			c := replay.Config{Home: t.TempDir(), Workspace: filepath.Join(t.TempDir(), "workspace"), Approve: true}
			if c.Head, err = st.Session(t.Context(), added[0].ID); err != nil {
				t.Fatal(err)
			}
			if c.Messages, err = st.Messages(t.Context(), added[0].ID, 0, 0); err != nil {
				t.Fatal(err)
			}
			if err := replay.CopyWorkspace(filepath.Join(filepath.Dir(file), "workspace"), c.Workspace); err != nil {
				t.Fatal(err)
			}
			report, err := replay.Play(t.Context(), c)
			if err != nil || len(report.Calls) == 0 {
				t.Fatal(report, err)
			}
			for _, call := range report.Calls {
				if call.Verdict != replay.Same {
					t.Errorf("%s: %s %s\n%s", call.Title, call.Verdict, call.Why, call.Diff)
				}
			}
		})
	}
}
