package app_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/app/internal/toy"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// guest is a host that remembers the events.
type guest struct {
	mu   sync.Mutex
	text []string
}

func (g *guest) Documents(string) workspace.Documents { return nil }
func (g *guest) Terminals(string) shell.Terminals     { return nil }
func (g *guest) Sink(string) agent.Sink               { return g }
func (g *guest) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	return tools.DecisionDeny, nil
}

func (g *guest) Event(e agent.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		g.text = append(g.text, strings.TrimSpace(e.Text))
	case agent.Notice:
		text := "notice: " + e.Text
		if e.Own != nil {
			text += fmt.Sprint(" ", *e.Own)
		}
		g.text = append(g.text, text)
	}
}

// log is the list of events of the toy.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// withToy makes a service with one more feature in its list.
func withToy(t *testing.T, m model.Model, l *log) *server.Service {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("toy: {greeting: Howdy}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{
		Home: home, Environ: []string{}, Model: m, Static: true,
		Features: toyFeatures(l),
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// toyFeatures returns the list of features with one more line.
func toyFeatures(l *log) func(*server.Service) []server.Feature {
	return func(s *server.Service) []server.Feature {
		return append(app.Features(s), server.Feature{Extension: toy.New(l.add), Settings: &toy.Section, CLI: toy.Command, Doctor: toy.Doctor})
	}
}

// The line in the list is all that the command and the doctor need of the toy.
func TestToyOnTheCommandLine(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HERMES_HOME", home)
	features := toyFeatures(&log{})
	h := cli.Home{Schema: func() *config.Schema { return server.SchemaOf(features) }}
	for greeting, want := range map[string]cli.Finding{
		"Howdy": {State: cli.OK, What: "toy", Text: "says Howdy"},
		"":      {State: cli.Fail, What: "toy", Text: "there is no greeting"},
	} {
		if err := os.WriteFile(config.Path(home), []byte("toy: {greeting: '"+greeting+"'}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		all := server.CommandsOf(func(s *server.Service) []server.Feature { return features(s)[len(app.Features(s)):] }, h)
		if len(all) != 1 {
			t.Fatalf("%d commands", len(all))
		}
		var out bytes.Buffer
		all[0].SetArgs([]string{})
		all[0].SetOut(&out)
		if err := all[0].ExecuteContext(t.Context()); err != nil || out.String() != greeting+"\n" {
			t.Errorf("the command printed %q, %v", &out, err)
		}
		found := server.Doctor(t.Context(), func(s *server.Service) []server.Feature { return features(s)[len(app.Features(s)):] }, h, h.Load())
		if !slices.Equal(found, []cli.Finding{want}) {
			t.Errorf("the doctor found %+v, want %+v", found, want)
		}
	}
}

func says(text string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text(text); x.End() }
}

// A feature is a folder and a line in the list: its tool, its section, its command, its notices,
// its settings, its hooks and its events for the user work.
func TestToy(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) { x.Call("1", "play", `{"name":"Ann"}`); x.End() },
		says("lazy"), says("Done"), says("Notes."), says("Later"))
	l := &log{}
	s := withToy(t, m, l)
	g := &guest{}
	x, err := s.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"play", "forbidden", "/toy"} {
		if _, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); err != nil {
			t.Fatal(err)
		}
	}
	requests := m.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	if !strings.Contains(requests[0].System, "Play often.") || !slices.ContainsFunc(requests[0].Tools, func(t model.Tool) bool { return t.Name == "play" }) {
		t.Error("the section or the tool is missing")
	}
	var history []string
	for _, message := range requests[2].Messages {
		history = append(history, message.Text())
	}
	all := strings.Join(history, "\n")
	for _, want := range []string{"The weather is fine.", "Be playful.", `{"greeting":"Howdy Ann","note":"Well played."}`, "One game was played.", "Do it again."} {
		if !strings.Contains(all, want) {
			t.Errorf("the model did not get %q:\n%s", want, all)
		}
	}
	if err := s.CloseSession(t.Context(), x.ID()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"notice: A game was played. {toy played map[games:1]}", "lazy", "Done!", "notice: This word is not sent.", "Played 1 times."}; !slices.Equal(g.text, want) {
		t.Errorf("the user saw %q, want %q", g.text, want)
	}
	want := []string{
		"on_session_start", "pre_llm_call play", "pre_tool_call play", "post_tool_call play", "transform_llm_output lazy", "transform_llm_output Done",
		"pre_llm_call forbidden", "on_session_end", "close",
	}
	if !slices.Equal(l.lines, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(l.lines, "\n"), strings.Join(want, "\n"))
	}
}

// The functions see a subagent start and stop, and its calls; the subagent has nothing
// else of the toy.
func TestToyOfSubagents(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) {
			x.Call("1", "delegate_task", `{"goal":"Look around","toolsets":["file","toy"]}`)
			x.End()
		},
		func(x *fakemodel.Exchange) { x.Call("2", "read_file", `{"path":"a.txt"}`); x.End() },
		says("There is a file."), says("Done"))
	l := &log{}
	s := withToy(t, m, l)
	cwd := t.TempDir()
	if err := os.WriteFile(filepath.Join(cwd, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := s.NewSession(t.Context(), server.Place{Cwd: cwd}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	child := m.Requests()[1]
	if slices.ContainsFunc(child.Tools, func(t model.Tool) bool { return t.Name == "play" }) || strings.Contains(child.System, "Play often.") {
		t.Error("the subagent has the toy")
	}
	if text := child.Messages[0].Text(); !strings.Contains(text, "Small steps.") {
		t.Errorf("the subagent's first prompt: %s", text)
	}
	for _, want := range []string{"subagent_start Look around", "pre_tool_call read_file", "subagent_stop completed"} {
		if !slices.Contains(l.lines, want) {
			t.Errorf("%q is missing in %q", want, l.lines)
		}
	}
}

// A script cannot call the toy's tool: only tools with the property Script are functions of
// hermes_tools.
func TestToyOfScripts(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) {
			x.Call("1", "execute_code", `{"code":"import hermes_tools\nprint('play', hasattr(hermes_tools, 'play'), 'read', hasattr(hermes_tools, 'read_file'))"}`)
			x.End()
		}, says("Done"))
	s := withToy(t, m, &log{})
	x, err := s.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	messages := m.Requests()[1].Messages
	if text := messages[len(messages)-1].Text(); !strings.Contains(text, "play False read True") {
		t.Errorf("result %s", text)
	}
}
