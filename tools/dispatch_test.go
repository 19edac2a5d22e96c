package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func plain(name string, f func(context.Context, *Env, Call) (Result, error)) Tool {
	return New(Tool{Name: name, Toolset: "file"}, func(ctx context.Context, env *Env, c Call, _ struct{}) (Result, error) {
		return f(ctx, env, c)
	})
}

func answering(name, text string) Tool {
	return plain(name, func(context.Context, *Env, Call) (Result, error) { return Result{JSON: json.RawMessage(text)}, nil })
}

func setOf(t *testing.T, tools ...Tool) *Set {
	t.Helper()
	s, err := NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	s := setOf(t, answering("read_file", `{}`), answering("write_file", `{}`), answering("todo", `{}`))
	for name, want := range map[string]string{
		"x":         "Unknown tool: x. Available: read_file, write_file, todo",
		"file_read": "Unknown tool: file_read. Available: read_file, write_file, todo. Did you mean read_file?",
		"finish":    "Unknown tool: finish. Available: read_file, write_file, todo. If you are done, write the answer as text.",
		"todoos":    "Unknown tool: todoos. Available: read_file, write_file, todo. Did you mean todo?",
		"":          "Unknown tool: . Available: read_file, write_file, todo",
	} {
		got, err := s.Call(t.Context(), &Env{}, Call{Name: name})
		if err != nil || errorOf(t, got) != want {
			t.Errorf("%q: %s, %v; want %s", name, got.JSON, err, want)
		}
	}
	got, _ := s.Call(t.Context(), &Env{Dispatch: Dispatch{Offered: func(n string) bool { return n == "todo" }}}, Call{Name: "x"})
	if want := "Unknown tool: x. Available: todo"; errorOf(t, got) != want {
		t.Errorf("got %s; want %s", got.JSON, want)
	}
}

func TestFailuresAreResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tool Tool
		want string
	}{
		{"an error", plain("x", func(context.Context, *Env, Call) (Result, error) { return OK(struct{}{}), errors.New("no luck") }), `{"error":"no luck"}`},
		{"no result", answering("x", ""), `{"error":"x gave no result"}`},
		{"no JSON", answering("x", "oops"), `{"error":"x gave a result that is not JSON: oops"}`},
		{"half of it", answering("x", `{"a":`), `{"error":"x gave a result that is not JSON: {\"a\":"}`},
		{"a list", answering("x", "[1]"), `{"result":[1]}`},
		{"null", answering("x", "null"), `{"result":null}`},
		{"an object", answering("x", ` {"a":1}`), ` {"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := setOf(t, c.tool).Call(t.Context(), nil, Call{Name: "x"})
			if err != nil || string(got.JSON) != c.want {
				t.Errorf("got %s, %v; want %s", got.JSON, err, c.want)
			}
		})
	}
}

func TestPanicIsAResult(t *testing.T) {
	t.Parallel()
	s := setOf(t, plain("x", func(context.Context, *Env, Call) (Result, error) { panic("boom") }))
	var told string
	s.Defect = func(tool string, p any, stack []byte) { told = fmt.Sprint(tool, p, len(stack) > 0) }
	got, err := s.Call(t.Context(), nil, Call{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if text := errorOf(t, got); !strings.Contains(text, "boom") || strings.Contains(text, "goroutine") {
		t.Errorf("got %s", text)
	}
	if told != "xboomtrue" {
		t.Errorf("the defect was told as %q", told)
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setOf(t,
			plain("silent", func(ctx context.Context, _ *Env, _ Call) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }),
			plain("partial", func(ctx context.Context, _ *Env, _ Call) (Result, error) {
				<-ctx.Done()
				return OK(map[string]any{"output": "half"}), ctx.Err()
			}),
			plain("polite", func(ctx context.Context, _ *Env, _ Call) (Result, error) {
				<-ctx.Done()
				return OK(map[string]any{"interrupted": true}), nil
			}))
		for name, want := range map[string]struct {
			text string
			err  error
		}{
			"silent":  {`{"error":"interrupted: silent has no result: it was canceled before its end. Run it again only if it is still needed"}`, context.Canceled},
			"partial": {`{"output":"half"}`, context.Canceled},
			"polite":  {`{"interrupted":true}`, nil},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			got, err := s.Call(ctx, nil, Call{Name: name})
			if string(got.JSON) != want.text || !errors.Is(err, want.err) {
				t.Errorf("%s: %s, %v; want %s, %v", name, got.JSON, err, want.text, want.err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ran := false
		s = setOf(t, plain("x", func(context.Context, *Env, Call) (Result, error) { ran = true; return OK(struct{}{}), nil }))
		if got, err := s.Call(ctx, nil, Call{Name: "x"}); ran || !got.IsError || !errors.Is(err, context.Canceled) {
			t.Errorf("a call after the cancel ran: %t, %s, %v", ran, got.JSON, err)
		}
	})
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	s := setOf(t, answering("x", `{"n":1}`))
	if err := s.Add(answering("x", `{"n":2}`)); err == nil || !strings.Contains(err.Error(), "x is already there") {
		t.Errorf("a second x: %v", err)
	}
	over := answering("x", `{"n":3}`)
	over.Override = true
	if err := s.Add(over); err != nil {
		t.Error(err)
	}
	if got, _ := s.Call(t.Context(), nil, Call{Name: "x"}); string(got.JSON) != `{"n":3}` {
		t.Errorf("the tool that overrides did not: %s", got.JSON)
	}
	run := func(context.Context, *Env, Call) (Result, error) { return OK(struct{}{}), nil }
	for _, bad := range []Tool{
		{Name: "a b", Schema: json.RawMessage(`{}`), Run: run},
		{Name: "", Schema: json.RawMessage(`{}`), Run: run},
		{Name: "norun", Schema: json.RawMessage(`{}`)},
		{Name: "noschema", Run: run},
		{Name: "badschema", Schema: json.RawMessage(`{"type":7}`), Run: run},
	} {
		if err := s.Add(bad); err == nil {
			t.Errorf("%q was taken", bad.Name)
		}
	}
}

// A schema checked by its extension is read at the first call.
func TestCheckedSchema(t *testing.T) {
	t.Parallel()
	run := func(_ context.Context, _ *Env, c Call) (Result, error) { return OK(map[string]any{"got": c.Args}), nil }
	s := setOf(t,
		Tool{Name: "good", SchemaChecked: true, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), Run: run},
		Tool{Name: "bad", SchemaChecked: true, Schema: json.RawMessage(`{"type":7}`), Run: run},
	)
	for _, c := range []struct{ tool, args, want string }{
		{"good", `{"n":"5"}`, `{"got":{"n":5}}`},
		{"good", `{"n":5}`, `{"got":{"n":5}}`},
		{"bad", `{"any":1}`, `{"got":{"any":1}}`},
	} {
		if got, err := s.Call(t.Context(), nil, Call{Name: c.tool, Args: json.RawMessage(c.args)}); err != nil || string(got.JSON) != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.tool, c.args, got.JSON, err, c.want)
		}
	}
	if got, _ := s.Call(t.Context(), nil, Call{Name: "good", Args: json.RawMessage(`{}`)}); !got.IsError {
		t.Errorf("a call without a required parameter ran: %s", got.JSON)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	var all []Tool
	for _, pair := range []string{"read_file file", "write_file file", "search_files file", "terminal terminal", "todo todo", "web_search web", "mcp__gh__issue mcp-gh", "execute_code code_execution"} {
		name, toolset, _ := strings.Cut(pair, " ")
		tool := answering(name, `{}`)
		tool.Toolset, tool.ReadOnly = toolset, name == "read_file" || name == "search_files"
		all = append(all, tool)
	}
	s := setOf(t, all...)
	s.Toolsets = []string{"file", "terminal", "web"}
	const everything = "read_file write_file search_files terminal todo web_search mcp__gh__issue execute_code"
	for _, c := range []struct{ enabled, disabled, want string }{
		{"", "", everything},
		{"coding", "", everything},
		{"hermes-acp", "", everything},
		{"hermes-lsp", "code_execution mcp-gh", "read_file write_file search_files terminal todo web_search"},
		{"safe", "", "read_file search_files web_search"},
		{"safe", "web", "read_file search_files"},
		{"safe todo", "", "read_file search_files todo web_search"},
		{"file", "", "read_file write_file search_files"},
		{"file_tools terminal_tools", "", "read_file write_file search_files terminal"},
		{"mcp-gh", "", "mcp__gh__issue"},
		{"mcp-down", "", ""},
		{"file", "file", ""},
		{"memory vision browser", "", ""},
		{"file nonsense", "", `unknown toolset "nonsense"; known are file, terminal, web, `},
		{"", "filee", `unknown toolset "filee"; known are file`},
		{"read_file", "", `"read_file" is a tool, not a toolset; its toolset is "file"`},
	} {
		got := ""
		selected, err := s.Select(strings.Fields(c.enabled), strings.Fields(c.disabled))
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, tool := range selected.Offered(t.Context()) {
				names = append(names, tool.Name)
			}
			slices.SortFunc(names, func(a, b string) int { return strings.Index(everything, a) - strings.Index(everything, b) })
			got = strings.Join(names, " ")
		}
		want := strings.Fields(c.want)
		slices.SortFunc(want, func(a, b string) int { return strings.Index(everything, a) - strings.Index(everything, b) })
		if err == nil && got != strings.Join(want, " ") || err != nil && !strings.HasPrefix(got, c.want) {
			t.Errorf("enabled %q, disabled %q: %s; want %s", c.enabled, c.disabled, got, c.want)
		}
	}
	if _, err := s.Select([]string{"x"}, nil); err == nil || !strings.Contains(err.Error(), "mcp-gh") || !strings.Contains(err.Error(), "hermes-acp") {
		t.Errorf("the error does not list all that is known: %v", err)
	}
	for host, want := range map[string]string{"acp": "hermes-acp", "lsp": "hermes-lsp", "": "coding", "run": "coding"} {
		if got := Preset(host); !slices.Equal(got, []string{want}) {
			t.Errorf("Preset(%q) = %v", host, got)
		}
	}
}

func TestAvailability(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		with := func(name string, available func(context.Context) error) Tool {
			tool := answering(name, `{}`)
			tool.Available = available
			return tool
		}
		wanting := answering("wanting", `{}`)
		wanting.RequiredEnv = []string{"HERMES_TEST_NEVER_SET"}
		words := New(Tool{
			Name:        "words",
			Description: `Uses {{if offered "there"}}there{{else}}nothing{{end}}{{if offered "failing"}} and failing{{end}}.`,
		}, func(context.Context, *Env, Call, struct{}) (Result, error) { return OK(nil), nil })
		s := setOf(t,
			with("there", func(context.Context) error { asked++; return nil }),
			with("failing", func(context.Context) error { return errors.New("no") }),
			with("panicking", func(context.Context) error { panic("no") }),
			with("hanging", func(ctx context.Context) error { <-ctx.Done(); return nil }),
			wanting, words)
		specs := s.Specs(t.Context())
		var names []string
		for _, spec := range specs {
			names = append(names, spec.Name)
		}
		if !slices.Equal(names, []string{"there", "words"}) {
			t.Errorf("offered: %v", names)
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		if got := specs[1].Description; got != "Uses there." {
			t.Errorf("described as %q", got)
		}
	})
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	there := []Tool{{Name: "yes"}}
	for text, want := range map[string]string{
		`a{{if offered "yes"}} b{{if offered "no"}} c{{else}} d{{end}} e{{end}} f`:         `a b d e f`,
		`a{{if offered "no"}} b{{if offered "yes"}} c{{else}} d{{end}} e{{else}} g{{end}}`: `a g`,
		"{{.}} < b\n": `data < b`,
	} {
		if got := Describe(text, there, "data"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestForeignDescription checks that the description of an external tool is not a template.
func TestForeignDescription(t *testing.T) {
	t.Parallel()
	foreign := answering("foreign", `{}`)
	foreign.Description = `{{if offered "foreign"}} {{.X}} {{if`
	if got := setOf(t, foreign).Specs(t.Context())[0].Description; got != foreign.Description {
		t.Errorf("described as %q", got)
	}
}

func TestResultCap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var many []map[string]any
	for i := range 5000 {
		many = append(many, map[string]any{"path": fmt.Sprintf("a/%d.go", i), "line": i})
	}
	for name, c := range map[string]struct {
		value any
		keeps []string
	}{
		"one long string":    {map[string]any{"output": "first" + strings.Repeat("x", 50_000) + "last", "exit_code": 3}, []string{"first", "last", "bytes left out", `"exit_code":3`}},
		"escapes":            {map[string]any{"output": strings.Repeat("\"\n\\", 20_000)}, []string{"bytes left out"}},
		"characters":         {map[string]any{"output": strings.Repeat("é😀", 20_000)}, []string{"bytes left out"}},
		"a long and a short": {map[string]any{"a": strings.Repeat("a", 50_000), "b": strings.Repeat("b", 1000)}, []string{strings.Repeat("b", 1000)}},
		"a long list":        {map[string]any{"matches": many, "total_count": 5000}, []string{`"total_count":5000`, "a/0.go", "shortened_lists"}},
		"deep":               {map[string]any{"a": map[string]any{"b": []any{strings.Repeat("x", 30_000), 7}}}, []string{`,7]`}},
		"many names":         {namesOf(many), []string{"preview"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := plain("x", func(context.Context, *Env, Call) (Result, error) { return OK(c.value), nil })
			tool.ResultCap = 4000
			got, err := setOf(t, tool).Call(t.Context(), &Env{OutputDir: filepath.Join(dir, name)}, Call{Name: "x"})
			if err != nil {
				t.Fatal(err)
			}
			var object struct {
				Full string `json:"full_result"`
			}
			if err := json.Unmarshal(got.JSON, &object); err != nil || len(got.JSON) > 4000 || !utf8.Valid(got.JSON) {
				t.Fatalf("%d bytes, %v: %s", len(got.JSON), err, got.JSON)
			}
			if len(got.JSON) < 1500 {
				t.Errorf("only %d bytes are left: %s", len(got.JSON), got.JSON)
			}
			for _, want := range c.keeps {
				if !strings.Contains(string(got.JSON), want) {
					t.Errorf("lost %q: %s", want, got.JSON)
				}
			}
			whole, err := os.ReadFile(object.Full)
			if want := OK(c.value).JSON; err != nil || !sameCompact(whole, want) || bytes.Count(whole, []byte{'\n'}) == 0 {
				t.Errorf("full_result holds %d bytes, want %d (%v)", len(whole), len(want), err)
			}
		})
	}
}

// sameCompact compares values whose lines may be broken otherwise.
func sameCompact(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func namesOf(many []map[string]any) map[string]any {
	m := map[string]any{}
	for _, x := range many {
		m[x["path"].(string)] = x["line"]
	}
	return m
}

func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := setOf(t, plain("x", func(_ context.Context, _ *Env, c Call) (Result, error) { return OK(map[string]string{"id": c.ID}), nil }))
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			id := fmt.Sprint(i)
			got, err := s.Call(t.Context(), nil, Call{ID: id, Name: "x", Args: json.RawMessage(`{}`)})
			if err != nil || string(got.JSON) != `{"id":"`+id+`"}` {
				t.Errorf("call %s: %s, %v", id, got.JSON, err)
			}
		})
	}
	calls.Wait()
}

func BenchmarkCall(b *testing.B) {
	s, err := NewSet(sample("x"))
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"name":"main.go","count":5,"all":true}`)
	for b.Loop() {
		if r, _ := s.Call(b.Context(), nil, Call{Name: "x", Args: args}); r.IsError {
			b.Fatal(string(r.JSON))
		}
	}
}

// TestOffers: a server is not started if its tools are not offered.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := &Set{Toolsets: []string{"file", "todo"}}
	for _, c := range []struct {
		enabled, disabled string
		want              bool
	}{
		{"", "", true},
		{"hermes-lsp", "", true},
		{"safe todo", "", false},
		{"file mcp-gh", "", true},
		{"", "mcp-gh", false},
		{"", "mcp-other", true},
		{"nonsense", "", true}, // the session reports the problem
	} {
		if got := s.Offers("mcp-gh", strings.Fields(c.enabled), strings.Fields(c.disabled)); got != c.want {
			t.Errorf("enabled %q, disabled %q: %v", c.enabled, c.disabled, got)
		}
	}
}
