package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

type color string

func (color) Enum() []string { return []string{"red", "dark_blue"} }

type sampleIn struct {
	Name  string   `json:"name" jsonschema:"what it is called"`
	Count int      `json:"count,omitempty"`
	Share float64  `json:"share,omitempty"`
	All   bool     `json:"all,omitempty"`
	Color color    `json:"color,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Parts []struct {
		ID   string `json:"id"`
		Size int    `json:"size,omitempty"`
	} `json:"parts,omitempty"`
	Limit *int   `json:"limit,omitempty"`
	Mode  string `json:"mode,omitempty" offer:"no"`
}

// sample answers with the arguments it was given.
func sample(name string) Tool {
	return New(Tool{Name: name, Toolset: "file"}, func(_ context.Context, _ *Env, c Call, in sampleIn) (Result, error) {
		if in.Mode != "" {
			return Fail("mode is not offered"), nil
		}
		return Result{JSON: c.Args}, nil
	})
}

func TestSchema(t *testing.T) {
	t.Parallel()
	want := `{"type":"object","properties":{"name":{"type":"string","description":"what it is called"},"count":{"type":"integer"},` +
		`"share":{"type":"number"},"all":{"type":"boolean"},"color":{"type":"string","enum":["red","dark_blue"]},` +
		`"tags":{"type":"array","items":{"type":"string"}},"parts":{"type":"array","items":{"type":"object",` +
		`"properties":{"id":{"type":"string"},"size":{"type":"integer"}},"required":["id"]}},` +
		`"limit":{"type":"integer"}},"required":["name"]}`
	got := string(sample("x").Schema)
	if !sameMeaning(t, got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Index(got, `"name"`) > strings.Index(got, `"count"`) {
		t.Error("properties are not in the order of the fields")
	}
	if again := string(sample("x").Schema); again != got {
		t.Error("the schema is not the same each time")
	}
}

func sameMeaning(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

func TestArguments(t *testing.T) {
	t.Parallel()
	set, err := NewSet(sample("sample"), New(Tool{Name: "terminal"}, func(context.Context, *Env, Call, struct {
		Command string `json:"command"`
	}) (Result, error) {
		return OK(struct{}{}), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, tool, args, want, wrong string }{
		{name: "as they are", args: `{ "name":"x", "count":5 }`, want: `{ "name":"x", "count":5 }`},
		{name: "number as text", args: `{"name":"x","count":"5"}`, want: `{"count":5,"name":"x"}`},
		{name: "whole number with a point", args: `{"name":"x","count":5.0}`, want: `{"count":5,"name":"x"}`},
		{name: "the same as text", args: `{"name":"x","count":" 5.0 "}`, want: `{"count":5,"name":"x"}`},
		{name: "share as text", args: `{"name":"x","share":"0.5"}`, want: `{"name":"x","share":0.5}`},
		{name: "integer for a number", args: `{"name":"x","share":2}`, want: `{"name":"x","share":2}`},
		{name: "boolean as text", args: `{"name":"x","all":"True"}`, want: `{"all":true,"name":"x"}`},
		{name: "list as text", args: `{"name":"x","tags":"[\"a\",\"b\"]"}`, want: `{"name":"x","tags":["a","b"]}`},
		{name: "one item for a list", args: `{"name":"x","tags":"a"}`, want: `{"name":"x","tags":["a"]}`},
		{name: "one object for a list", args: `{"name":"x","parts":{"id":"1","size":"2"}}`, want: `{"name":"x","parts":[{"id":"1","size":2}]}`},
		{name: "null is absent", args: `{"name":"x","count":null,"limit":null}`, want: `{"name":"x"}`},
		{name: "a word in another case", args: `{"name":"x","color":"Dark-Blue"}`, want: `{"color":"dark_blue","name":"x"}`},
		{name: "text that looks like a number stays text", args: `{"name":"5"}`, want: `{"name":"5"}`},
		{name: "broken JSON", args: `{'name': 'x', 'all': True,}`, want: `{"name":"x","all":true}`},

		{name: "missing", args: `{}`, wrong: `the parameter "name" is missing. Nothing was done. sample takes name (required), count, share, all, color, tags, parts ([{id, size}]), limit`},
		{name: "null is missing", args: `{"name":null}`, wrong: `"name" is missing`},
		{name: "unknown", args: `{"name":"x","counts":1}`, wrong: `unknown parameter "counts"; did you mean "count"?`},
		{name: "unknown, lists the known", args: `{"name":"x","zzz":1}`, wrong: `share, all, color`},
		{name: "other case", args: `{"Name":"x"}`, want: `{"name":"x","note":"here Name is name"}`},
		{name: "unknown inside", args: `{"name":"x","parts":[{"id":"1","siz":2}]}`, wrong: `unknown parameter "parts[0].siz"; did you mean "size"?`},
		{name: "missing inside", args: `{"name":"x","parts":[{"size":2}]}`, wrong: `"parts[0].id" is missing`},
		{name: "all at once", args: `{"zzz":1,"count":"many","color":"green"}`, wrong: `"color" must be one of "red" or "dark_blue", not "green"; "count" must be an integer, not a string; unknown parameter "zzz"; the parameter "name" is missing. Nothing was done.`},
		{name: "a list of one text", args: `{"name":["x"]}`, want: `{"name":"x"}`},
		{name: "number for text", args: `{"name":123}`, wrong: `"name" must be a string, not an integer: put it in quotes`},
		{name: "object for text", args: `{"name":{"a":1}}`, wrong: `"name" must be a string, not an object`},
		{name: "text for a number", args: `{"name":"x","count":"many"}`, wrong: `"count" must be an integer, not a string`},
		{name: "part of a whole", args: `{"name":"x","count":1.5}`, wrong: `"count" must be an integer, not a number`},
		{name: "too large", args: `{"name":"x","count":99999999999999999999}`, wrong: `"count" cannot be`},
		{name: "a broken list", args: `{"name":"x","tags":"[\"a\""}`, wrong: `"tags" must be an array`},
		{name: "not of the list", args: `{"name":"x","color":"green"}`, wrong: `"color" must be one of "red" or "dark_blue", not "green"`},
		{name: "of another tool", args: `{"command":"ls"}`, wrong: `"command" belongs to terminal: call that tool instead.`},
		{name: "one too many", args: `{"name":"x","command":"ls"}`, wrong: `unknown parameter "command". Nothing was done. sample takes`},
		{name: "not JSON", args: `name is x`, wrong: `Send one JSON object, such as {"name": "name is x"}`},
		{name: "cut off", args: `{"name":"x`, wrong: `the arguments end within "name": they were cut off. Nothing was done. Send the whole call again`},
		{name: "not offered, answered by the tool", args: `{"name":"x","mode":"patch"}`, wrong: `mode is not offered`},
		{name: "code for the terminal", tool: "terminal", args: `{"code":"print(1)"}`, wrong: `terminal has no parameter "code". Nothing was done. Python code is run by execute_code`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tool := c.tool
			if tool == "" {
				tool = "sample"
			}
			got, err := set.Call(t.Context(), nil, Call{Name: tool, Args: json.RawMessage(c.args)})
			if err != nil {
				t.Fatal(err)
			}
			if c.wrong == "" {
				if string(got.JSON) != c.want {
					t.Errorf("got  %s\nwant %s", got.JSON, c.want)
				}
				return
			}
			if text := errorOf(t, got); !strings.Contains(text, c.wrong) {
				t.Errorf("got  %s\nwant %s", text, c.wrong)
			} else if strings.Contains(text, "mode") && !strings.Contains(c.args, "mode") {
				t.Errorf("names a parameter that is not offered: %s", text)
			}
		})
	}
}

// errorOf returns the error text of a failed result.
func errorOf(t *testing.T, r Result) string {
	t.Helper()
	var failed struct{ Error string }
	if err := json.Unmarshal(r.JSON, &failed); err != nil || !r.IsError || failed.Error == "" {
		t.Fatalf("not a failure: %s", r.JSON)
	}
	return failed.Error
}

func TestForeignSchema(t *testing.T) {
	t.Parallel()
	foreign := Tool{
		Name: "mcp__x__y", Toolset: "mcp-x",
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":["integer","null"]},"any":{},"u":{"anyOf":[{"type":"string"}]}},"required":["n"]}`),
		Run:    func(_ context.Context, _ *Env, c Call) (Result, error) { return Result{JSON: c.Args}, nil },
	}
	set, err := NewSet(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"n":"5","any":null,"u":7,"more":[1]}`: `{"any":null,"more":[1],"n":5,"u":7}`,
		`{"n":null}`:                            `{"n":null}`,
	} {
		got, _ := set.Call(t.Context(), nil, Call{Name: foreign.Name, Args: json.RawMessage(args)})
		if string(got.JSON) != want {
			t.Errorf("got  %s\nwant %s", got.JSON, want)
		}
	}
}
