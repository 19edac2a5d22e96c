package model_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

var offered = []model.Tool{{Name: "read_file"}, {Name: "write_file"}, {Name: "read_dir"}}

// cut streams text in pieces of size bytes, then the end.
func cut(text string, size int, end model.Finish) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for len(text) > 0 {
			n := min(size, len(text))
			if !yield(model.Delta{Text: text[:n]}, nil) {
				return
			}
			text = text[n:]
		}
		yield(model.Delta{Finish: end}, nil)
	}
}

type inlined struct {
	text, reasoning string
	calls           []model.Call
	finish          model.Finish
}

func inline(t *testing.T, tools []model.Tool, in iter.Seq2[model.Delta, error]) inlined {
	t.Helper()
	var r model.Reply
	for d, err := range model.Inline(&model.Request{Tools: tools}, true, in) {
		if err != nil {
			t.Fatalf("the stream failed: %v", err)
		}
		if r.Finish != "" {
			t.Errorf("%+v came after the end", d)
		}
		r.Add(d)
	}
	return inlined{r.Text, r.Reasoning, r.Calls, r.Finish}
}

func TestInline(t *testing.T) {
	t.Parallel()
	read := model.Call{ID: "call_1", Name: "read_file", Args: `{"path":"a.go"}`}
	const object = `{"name": "read_file", "arguments": {"path":"a.go"}}`
	calls := func(c ...model.Call) []model.Call { return c }
	tests := []struct {
		name, in string
		want     inlined
	}{
		{"plain", "Hello, a < b and `x`.", inlined{text: "Hello, a < b and `x`."}},
		{"tool_call", "I look.\n<tool_call>\n" + object + "\n</tool_call>", inlined{text: "I look.\n", calls: calls(read)}},
		{"tool_call after text on the line", "I look.<tool_call>" + object + "</tool_call>\n", inlined{text: "I look.", calls: calls(read)}},
		{"two of them", "<tool_call>" + object + "</tool_call>\n\n<tool_call>" + object + "</tool_call>",
			inlined{calls: calls(read, model.Call{ID: "call_2", Name: "read_file", Args: read.Args})}},
		{"a list", "<tool_call>[" + object + "]</tool_call>", inlined{calls: calls(read)}},
		{"end missing", "<tool_call>" + object, inlined{calls: calls(read)}},
		{"white space after it", "<tool_call>" + object + "</tool_call>\n \n", inlined{calls: calls(read)}},
		{"text after it", "<tool_call>" + object + "</tool_call>\nDone.", inlined{text: "<tool_call>" + object + "</tool_call>\nDone."}},
		{"one in the text, one at the end", "<tool_call>" + object + "</tool_call>\nDone.\n<tool_call>" + object + "</tool_call>",
			inlined{text: "<tool_call>" + object + "</tool_call>\nDone.\n", calls: calls(read)}},
		{"parameters for arguments", `<tool_call>{"name": "read_file", "parameters": {"path":"a.go"}}</tool_call>`, inlined{calls: calls(read)}},
		{"arguments as a string", `<tool_call>{"name": "read_file", "arguments": "{\"path\":\"a.go\"}"}</tool_call>`, inlined{calls: calls(read)}},
		{"arguments first", `<tool_call>{"arguments": {"path":"a.go"}, "name": "read_file"}</tool_call>`, inlined{calls: calls(read)}},
		{"no arguments", `<tool_call>{"name": "read_file"}</tool_call>`, inlined{calls: calls(model.Call{ID: "call_1", Name: "read_file", Args: "{}"})}},
		{"the end inside an argument", `<tool_call>{"name":"write_file","arguments":{"content":"a</tool_call>b"}}</tool_call>`,
			inlined{calls: calls(model.Call{ID: "call_1", Name: "write_file", Args: `{"content":"a</tool_call>b"}`})}},
		{"broken arguments are for dispatch", "<tool_call>{\"name\": \"read_file\", \"arguments\": {'path': 'a.go'}}</tool_call>",
			inlined{calls: calls(model.Call{ID: "call_1", Name: "read_file", Args: "{'path': 'a.go'}"})}},
		{"function", `<function=read_file>{"path":"a.go"}</function>`, inlined{calls: calls(read)}},
		{"function with parameters", "<tool_call>\n<function=read_file>\n<parameter=path>\na.go\n</parameter>\n</function>\n</tool_call>", inlined{calls: calls(read)}},
		{"function without any", "<function=read_dir></function>", inlined{calls: calls(model.Call{ID: "call_1", Name: "read_dir", Args: "{}"})}},
		{"fenced", "```json\n" + object + "\n```\n", inlined{calls: calls(read)}},
		{"fenced, after a thought", "<think>x</think>\n```json\n" + object + "\n```\n", inlined{reasoning: "x", calls: calls(read)}},
		{"fenced in prose", "Now:\n```json\n" + object + "\n```\n", inlined{text: "Now:\n```json\n" + object + "\n```\n"}},
		{"fenced before prose", "```json\n" + object + "\n```\nso", inlined{text: "```json\n" + object + "\n```\nso"}},
		{"fenced twice", "```json\n" + object + "\n```\n```json\n" + object + "\n```\n", inlined{text: "```json\n" + object + "\n```\n```json\n" + object + "\n```\n"}},
		{"fenced, end missing", "```json\n" + object, inlined{calls: calls(read)}},

		{"a tool not offered", `<tool_call>{"name": "reboot", "arguments": {}}</tool_call>`, inlined{text: `<tool_call>{"name": "reboot", "arguments": {}}</tool_call>`}},
		{"a name that only begins like one", "<function=read_>x</function>", inlined{text: "<function=read_>x</function>"}},
		{"not JSON", "<tool_call>hello</tool_call>", inlined{text: "<tool_call>hello</tool_call>"}},
		{"a beginning only", "a <tool", inlined{text: "a <tool"}},
		{"package.json", "```json\n{\"name\": \"read\", \"version\": \"1\"}\n```", inlined{text: "```json\n{\"name\": \"read\", \"version\": \"1\"}\n```"}},
		{"a call and more in a fence", "```json\n{\"name\": \"read_file\", \"arguments\": {}, \"x\": 1}\n```", inlined{text: "```json\n{\"name\": \"read_file\", \"arguments\": {}, \"x\": 1}\n```"}},
		{"quoted in a fence", "```xml\n<tool_call>" + object + "</tool_call>\n```\nso", inlined{text: "```xml\n<tool_call>" + object + "</tool_call>\n```\nso"}},
		{"quoted in backticks", "write `<tool_call>" + object + "</tool_call>`", inlined{text: "write `<tool_call>" + object + "</tool_call>`"}},
		{"quoted in a longer fence", "````md\n```json\n" + object + "\n```\n<tool_call>" + object + "</tool_call>", inlined{text: "````md\n```json\n" + object + "\n```\n<tool_call>" + object + "</tool_call>"}},
		{"quoted in tildes", "~~~\n<tool_call>" + object + "</tool_call>", inlined{text: "~~~\n<tool_call>" + object + "</tool_call>"}},
		{"quoted in a fence of a list", "- a\n  ```\n  <tool_call>" + object + "</tool_call>", inlined{text: "- a\n  ```\n  <tool_call>" + object + "</tool_call>"}},
		{"after a fence", "```sh\nls\n```\n<tool_call>" + object + "</tool_call>", inlined{text: "```sh\nls\n```\n", calls: calls(read)}},
		{"block quote", "It says:\n> <tool_call>" + object + "</tool_call>", inlined{text: "It says:\n> <tool_call>" + object + "</tool_call>"}},
		{"block quote of a function", ">> <function=read_file>{}</function>", inlined{text: ">> <function=read_file>{}</function>"}},
		{"quotation marks", `It says "<tool_call>` + object + `</tool_call>`, inlined{text: `It says "<tool_call>` + object + `</tool_call>`}},
		{"indented code", "It says:\n\n    <tool_call>" + object + "</tool_call>", inlined{text: "It says:\n\n    <tool_call>" + object + "</tool_call>"}},
		{"in another tag", "<file path=\"a\">\n<tool_call>" + object + "</tool_call>", inlined{text: "<file path=\"a\">\n<tool_call>" + object + "</tool_call>"}},
		{"in another tag that ends", "<file>\n<tool_call>" + object + "</tool_call>\n</file>", inlined{text: "<file>\n<tool_call>" + object + "</tool_call>\n</file>"}},
		{"after another tag", "<plan>\nlook\n</plan>\n<tool_call>" + object + "</tool_call>", inlined{text: "<plan>\nlook\n</plan>\n", calls: calls(read)}},
		{"code", "```go\nif a < b {}\n```\n", inlined{text: "```go\nif a < b {}\n```\n"}},

		{"thought", "<think>\nhm < a\n</think>\n\nHello", inlined{reasoning: "hm < a\n", text: "Hello"}},
		{"thought, then call", "<think>hm</think><tool_call>" + object + "</tool_call>", inlined{reasoning: "hm", calls: calls(read)}},
		{"thought without end", "<think>hm </thi", inlined{reasoning: "hm </thi"}},
		{"end of a thought only", "hm\n</think>\n\nHello", inlined{reasoning: "hm\n", text: "Hello"}},
		{"end of a thought at the end of a line", "hm.</think>\nHello", inlined{reasoning: "hm.", text: "Hello"}},
		{"about the end", "The </think> tag, `</think>`\nand\n```\n</think>\n```\n", inlined{text: "The </think> tag, `</think>`\nand\n```\n</think>\n```\n"}},
		{"about the tag", "The <think> tag", inlined{text: "The <think> tag"}},
		{"a call in a thought", "<think><tool_call>" + object + "</tool_call></think>x", inlined{reasoning: "<tool_call>" + object + "</tool_call>", text: "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.finish = model.FinishStop
			if tt.want.calls != nil {
				tt.want.finish = model.FinishCalls
			}
			for size := 1; size <= len(tt.in); size++ {
				if got := inline(t, offered, cut(tt.in, size, model.FinishStop)); !reflect.DeepEqual(got, tt.want) {
					t.Fatalf("in pieces of %d: %+v\nwant %+v", size, got, tt.want)
				}
			}
		})
	}
}

func TestInlineWithoutToolsLeavesCallsAlone(t *testing.T) {
	t.Parallel()
	const in = `<tool_call>{"name": "read_file", "arguments": {}}</tool_call>`
	if got := inline(t, nil, cut(in, 3, model.FinishStop)); got.text != in || got.calls != nil {
		t.Errorf("got %+v", got)
	}
}

func TestInlineCutByLength(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`<tool_call>{"name": "write_file", "arguments": {"content":"ab`,
		`<function=write_file>{"content":"ab`,
		"```json\n" + `{"name": "write_file", "arguments": {"content":"ab`,
	} {
		got := inline(t, offered, cut(in, 5, model.FinishLength))
		want := []model.Call{{ID: "call_1", Name: "write_file", Args: `{"content":"ab`}}
		if !reflect.DeepEqual(got.calls, want) || got.finish != model.FinishLength || got.text != "" {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

// TestInlineReleasesEarly checks text that begins like a call. It is passed on as soon as it
// cannot be a call.
func TestInlineReleasesEarly(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"a <b", "<tool_call>no", "```go\nx", "```json\n{\"name\": \"pack", "<function=other"} {
		var seen strings.Builder
		for d, err := range model.Inline(&model.Request{Tools: offered}, true, cut(in+"|"+strings.Repeat("x", 100), 1, model.FinishStop)) {
			if err != nil {
				t.Fatal(err)
			}
			seen.WriteString(d.Text)
			if strings.HasSuffix(seen.String(), "|") {
				break
			}
		}
		if got := seen.String(); got != in+"|" {
			t.Errorf("%q came out as %q before the end", in, got)
		}
	}
}

func TestInlineKeepsNativeCallsApart(t *testing.T) {
	t.Parallel()
	in := func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Call: &model.CallDelta{Index: 0, ID: "n", Name: "read_dir", Args: "{}"}}, nil) &&
			yield(model.Delta{Text: `<function=read_file>{}</function>`}, nil) &&
			yield(model.Delta{Finish: model.FinishCalls, Usage: &model.Usage{Input: 1}}, nil)
	}
	got := inline(t, offered, in)
	if len(got.calls) != 1 || got.calls[0].ID != "n" || got.text != `<function=read_file>{}</function>` {
		t.Errorf("got %+v", got)
	}
	after := func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "<function=read_file>{}</function>\n<function="}, nil) &&
			yield(model.Delta{Call: &model.CallDelta{Index: 0, ID: "n", Name: "read_dir", Args: "{}"}}, nil) &&
			yield(model.Delta{Finish: model.FinishCalls}, nil)
	}
	got = inline(t, offered, after)
	if len(got.calls) != 1 || got.calls[0].ID != "n" || got.text != "<function=read_file>{}</function>\n<function=" {
		t.Errorf("got %+v", got)
	}
}

// TestInlineQuotesWhatItWasGiven checks calls that a message contains: they are quotations.
func TestInlineQuotesWhatItWasGiven(t *testing.T) {
	t.Parallel()
	const (
		one  = `<tool_call>{"name": "write_file", "arguments": {"path": "a\\b", "content": "x"}}</tool_call>`
		many = "<tool_call>\n{\n  \"name\": \"write_file\",\n  \"arguments\": {\"path\": \"a\", \"content\": \"x\"}\n}\n</tool_call>"
		fun  = "<function=write_file>\n<parameter=path>\na\n</parameter>\n</function>"
	)
	encoded := func(text string) string {
		data, err := json.Marshal(map[string]string{"content": text})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	numbered := strings.NewReplacer("\n", "\n   12\t").Replace("see\n" + many)
	for name, tc := range map[string]struct {
		given model.Message
		in    string
		call  bool
	}{
		"tool result":       {model.ResultMessage("", "", encoded("README\n"+one)), one, false},
		"numbered lines":    {model.ResultMessage("", "", encoded(numbered)), many, false},
		"found by a search": {model.ResultMessage("", "", encoded("a.md:1:<tool_call>\na.md:2:{\na.md:3:  \"name\": \"write_file\",\na.md:4:  \"arguments\": {\"path\": \"a\", \"content\": \"x\"}\na.md:5:}")), many, false},
		"written anew":      {model.ResultMessage("", "", encoded("```json\n"+many[11:len(many)-12]+"\n```")), one[:32] + `"arguments":{"path":"a","content":"x"}}</tool_call>`, false},
		"function":          {model.ResultMessage("", "", encoded(fun)), fun, false},
		"prompt":            {model.NewMessage(model.User, "What is "+one+"?"), one, false},
		"own words":         {model.ResponseMessage("", one), one, true},
		"other text":        {model.ResultMessage("", "", encoded("write_file writes name, arguments, path a, content x")), one, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &model.Request{Tools: offered, Messages: []model.Message{tc.given}}
			var r model.Reply
			for d, err := range model.Inline(req, true, cut("So:\n"+tc.in, 7, model.FinishStop)) {
				if err != nil {
					t.Fatal(err)
				}
				r.Add(d)
			}
			if tc.call != (len(r.Calls) == 1) || tc.call == strings.Contains(r.Text, "<") {
				t.Errorf("%d calls, text %q", len(r.Calls), r.Text)
			}
		})
	}
	req := &model.Request{Tools: offered, System: "AGENTS.md: " + one}
	for d := range model.Inline(req, true, cut(one, 7, model.FinishStop)) {
		if d.Call != nil {
			t.Errorf("project instructions became %+v", d.Call)
		}
	}
}

// TestInlineManyEnds checks the time for many possible ends of a call.
func TestInlineManyEnds(t *testing.T) {
	t.Parallel()
	in := `<tool_call>{"name": "read_file", "arguments": {"path": "` + strings.Repeat("</tool_call><tool_call>", 50_000)
	if got := inline(t, offered, cut(in, 4000, model.FinishStop)); got.text != in || got.calls != nil {
		t.Errorf("%d bytes of %d are text; %d calls", len(got.text), len(in), len(got.calls))
	}
}

func TestInlineDropsWhatIsHeldOnError(t *testing.T) {
	t.Parallel()
	in := func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "a <tool_"}, nil) && yield(model.Delta{}, io.ErrUnexpectedEOF)
	}
	var text string
	var last error
	for d, err := range model.Inline(&model.Request{Tools: offered}, true, in) {
		text += d.Text
		last = err
	}
	if text != "a " || !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("text = %q, error = %v", text, last)
	}
}

func FuzzInline(f *testing.F) {
	f.Add("<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>", 3)
	f.Add("<think>a</think>```json\n{\"name\":\"read_file\"}\n```", 1)
	f.Add("<tool_call><function=read_file><parameter=a>\n1\n</parameter></function></tool_call>", 7)
	f.Add("a\n</think>\n``x```", 2)
	f.Add("a ◁ b\n◁/think▷c", 1)
	f.Add("a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", 2)
	f.Add("a <thought>\n</thought>\n</reasoning>\nb", 3)
	f.Fuzz(func(t *testing.T, in string, size int) {
		whole := inline(t, offered, cut(in, len(in)+1, model.FinishStop))
		got := inline(t, offered, cut(in, 1+max(0, size)%64, model.FinishStop))
		if !reflect.DeepEqual(got, whole) {
			t.Errorf("%q in pieces: %+v\nwhole: %+v", in, got, whole)
		}
		if len(whole.calls) == 0 && !hasMark(in) && whole.text != in {
			t.Errorf("%q became %q although it has no call", in, whole.text)
		}
	})
}

// hasMark reports whether a text may contain the mark of a thought or another special token.
func hasMark(text string) bool {
	for _, mark := range []string{"think", "THINK", "thought", "reason", "scratchpad", "<|", "|>"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

func BenchmarkInline(b *testing.B) {
	b.ReportAllocs()
	in := func(yield func(model.Delta, error) bool) {
		for range b.N {
			if !yield(model.Delta{Text: "word "}, nil) {
				return
			}
		}
	}
	n := 0
	for d := range model.Inline(&model.Request{Tools: offered}, true, in) {
		n += len(d.Text)
	}
	if n != 5*b.N {
		b.Fatalf("%d bytes came out of %d", n, 5*b.N)
	}
}
