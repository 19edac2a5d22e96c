package model_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// markups are two calls, of read_file and read_dir, in the form of each model family.
var markups = map[string]string{
	"Llama 3.1":           `<|python_tag|>{"name": "read_file", "parameters": {"path": "a.go"}}; {"name": "read_dir", "parameters": {}}<|eom_id|>`,
	"Llama 3.1 in Python": `<|python_tag|>read_file.call(path="a.go")` + "\n" + `read_dir.call()`,
	"Llama 3.2, bare":     `{"name": "read_file", "parameters": {"path": "a.go"}}` + "\n" + `{"name": "read_dir", "parameters": {}}`,
	"Llama 3.2, function": `{"type": "function", "name": "read_file", "parameters": {"path": "a.go"}};{"type":"function","function":{"name":"read_dir","arguments":"{}"}}`,
	"Llama 4":             `[read_file(path="a.go"), read_dir()]`,
	"Mistral":             `[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.go"}, "id": "abcdefghi"}, {"name": "read_dir", "arguments": {}}]</s>`,
	"Mistral, v11":        `[TOOL_CALLS]read_file[CALL_ID]abcdefghi[ARGS]{"path": "a.go"}[TOOL_CALLS]read_dir[ARGS]{}`,
	"Mistral, v13":        `[TOOL_CALLS] read_file{"path": "a.go"}[TOOL_CALLS]read_dir{}`,
	"DeepSeek V3":         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\": \"a.go\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_dir\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
	"DeepSeek V3.1":       `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.go"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>read_dir<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
	"DeepSeek V3.2":       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a.go</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"read_dir\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	"DeepSeek V4, ASCII":  "<|DSML|tool_calls>\n<|DSML|invoke name=\"read_file\">\n<|DSML|parameter name=\"path\" string=\"true\">a.go</|DSML|parameter>\n</|DSML|invoke>\n<|DSML|invoke name=\"read_dir\">\n</|DSML|invoke>\n</|DSML|tool_calls>",
	"MiniMax M2":          "<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.go</parameter>\n</invoke>\n<invoke name=\"read_dir\">\n</invoke>\n</minimax:tool_call>",
	"MiniMax M1":          "<tool_calls>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.go\"}}\n{\"name\": \"read_dir\", \"arguments\": {}}\n</tool_calls>",
	"Hunyuan":             `<tool_calls>[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]</tool_calls>`,
	"harmony":             `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "a.go"}<|call|><|start|>assistant<|channel|>commentary to=functions.read_dir<|message|>{}<|call|>`,
	"harmony, recipient first": `<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>{"path": "a.go"}<|call|>` +
		`<|start|>assistant to=functions.read_dir<|channel|>commentary json<|message|>{}<|call|>`,
	"Gemma":             "```tool_code\nread_file(path=\"a.go\")\nprint(default_api.read_dir())\n```",
	"FunctionGemma":     `<start_function_call>call:read_file{path:<escape>a.go<escape>}<end_function_call><start_function_call>call:read_dir{}<end_function_call>`,
	"Gemma 4":           `<|tool_call>call:read_file{path:<|"|>a.go<|"|>}<tool_call|><|tool_call>call:read_dir{}<tool_call|>`,
	"Qwen3 Coder":       "<tool_call>\n<function=read_file>\n<parameter=path>\na.go\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=read_dir>\n</function>\n</tool_call>",
	"Hermes":            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.go\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"read_dir\", \"arguments\": {}}\n</tool_call>",
	"GLM":               "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.go</arg_value>\n</tool_call>\n<tool_call>read_dir\n</tool_call>",
	"GLM, on one line":  "<tool_call>read_file<arg_key>path</arg_key><arg_value>a.go</arg_value></tool_call><tool_call>read_dir</tool_call>",
	"Kimi K2":           `<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.go"}<|tool_call_end|><|tool_call_begin|>functions.read_dir:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`,
	"Granite":           `<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]`,
	"Granite 20B":       `<function_call> {"name": "read_file", "arguments": {"path": "a.go"}}` + "\n" + `<function_call> {"name": "read_dir", "arguments": {}}`,
	"Phi-4 mini":        `<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]<|/tool_call|>`,
	"Phi-4 mini, words": `functools[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]`,
	"Command R":         "Action: ```json\n[\n    {\"tool_name\": \"read_file\", \"parameters\": {\"path\": \"a.go\"}},\n    {\"tool_name\": \"read_dir\", \"parameters\": {}}\n]```",
	"Command R7B":       `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "a.go"}}, {"tool_call_id": "1", "tool_name": "read_dir", "parameters": {}}]<|END_ACTION|>`,
	"Nemotron":          `<TOOLCALL>[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]</TOOLCALL>`,
	"xLAM":              `[{"name": "read_file", "arguments": {"path": "a.go"}}, {"name": "read_dir", "arguments": {}}]`,
	"InternLM":          "<|action_start|><|plugin|>\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"a.go\"}}<|action_end|><|action_start|><|plugin|>\n{\"name\": \"read_dir\", \"parameters\": {}}<|action_end|>",
	"Seed":              "<seed:tool_call>\n<function=read_file>\n<parameter=path>a.go</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call><function=read_dir></function></seed:tool_call>",
	"Step":              `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file"><steptml:parameter name="path">a.go</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_dir"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>`,
	"Apertus":           `<|tools_prefix|>[{"read_file": {"path": "a.go"}}, {"read_dir": {}}]<|tools_suffix|>`,
	"LFM2":              `<|tool_call_start|>[read_file(path='a.go'), read_dir()]<|tool_call_end|>`,
	"Olmo":              "<function_calls>\nread_file(path=\"a.go\")\nread_dir()\n</function_calls>",
	"Claude":            "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.go</parameter>\n</invoke>\n<invoke name=\"read_dir\">\n</invoke>\n</function_calls>",
}

// compact returns a JSON text without white space.
func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMarkups checks each family's calls, alone and after a sentence, in pieces of any size.
// The calls run. Quoted, the same text is no call.
func TestMarkups(t *testing.T) {
	t.Parallel()
	bare := []string{"Llama 3.2, bare", "Llama 3.2, function", "Llama 4", "Phi-4 mini, words", "xLAM", "Gemma", "Command R"}
	for name, markup := range markups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := []string{"", "I look.\n", "<think>hm</think>\n"}
			for _, b := range bare {
				if b == name {
					before = []string{"", "<think>hm</think>\n"}
				}
			}
			if !model.IsCallMarkup(markup, nil) && name != "Llama 4" {
				t.Error("it is not recognized as markup that was not run")
			}
			for _, b := range before {
				for _, size := range []int{1, 2, 3, 7, 50, 10_000} {
					got := inline(t, offered, cut(b+markup+"\n", size, model.FinishStop))
					if len(got.calls) != 2 || got.calls[0].Name != "read_file" || got.calls[1].Name != "read_dir" || got.finish != model.FinishCalls ||
						compact(t, got.calls[0].Args) != `{"path":"a.go"}` || compact(t, got.calls[1].Args) != "{}" || strings.TrimSpace(got.text) != strings.TrimSpace(strings.TrimPrefix(b, "<think>hm</think>")) {
						t.Fatalf("after %q in pieces of %d: %+v", b, size, got)
					}
				}
			}
			quotes := []string{"It is:\n````\n" + markup + "\n````\n", markup + "\nThat is how it looks.", "> " + strings.ReplaceAll(markup, "\n", "\n> "), "Write \"" + markup + "\"."}
			for _, in := range append(quotes, strings.ReplaceAll(strings.ReplaceAll(markup, "read_file", "reboot"), "read_dir", "restart")) {
				for _, size := range []int{1, 5, 10_000} {
					if got := inline(t, offered, cut(in, size, model.FinishStop)); got.text != in || got.calls != nil || got.reasoning != "" {
						t.Fatalf("%q in pieces of %d: %+v", in, size, got)
					}
				}
			}
			if model.IsCallMarkup(quotes[0], nil) {
				t.Error("a quotation is taken for markup that was not run")
			}
		})
	}
}

// TestUnreadMarkup checks that calls in forms that are not read are recognized in an answer, also
// behind a sentence, and that a quotation of them is not.
func TestUnreadMarkup(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{{Name: "read_file"}, {Name: "read_dir"}}
	for _, markup := range []string{
		"<use_tool name=\"read_file\">\n<path>a.go</path>\n</use_tool>",
		"<tool_use>\n<name>read_file</name>\n<arguments>{}</arguments>\n</tool_use>",
		"<use_mcp_tool>\n<tool_name>x</tool_name>\n</use_mcp_tool>",
		"<function=unknown>\n<parameter=path>\na.go\n</parameter>\n</function>",
		"<function name=\"read_file\">{\"path\":\"a.go\"}</function>",
		"<functioncall> {\"name\": \"x\", \"arguments\": '{}'}",
		"[TOOL_REQUEST]\n{\"name\": \"x\", \"arguments\": {}}\n[END_TOOL_REQUEST]",
		"<longcat_tool_call>read_file\n<longcat_arg_key>path</longcat_arg_key>\n</longcat_tool_call>",
		"]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"read_file\">]<]minimax[>[<path>a.go]<]minimax[>[</path>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
		"<|open|>toolscall tool=\"read_file\" index=\"1\"<|sep|><|open|>argument key=\"path\" type=\"string\"<|sep|>a.go<|close|>call<|sep|>",
		"<invoke name=\"unknown\">\n<parameter name=\"url\">https://example.org</parameter>\n</invoke>",
		"<read_file>\n<path>a.go</path>\n</read_file>",
		"Action: read_file\nAction Input: {\"path\": \"a.go\"}",
		"✿FUNCTION✿: read_file\n✿ARGS✿: {\"path\": \"a.go\"}",
	} {
		for _, text := range []string{markup, "I look.\n\n" + markup + "\n"} {
			if !model.IsCallMarkup(text, tools) {
				t.Errorf("%q is not recognized", text)
			}
		}
		if text := "I look. " + markup; !strings.HasPrefix(markup, "Action") && !strings.HasPrefix(markup, "<read_file") && !model.IsCallMarkup(text, tools) {
			t.Errorf("%q is not recognized", text)
		}
		for _, text := range []string{"So:\n```\n" + markup + "\n```\n", "> " + strings.ReplaceAll(markup, "\n", "\n> "), "Models write `" + strings.ReplaceAll(markup, "\n", "") + "`."} {
			if model.IsCallMarkup(text, tools) {
				t.Errorf("the quotation %q is taken for markup", text)
			}
		}
	}
	for _, text := range []string{
		`{"action": "exec_command", "params": {"cmd": "ls"}}`, `{"action": "read_file", "action_input": "a.go"}`, `[read_file(path="a.go")]`,
		"```json\n{\"tool\": \"x\", \"args\": {}}\n```", "```json\n{\"name\": \"x\", \"arguments\": {}}\n```",
	} {
		if !model.IsCallMarkup(text, tools) {
			t.Errorf("%q is not recognized", text)
		}
	}
	for _, text := range []string{
		"The element <function name> is not valid.", "Use <use_tool> to call a tool. It has a name.", "See [TOOL_CALL] in the docs, please.", "<p>hi</p>", `{"name": "x", "version": "1"}`,
		"The file has \"<tool_call>\" {x}", "Action: none", "A list: [1, 2]", "<read_file> is a tag", "x = a[i]", "func f() {}",
	} {
		if model.IsCallMarkup(text, tools) {
			t.Errorf("%q is taken for markup", text)
		}
	}
}

func TestNoMarkup(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Done.", `{"a": 1}`, `[1, 2]`, "See [the docs](x).", "Use `[TOOL_CALLS]`.", "```json\n{\"name\":\"x\"}\n```", "<p>hi</p>", "Action: none"} {
		if model.IsCallMarkup(text, nil) {
			t.Errorf("%q is taken for markup", text)
		}
		for size := 1; size <= max(len(text), 1); size++ {
			if got := inline(t, offered, cut(text, size, model.FinishStop)); got.text != text || got.calls != nil {
				t.Errorf("%q became %+v", text, got)
			}
		}
	}
}

// TestThoughts checks thoughts in the forms of model families.
func TestThoughts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]inlined{
		"[THINK]hm [x][/THINK]Hello":         {reasoning: "hm [x]", text: "Hello"},
		"<seed:think>hm</seed:think>\nHello": {reasoning: "hm", text: "Hello"},
		"<|begin_of_thought|>\nhm\n<|end_of_thought|>\n\n<|begin_of_solution|>\nHello\n<|end_of_solution|>":         {reasoning: "hm\n", text: "Hello\n"},
		"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>":       {reasoning: "hm", text: "Hello"},
		"<|channel|>analysis<|message|>hm<|channel|>final<|message|>Hello":                                          {reasoning: "hm", text: "Hello"},
		"<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b": {reasoning: "ab"},
		"<|channel|>final<|message|>Hello":                                            {text: "Hello"},
		"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>": {reasoning: "hm", text: "Hello"},
		"<|channel>thought\nhm<channel|>Hello":                                        {reasoning: "hm", text: "Hello"},
		"<reasoning>hm</reasoning>\nHello":                                            {reasoning: "hm", text: "Hello"},
		"<thought>hm</thought>Hello":                                                  {reasoning: "hm", text: "Hello"},
		"Hello <reasoning>hm</reasoning>":                                             {text: "Hello <reasoning>hm</reasoning>"},
		"The tokens <|end|> and <|return|>, [THINK] too.":                             {text: "The tokens <|end|> and <|return|>, [THINK] too."},
		"hm[/THINK]\nHello":                                                           {reasoning: "hm", text: "Hello"},
		"◁think▷hm ◁ b◁/think▷Hello":                                                  {reasoning: "hm ◁ b", text: "Hello"},
		"hm\n◁/think▷Hello":                                                           {reasoning: "hm\n", text: "Hello"},
		"a ◁ b, – ◁/think▷ is a mark.":                                                {text: "a ◁ b, – ◁/think▷ is a mark."},
		"hm</reasoning>\nHello":                                                       {reasoning: "hm", text: "Hello"},
		"hm\n</thought>\nHello":                                                       {reasoning: "hm\n", text: "Hello"},
		"hm\n</reason>\n\nHello":                                                      {reasoning: "hm\n", text: "Hello"},
		"hm\n</scratchpad>Hello":                                                      {reasoning: "hm\n", text: "Hello"},
		"hm\n<channel|>Hello":                                                         {reasoning: "hm\n", text: "Hello"},
		"As XML:\n<reasoning>\nhm\n</reasoning>\nEnd":                                 {text: "As XML:\n<reasoning>\nhm\n</reasoning>\nEnd"},
		"As XML: <thought id=\"1\">hm\n</thought>\nEnd":                               {text: "As XML: <thought id=\"1\">hm\n</thought>\nEnd"},
		"```\n</reasoning>\n```\nEnd":                                                 {text: "```\n</reasoning>\n```\nEnd"},
		"It ends with </reasoning> then.":                                             {text: "It ends with </reasoning> then."},
		"hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>":       {reasoning: "hm", text: "Hello"},
		"hm<|start|>assistant<|channel|>final<|message|>Hello":                        {reasoning: "hm", text: "Hello"},
		"hm\n<|channel|>final<|message|>Hello":                                        {reasoning: "hm\n", text: "Hello"},
		"A text with `<|channel|>final<|message|>` in it":                             {text: "A text with `<|channel|>final<|message|>` in it"},
		"Hello<|channel|>analysis<|message|>hm":                                       {reasoning: "hm", text: "Hello"},
		"Hello.\n<|start|>assistant<|channel|>analysis<|message|>hm<|end|>":           {reasoning: "hm", text: "Hello.\n"},
		"Hello<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|>":       {reasoning: "hm", text: "Hello"},
		"A <|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>": {reasoning: "hm", text: "A B"},
		"A text with `<|channel|>analysis<|message|>` in it":                                                {text: "A text with `<|channel|>analysis<|message|>` in it"},
		"```\n<|channel|>analysis<|message|>hm\n```\n":                                                      {text: "```\n<|channel|>analysis<|message|>hm\n```\n"},
		"It is \"<|channel|>analysis<|message|>\".":                                                         {text: "It is \"<|channel|>analysis<|message|>\"."},
		"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello": {reasoning: "hm", text: "I look.Hello"},
	} {
		want.finish = model.FinishStop
		for size := 1; size <= len(in); size++ {
			if got := inline(t, offered, cut(in, size, model.FinishStop)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q in pieces of %d: %+v\nwant %+v", in, size, got, want)
			}
		}
	}
}

// TestOpenedByThePrompt checks the responses after a response with only the end of a thought.
func TestOpenedByThePrompt(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name":"read_dir"}</tool_call>`
	for _, tc := range []struct {
		in, reasoning, text string
		calls               int
		opened              bool
	}{
		{"hm\n</think>\n\nHello", "hm\n", "Hello", 0, true},
		{"<think>\nhm</think>Hello", "hm", "Hello", 0, true},
		{"hm</think>" + call, "hm", "", 1, true},
		{"hm</reasoning>Hello", "hm", "Hello", 0, true},
		{"hm\n</thought>\nHello", "hm\n", "Hello", 0, true},
		{"hm◁/think▷Hello", "hm", "Hello", 0, true},
		{"<reasoning>a</reasoning> ends</think>Hello", "a", "ends</think>Hello", 0, true}, // the response has the start itself
		{"I write <thought>a</thought> now.</think>Hello", "I write <thought>a</thought> now.", "Hello", 0, true},
		{"hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>", "hm", "Hello", 0, true},
		{"hm<|channel|>final<|message|>Hello", "hm", "Hello", 0, true},
		{"Hello", "Hello", "Hello", 0, false}, // the guess was wrong, so it is repeated as the answer
		{"Hello" + call, "Hello" + call, "Hello", 1, false},
	} {
		for size := 1; size <= len(tc.in); size++ {
			start := model.StartsThought
			var r model.Reply
			for d, err := range model.InlineOpened(&model.Request{Tools: offered}, true, &start, cut(tc.in, size, model.FinishStop)) {
				if err != nil {
					t.Fatal(err)
				}
				r.Add(d)
			}
			if r.Reasoning != tc.reasoning || r.Text != tc.text || len(r.Calls) != tc.calls || (start == model.StartsThought) != tc.opened {
				t.Fatalf("%q in pieces of %d: reasoning %q, text %q, %d calls, %t", tc.in, size, r.Reasoning, r.Text, len(r.Calls), start == model.StartsThought)
			}
		}
	}
}

// TestFirstWords checks responses of unknown models: a thought is not shown as text, and an
// answer is not held.
func TestFirstWords(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name":"read_dir"}</tool_call>`
	for _, tc := range []struct {
		in, reasoning, text string
		calls               int
		start               model.Start
	}{
		{"Okay, the user wants a list.\n</think>\n\nHello", "Okay, the user wants a list.\n", "Hello", 0, model.StartsThought},
		{"\nThe user asks for x. Hmm.</think>Hello", "The user asks for x. Hmm.", "Hello", 0, model.StartsThought},
		{"We need to list.\n[/THINK]Hello", "We need to list.\n", "Hello", 0, model.StartsThought},
		{"Alright, so I’m trying to see.</think>" + call, "Alright, so I’m trying to see.", "", 1, model.StartsThought},
		{"Hello", "", "Hello", 0, model.StartsUnknown},
		{"The file has two lines.", "", "The file has two lines.", 0, model.StartsUnknown},
		{"The", "", "The", 0, model.StartsUnknown},
		{"I read it." + call, "", "I read it.", 1, model.StartsUnknown},
		{"<think>Hm.</think>Hello", "Hm.", "Hello", 0, model.StartsUnknown},
		{"So, let me see.", "So, let me see.", "So, let me see.", 0, model.StartsText}, // it is repeated as the answer
	} {
		for size := 1; size <= len(tc.in); size++ {
			start, shown := model.StartsUnknown, ""
			var r model.Reply
			for d, err := range model.InlineOpened(&model.Request{Tools: offered}, true, &start, cut(tc.in, size, model.FinishStop)) {
				if err != nil {
					t.Fatal(err)
				}
				shown += d.Text
				r.Add(d)
			}
			if r.Reasoning != tc.reasoning || r.Text != tc.text || shown != tc.text || len(r.Calls) != tc.calls || start != tc.start {
				t.Fatalf("%q in pieces of %d: reasoning %q, text %q, shown %q, %d calls, %v", tc.in, size, r.Reasoning, r.Text, shown, len(r.Calls), start)
			}
		}
	}
}

// TestAnswersAreNotHeld checks the timing of an answer: each piece is yielded when it comes,
// and text comes before a later native call.
func TestAnswersAreNotHeld(t *testing.T) {
	t.Parallel()
	start, came := model.StartsUnknown, 0
	pieces := []model.Delta{{Text: "Yes"}, {Text: ", it"}, {Text: " does."}, {Text: "\nOkay, the user"}, {Call: &model.CallDelta{Name: "read_dir"}}, {Finish: model.FinishCalls}}
	in := func(yield func(model.Delta, error) bool) {
		for i, d := range pieces {
			if came < i {
				t.Errorf("piece %d of the response was held", i-1)
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	for range model.InlineOpened(&model.Request{Tools: offered}, true, &start, in) {
		came++
	}
	var kinds []string
	start = model.StartsUnknown
	for d := range model.InlineOpened(&model.Request{Tools: offered}, true, &start, func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "First, let me see the files."}, nil) && yield(pieces[4], nil) && yield(pieces[5], nil)
	}) {
		switch {
		case d.Text != "":
			kinds = append(kinds, d.Text)
		case d.Call != nil:
			kinds = append(kinds, "call")
		}
	}
	if want := []string{"First, let me see the files.", "call"}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}
