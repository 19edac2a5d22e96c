package server

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/history"
	"github.com/hermes-ls/hermes-ls/tools"
)

// talker is a guest that answers questions.
type talker struct{ guest }

func (*talker) CanClarify() bool { return true }
func (*talker) Clarify(context.Context, tools.ClarifyRequest) (tools.Answer, error) {
	return tools.Answer{}, nil
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// offeredTo runs a prompt and returns the offered tools and the host.
func offeredTo(t *testing.T, yaml string, h interface {
	Host
	notices() []string
}) []model.Tool {
	t.Helper()
	home := t.TempDir()
	write(t, config.Path(home), yaml)
	m := fakemodel.Script(answer("hi"))
	x, err := open(t, Options{Home: home, Model: m, Static: true}).NewSession(t.Context(), Place{Cwd: t.TempDir()}, h)
	if err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "hi")
	return m.Requests()[0].Tools
}

func TestWebAndClarifyAreOfferedWhereTheyWork(t *testing.T) {
	t.Parallel()
	const searx = "web: {search: {backend: searxng, url: 'http://127.0.0.1:1'}}\n"
	for _, tc := range []struct {
		name, yaml string
		silent     bool // no user can be asked
		want       []string
		notice     string
	}{
		{name: "default", want: []string{"clarify", "web_extract"}},
		{name: "nobody there", silent: true, want: []string{"web_extract"}},
		{name: "search", yaml: searx, want: []string{"clarify", "web_extract", "web_search"}},
		{name: "web alone", yaml: searx + "agent: {tools: {enabled: [web]}}", want: []string{"web_extract", "web_search"}},
		{name: "old name", yaml: searx + "agent: {tools: {enabled: [web_tools]}}", want: []string{"web_extract", "web_search"}},
		{name: "safe", yaml: "agent: {tools: {enabled: [safe]}}", want: []string{"web_extract"}},
		{name: "clarify alone", yaml: "agent: {tools: {enabled: [clarify]}}", want: []string{"clarify"}},
		{name: "without", yaml: "agent: {tools: {disabled: [web, clarify]}}"},
		{name: "no key", yaml: "web: {search: {backend: brave}}", want: []string{"clarify", "web_extract"}, notice: "BRAVE_API_KEY is not set"},
		{name: "own engine, not described", yaml: "web: {search: {backend: json, url: 'https://s.example'}}", want: []string{"clarify", "web_extract"}, notice: "{searchTerms}"},
		{name: "own engine", yaml: "web: {search: {backend: json, url: 'https://s.example?q={searchTerms}'}}", want: []string{"clarify", "web_extract", "web_search"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := &talker{}
			var got []string
			offered := func() []model.Tool {
				if tc.silent {
					return offeredTo(t, tc.yaml, &g.guest)
				}
				return offeredTo(t, tc.yaml, g)
			}()
			for _, tool := range offered {
				if strings.HasPrefix(tool.Name, "web_") || tool.Name == "clarify" {
					got = append(got, tool.Name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("offered %v, want %v", got, tc.want)
			}
			notices := strings.Join(g.notices(), "\n")
			if !strings.Contains(notices, tc.notice) || strings.Contains(notices, "web") != (tc.notice != "") {
				t.Errorf("notices %q", notices)
			}
		})
	}
}

// TestSchemasSuitEveryAPI: Gemini rejects an object without properties, a list without
// items, and a list of types. Others reject references.
func TestSchemasSuitEveryAPI(t *testing.T) {
	t.Parallel()
	all := offeredTo(t, "web: {search: {backend: searxng, url: 'http://127.0.0.1:1'}}\ncode_execution: {persist: true}", &talker{})
	past := history.SessionSearch(nil) // offered once there are other sessions
	all = append(all, model.Tool{Name: past.Name, Schema: past.Schema})
	for _, name := range []string{"delegate_task", "execute_code", "todo", "clarify", "web_search", "checkpoint", "process"} {
		if !slices.ContainsFunc(all, func(t model.Tool) bool { return t.Name == name }) {
			t.Errorf("%s was not offered", name)
		}
	}
	for _, tool := range all {
		var schema map[string]any
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if schema["type"] != "object" {
			t.Errorf("%s takes %v", tool.Name, schema["type"])
		}
		checkSchema(t, tool.Name, schema)
	}
}

func checkSchema(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	for key := range schema {
		switch key {
		case "type", "description", "enum", "properties", "required", "items", "default", "minimum", "maximum":
		default:
			t.Errorf("%s has %q, which not every API takes", path, key)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	items, listed := schema["items"].(map[string]any)
	switch kind := schema["type"]; {
	case kind == "object" && len(properties) == 0:
		t.Errorf("%s is an object without properties", path)
	case kind == "array" && !listed:
		t.Errorf("%s is a list without items", path)
	case kind != "object" && kind != "array" && kind != "string" && kind != "boolean" && kind != "integer" && kind != "number":
		t.Errorf("%s has the type %v", path, kind)
	}
	for name, property := range properties {
		checkSchema(t, path+"."+name, property.(map[string]any))
	}
	if listed {
		checkSchema(t, path+"[]", items)
	}
}

// TestSecretsReachNobody: neither the model nor the editor nor the store.
func TestSecretsReachNobody(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, ".env"), "SOME_TOKEN=third-secret\nOPEN_TOKEN=not-hidden-one\nSHORT_KEY=short\n")
	write(t, config.Path(home), "model: {api_key: [first-secret-key, second-secret-key]}\nterminal: {env_passthrough: [OPEN_TOKEN]}\n")
	write(t, filepath.Join(ws, "settings"), "a=first-secret-key\nb=second-secret-key\nc=third-secret\nd=not-hidden-one\ne=short\n")
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) { x.Call("1", "read_file", `{"path":"settings"}`); x.End() },
		func(x *fakemodel.Exchange) {
			x.Call("2", "terminal", `{"command":"cat settings; printf '\\033]52;c;eA==\\007'"}`)
			x.End()
		},
		answer("done"),
	)
	s := open(t, Options{Home: home, Model: m, Static: true})
	x, g := session(t, s, ws)
	prompt1(t, x, "read it")
	var said strings.Builder
	for _, r := range m.Requests() {
		for _, message := range r.Messages {
			said.WriteString(message.Text())
		}
	}
	g.mu.Lock()
	shown := dump(g.events)
	g.mu.Unlock()
	stored, err := s.opened().Messages(t.Context(), x.ID(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"model": said.String(), "editor": shown, "store": dump(stored)} {
		for _, secret := range []string{"first-secret-key", "second-secret-key", "third-secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s gets %s", where, secret)
			}
		}
		for _, want := range []string{"[secret SOME_TOKEN withheld]", "[secret model.api_key withheld]", "not-hidden-one", "e=short"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not get %s", where, want)
			}
		}
		if strings.Contains(text, "\x1b") || strings.Contains(text, `\u001b`) {
			t.Errorf("the %s gets an escape sequence", where)
		}
	}
}

func dump(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
