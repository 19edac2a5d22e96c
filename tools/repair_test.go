package tools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRepairArgs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"valid", `{"a":1}`, `{"a":1}`},
		{"valid, untouched", " {\"b\" :1,\n\"a\":[ ]} ", " {\"b\" :1,\n\"a\":[ ]} "},
		{"valid, odd escapes", `{"a":"\u0041\/<>"}`, `{"a":"\u0041\/<>"}`},
		{"empty", "", `{}`},
		{"white space", " \n", `{}`},
		{"null", "null", `{}`},
		{"byte order mark", "\ufeff{\"a\":1}", `{"a":1}`},
		{"doubled", `{"a":1}{"a":1}`, `{"a":1}`},
		{"doubled, other spacing", `{"a": 1} {"a":1}`, `{"a": 1}`},
		{"tripled", `{"a":1}{"a":1}{"a":1}`, `{"a":1}`},
		{"after an empty one", `{}{"a":1}`, `{"a":1}`},
		{"in a string", `"{\"a\":1}"`, `{"a":1}`},
		{"in a string in a string", `"\"{\\\"a\\\":1}\""`, ``},
		{"in a list", `[{"a":1}]`, `{"a":1}`},
		{"in a fence", "```json\n{\"a\":1}\n```", `{"a":1}`},
		{"in a plain fence", "```\n{'a':1}\n```", `{"a":1}`},
		{"trailing comma", `{"a":[1,2,],}`, `{"a":[1,2]}`},
		{"missing brace", `{"a":"x"`, `{"a":"x"}`},
		{"missing brackets", `{"a":[{"b":"x"`, `{"a":[{"b":"x"}]}`},
		{"too many braces", `{"a":1}}`, `{"a":1}`},
		{"Python", `{'a': True, 'b': None, 'c': False, 'd': [1, 'x"y']}`, `{"a":true,"b":null,"c":false,"d":[1,"x\"y"]}`},
		{"an escaped quote of Python's", `{'a': 'it\'s'}`, `{"a":"it's"}`},
		{"JavaScript", `{path: "x"}`, `{"path":"x"}`},
		{"raw line breaks", "{\"a\":\"x\n\ty\"}", `{"a":"x\n\ty"}`},
		{"single backslashes", `{"a":"\d+\.\w"}`, `{"a":"\\d+\\.\\w"}`},
		{"single backslashes beside quotes", `{"a":"\d\"x\""}`, `{"a":"\\d\"x\""}`},
		{"Unicode escapes in Python", `{'a': '\u00e9\ud83d\ude00'}`, `{"a":"é😀"}`},

		{"cut in a string", `{"path":"a","content":"hello`, ``},
		{"cut after a backslash", `{"a":"x\`, ``},
		{"cut in a number", `{"a": 12`, ``},
		{"cut in a literal", `{"a":tr`, ``},
		{"cut after a comma", `{"a":"x",`, ``},
		{"cut after a colon", `{"a":`, ``},
		{"cut after a name", `{"a"`, ``},
		{"two objects", `{"a":1}{"a":2}`, ``},
		{"the same name twice", `{'a':1,'a':2}`, ``},
		{"a quote inside", `{"a":"say "hi" now"}`, ``},
		{"a comma and a quote inside", `{"a":"x = ["a", "b"]"}`, ``},
		{"an apostrophe inside", `{'a': 'it's'}`, ``},
		{"backslashes of two kinds", `{"a":"C:\new\dir"}`, ``},
		{"hex escape", `{'a':'\x41'}`, ``},
		{"text around", `Sure: {"a":1}`, ``},
		{"a number", `5`, ``},
		{"a list", `[1,2]`, ``},
		{"two in a list", `[{"a":1},{"b":2}]`, ``},
		{"a word", `main.go`, ``},
		{"nothing but a brace", `{`, ``},
		{"NaN", `{"a":NaN}`, ``},
		{"deep", strings.Repeat(`{"a":`, 5000), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := RepairArgs(c.args)
			if c.want == "" {
				if err == nil {
					t.Fatalf("became %s; want an error", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Arguments that end too early are reported as cut, wherever they end. Only closing brackets may be
// missing.
func TestRepairArgsThatAreCut(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		`{"path":"a.go","content":"say \"hi\"\n","n":[1,2,{"b":true}],"m":12.5,"u":"\u00e9"}`,
		`{ "command" : "ls -la" , "timeout" : 30 }`,
		`{'path': 'a.go', 'all': True}`,
	} {
		want, err := RepairArgs(whole)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(whole); n++ {
			got, err := RepairArgs(whole[:n])
			var cut *cutError
			if err == nil && !sameJSON(got, want) && !strings.ContainsAny(strings.TrimSpace(whole[:n])[len(strings.TrimSpace(whole[:n]))-1:], "\"'}]") {
				t.Errorf("%s became %s", whole[:n], got)
			}
			if err != nil && !errors.As(err, &cut) {
				t.Errorf("%s: %v; want it to say that it is cut off", whole[:n], err)
			}
		}
	}
}

func TestRepairArgsSaysWhere(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"{\"path\": \"a\",\n \"content\": \"say \"hi\"\"}": `line 2, column 19`,
		`{"a":"x`:   `the arguments end within "a"`,
		`[1]`:       "not an array",
		`5`:         "not a number",
		`{"a" 1}`:   "a comma is missing at line 1, column 6",
		`{"a":x}`:   "not in quotes",
		`{"a":1 2}`: "a comma",
	} {
		_, err := RepairArgs(args)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("RepairArgs(%s): %v; want it to say %q", args, err, want)
		}
	}
}

func FuzzRepairArgs(f *testing.F) {
	for _, seed := range []string{
		``, `{"a":1}`, `{'a': True,}`, `{"a":1}{"a":1}`, `"{\"a\":1}"`, "```json\n{}\n```", `{"a":"\d"`, `{"a":[`,
		`{"\ud800":"\udc00"}`, "{\"a\":\"\xff\"}", `{a:{b:{c:[]}}}`, `[{"a":1}]`, `{"a":"\u12`, `{"a":1e999}`, "{\x00}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		got, err := RepairArgs(args)
		if err != nil {
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(got, &object) != nil || object == nil {
			t.Fatalf("%q became %q, which is no object", args, got)
		}
		if json.Valid([]byte(args)) && args != string(got) {
			var was any
			if json.Unmarshal([]byte(args), &was) == nil {
				if _, isObject := was.(map[string]any); isObject {
					t.Fatalf("valid %q became %q", args, got)
				}
			}
		}
		again, err := RepairArgs(string(got))
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q, mended, is not steady: %q, %v", got, again, err)
		}
	})
}
