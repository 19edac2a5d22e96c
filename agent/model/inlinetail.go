package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// match returns the match of an expression at the start of a text, or "".
func match(r *lazyregexp.Regexp, s string) string {
	if m := r.FindStringSubmatch(s); m != nil {
		return m[0]
	}
	return ""
}

// tailOpeners start markup of calls in the model families' templates. It extends to the end of
// the response.
var tailOpeners = []string{
	"<|python_tag|>",                                                    // Llama
	"[TOOL_CALLS]",                                                      // Mistral
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<|DSML|", // DeepSeek
	"<|tool▁calls▁begin|>", "<｜tool_calls_begin｜>", "<|tool_calls_begin|>", // and copies of it
	"<minimax:tool_call>", "<tool_calls>", "<function_calls>", "<function_call>", "<invoke name=",
	"<|channel|>commentary to=", "<|start|>assistant<|channel|>commentary to=", "<|start|>assistant to=", "<|start|>functions.", // harmony
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", // Kimi
	"<|tool_call|>", "<|tool_call>", "<|tool_call_start|>", "<start_function_call>", // Granite, Phi, LFM, Gemma
	"<|START_ACTION|>", "<|action_start|>", "<|tools_prefix|>", // Command, InternLM, Apertus
	"<TOOLCALL>", "<seed:tool_call>", "<steptml:invoke", // Nemotron, Seed, Step
}

// bareOpeners start calls without special tokens. They must start the response.
var bareOpeners = []string{"{", "[", "functools[", "Action: ```json", "Action:\n```json"}

// longestTail limits the text held until the end of the response.
const longestTail = 1 << 20

func tailViable(body []byte, _ map[string]bool) bool { return len(body) < longestTail }

func noCut([]byte, map[string]bool) ([]Call, bool) { return nil, false }

// Forms up to the end of the response.
var (
	tail     = form{"", "", tailViable, parseTail, noCut}
	bare     = form{"", "", viableBare, parseBare, noCut}
	toolCode = form{"```tool_code", "", tailViable, parseCode, noCut}
)

var functionNames = lazyregexp.New(`^\[\s*([A-Za-z_][\w.-]*)?(\()?`)

// viableBare reports whether a response with this start may be a bare call of an offered tool.
func viableBare(body []byte, offered map[string]bool) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	for _, opener := range bareOpeners[2:] {
		if begins(body, opener) {
			return len(body) < longestTail
		}
	}
	switch {
	case len(body) == 0:
		return true
	case len(body) > longestTail:
		return false
	case body[0] == '{':
		return viableNamed(body, offered)
	case body[0] != '[':
		return false
	}
	rest := bytes.TrimLeft(body[1:], " \t\r\n")
	if len(rest) == 0 || rest[0] == '{' {
		return len(rest) == 0 || viableNamed(rest, offered)
	}
	m := functionNames.FindSubmatch(body)
	return m != nil && len(m[1]) > 0 && offers(offered, m[1], len(m[2]) > 0) && (len(m[2]) > 0 || len(m[0]) == len(body))
}

// viableNamed is viableObject for the keys of more families.
func viableNamed(body []byte, offered map[string]bool) bool {
	rest := bytes.TrimLeft(body, " \t\r\n")
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	for _, key := range []string{`"tool_name"`, `"tool_call_id"`, `"parameters"`} {
		if begins(rest, key) {
			return true
		}
	}
	return viableObject(body, offered)
}

// parseBare parses a response with nothing but calls.
func parseBare(body []byte, offered map[string]bool) ([]Call, bool) {
	text := strings.TrimSpace(string(body))
	for _, opener := range bareOpeners[2:] {
		if rest, ok := strings.CutPrefix(text, opener); ok {
			text = strings.TrimSpace(rest)
			if opener == "functools[" {
				text = "[" + text
			}
			text = strings.TrimSuffix(text, "```")
		}
	}
	return parseTail([]byte(text), offered)
}

// parseCode parses a block of code with function calls, in Gemma's form.
func parseCode(body []byte, offered map[string]bool) ([]Call, bool) {
	text := strings.TrimSpace(string(body))
	text = strings.TrimSpace(strings.TrimSuffix(text, "```"))
	var calls []Call
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if inner, ok := strings.CutPrefix(line, "print("); ok {
			line = strings.TrimSuffix(inner, ")")
		}
		s := &tailScanner{rest: line, offered: offered}
		if !s.all() {
			return nil, false
		}
		calls = append(calls, s.calls...)
	}
	return calls, len(calls) > 0
}

// parseTail parses the markup of calls up to the end of a response. There may be nothing else.
func parseTail(body []byte, offered map[string]bool) ([]Call, bool) {
	s := &tailScanner{rest: string(body), offered: offered}
	return s.calls, s.all() && len(s.calls) > 0
}

// tailScanner reads markup of calls. Special tokens separate its parts.
type tailScanner struct {
	rest    string
	offered map[string]bool // nil: any name
	calls   []Call
}

var (
	// separator matches special tokens, wrappers, and the words between them.
	separator = lazyregexp.New(`^(?:\s+|;|,|</?s>|<eos>|<end_of_turn>|<[|｜][^<>|｜]{0,40}[|｜]?>|<[^<>|｜\s/]{1,20}\|>|\[(?:TOOL_CALLS|/TOOL_CALLS|ARGS)\]|\[CALL_ID\]\w{0,64}|` +
		`</?(?:[a-z]{1,12}:)?(?:tool_calls?|function_calls?|TOOLCALL|start_function_call|end_function_call)>|</?[|｜]DSML[|｜](?:function_calls|tool_calls)>|` +
		"```(?:json)?|(?:assistant|commentary|analysis|json|code|function)(?:\\s|[<])|to=)")
	invoke      = lazyregexp.New(`^<([a-z]+:|[|｜]DSML[|｜])?invoke\s+name="?([\w.:-]+)"?\s*>`)
	parameter   = lazyregexp.New(`^\s*<(?:[a-z]+:|[|｜]DSML[|｜])?parameter\s+name="?([^">]+)"?(\s+string="(?:true|false)")?\s*>`)
	toolWord    = lazyregexp.New(`^(?:call:)?([A-Za-z_][\w.:-]*)`)
	betweenArgs = lazyregexp.New("^(?:\\s+|<[|｜][^<>|｜]{0,40}[|｜]>|<[^<>|｜\\s/]{1,20}\\|>|\\[ARGS\\]|\\[CALL_ID\\]\\w{0,64}|```(?:json)?|(?:json|commentary|analysis|code)\\b)")
)

// all reads everything. If a part is no call, it returns false.
func (s *tailScanner) all() bool {
	for s.rest != "" {
		if m := match(separator, s.rest); m != "" {
			s.rest = s.rest[len(m)-strings.Count(m[len(m)-1:], "<"):]
			continue
		}
		if !s.one() {
			return false
		}
	}
	return true
}

// one reads a call or a list of calls.
func (s *tailScanner) one() bool {
	switch {
	case s.rest[0] == '{':
		return s.objects()
	case s.rest[0] == '[':
		if s.objects() {
			return true
		}
		s.rest = s.rest[1:]
		for {
			s.rest = strings.TrimLeft(s.rest, " \t\r\n,")
			if rest, ok := strings.CutPrefix(s.rest, "]"); ok {
				s.rest = rest
				return true
			}
			if !s.word() {
				return false
			}
		}
	case invoke.MatchString(s.rest):
		return s.invoked()
	case strings.HasPrefix(s.rest, function.open):
		body, rest, ok := strings.Cut(s.rest[len(function.open):], function.close)
		calls, parsed := parseFunction([]byte(body), s.names(body))
		s.rest, s.calls = rest, append(s.calls, calls...)
		return ok && parsed
	}
	return s.word()
}

// names returns the offered names. If any name is permitted, it returns the name at the start
// of body.
func (s *tailScanner) names(body string) map[string]bool {
	if s.offered != nil {
		return s.offered
	}
	name, _, _ := strings.Cut(body, ">")
	return map[string]bool{name: true}
}

// named adds a call, if its tool is offered.
func (s *tailScanner) named(name, args string) bool {
	name = strings.TrimSuffix(name, ".")
	for _, prefix := range []string{"functions.", "function.", "default_api.", "tools.", "repo_browser."} {
		if short, ok := strings.CutPrefix(name, prefix); ok && !s.offered[name] {
			name = short
		}
	}
	if short, _, ok := strings.Cut(name, ":"); ok && !s.offered[name] { // functions.x:0
		name = short
	}
	if short, ok := strings.CutSuffix(name, ".call"); ok && !s.offered[name] {
		name = short
	}
	if name == "" || s.offered != nil && !s.offered[name] {
		return false
	}
	s.calls = append(s.calls, Call{Name: name, Args: args})
	return true
}

// objects reads a JSON value: a call or a list of calls.
func (s *tailScanner) objects() bool {
	dec := json.NewDecoder(strings.NewReader(s.rest))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return false
	}
	var list []map[string]json.RawMessage
	if raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return false
	}
	for _, fields := range list {
		if !s.object(fields) {
			return false
		}
	}
	s.rest = s.rest[dec.InputOffset():]
	return true
}

// object reads a call in the form of a JSON object: {"name": …, "arguments": …}, or {"x": {…}}.
func (s *tailScanner) object(fields map[string]json.RawMessage) bool {
	var inner map[string]json.RawMessage
	if fields["function"] != nil && json.Unmarshal(fields["function"], &inner) == nil {
		return s.object(inner)
	}
	args, known := "{}", 0
	var name string
	for key, value := range fields {
		switch key {
		case "name", "tool_name", "function", "tool":
			if json.Unmarshal(value, &name) != nil {
				return false
			}
		case "arguments", "parameters", "args", "input":
			if args = string(value); args == "null" {
				args = "{}"
			}
			var text string
			if json.Unmarshal(value, &text) == nil && text != "" {
				args = text
			}
		case "id", "type", "tool_call_id", "index":
		default:
			known = 2
		}
		known++
	}
	if name == "" && len(fields) == 1 {
		for key, value := range fields {
			if value[0] == '{' {
				return s.named(key, string(value))
			}
		}
	}
	return known < 6 && name != "" && s.named(name, args)
}

// invoked reads a call in XML with named parameters.
func (s *tailScanner) invoked() bool {
	m := invoke.FindStringSubmatch(s.rest)
	s.rest = s.rest[len(m[0]):]
	pairs := []string{}
	for {
		p := parameter.FindStringSubmatch(s.rest)
		if p == nil {
			break
		}
		value, rest, ok := strings.Cut(s.rest[len(p[0]):], "</"+m[1]+"parameter>")
		if !ok {
			return false
		}
		text := quote(trimLines(value))
		if strings.Contains(p[2], "false") && json.Valid([]byte(value)) {
			text = []byte(value)
		}
		pairs = append(pairs, string(quote(p[1]))+":"+string(text))
		s.rest = rest
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(s.rest, " \t\r\n"), "</"+m[1]+"invoke>")
	s.rest = rest
	return ok && s.named(m[2], "{"+strings.Join(pairs, ",")+"}")
}

func trimLines(value string) string {
	return strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
}

// word reads a call with the name of its tool first.
func (s *tailScanner) word() bool {
	m := toolWord.FindStringSubmatch(s.rest)
	if m == nil {
		return false
	}
	rest := s.rest[len(m[0]):]
	for between := match(betweenArgs, rest); between != ""; between = match(betweenArgs, rest) {
		rest = rest[len(between):]
	}
	switch {
	case strings.HasPrefix(m[0], "call:") && strings.HasPrefix(rest, "{"):
		args, after, ok := gemmaArgs(rest)
		s.rest = after
		return ok && s.named(m[1], args)
	case strings.HasPrefix(rest, "{"):
		dec := json.NewDecoder(strings.NewReader(rest))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return false
		}
		s.rest = rest[dec.InputOffset():]
		return s.named(m[1], string(raw))
	case strings.HasPrefix(rest, "("):
		args, after, ok := pythonArgs(rest[1:])
		s.rest = after
		return ok && s.named(m[1], args)
	case strings.HasPrefix(rest, "<arg_key>"):
		args, after, ok := pairedArgs(rest)
		s.rest = after
		return ok && s.named(m[1], args)
	}
	return false
}

// pairedArgs reads <arg_key>a</arg_key><arg_value>b</arg_value>…
func pairedArgs(s string) (args, rest string, ok bool) {
	var pairs []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		inner, found := strings.CutPrefix(s, "<arg_key>")
		if !found {
			return "{" + strings.Join(pairs, ",") + "}", s, true
		}
		key, after, ok1 := strings.Cut(inner, "</arg_key>")
		after, ok2 := strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), "<arg_value>")
		value, after, ok3 := strings.Cut(after, "</arg_value>")
		if !ok1 || !ok2 || !ok3 {
			return "", "", false
		}
		pairs = append(pairs, string(quote(strings.TrimSpace(key)))+":"+string(quote(trimLines(value))))
		s = after
	}
}

// pythonArgs reads the arguments of a Python call, such as a="x", b=[1, True]).
func pythonArgs(s string) (args, rest string, ok bool) {
	var pairs []string
	for {
		s = strings.TrimLeft(s, " \t\r\n,")
		if rest, done := strings.CutPrefix(s, ")"); done {
			return "{" + strings.Join(pairs, ",") + "}", rest, true
		}
		m := match(toolWord, s)
		after, equals := strings.CutPrefix(strings.TrimLeft(s[len(m):], " "), "=")
		if m == "" || !equals {
			return "", "", false
		}
		value, after, ok := pythonValue(strings.TrimLeft(after, " "), 0)
		if !ok {
			return "", "", false
		}
		pairs = append(pairs, string(quote(m))+":"+value)
		s = after
	}
}

var (
	number  = lazyregexp.New(`^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`)
	words   = map[string]string{"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
	escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': `"`, '\n': ""}
)

// pythonValue converts a Python literal to JSON.
func pythonValue(s string, depth int) (value, rest string, ok bool) {
	if s == "" || depth > 32 {
		return "", "", false
	}
	switch c := s[0]; {
	case c == '"' || c == '\'':
		return pythonString(s)
	case c == '[' || c == '{':
		return pythonList(s, depth)
	}
	if m := match(number, s); m != "" {
		return m, s[len(m):], json.Valid([]byte(m))
	}
	for word, is := range words {
		if after, found := strings.CutPrefix(s, word); found {
			return is, after, true
		}
	}
	return "", "", false
}

func pythonString(s string) (value, rest string, ok bool) {
	q := s[:1]
	if long := strings.Repeat(q, 3); strings.HasPrefix(s, long) {
		text, rest, ok := strings.Cut(s[3:], long)
		return string(quote(text)), rest, ok
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == q[0]:
			return string(quote(b.String())), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
			if is, known := escapes[s[i]]; known {
				b.WriteString(is)
			} else {
				b.WriteString(s[i-1 : i+1])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// pythonList converts a list or a dictionary.
func pythonList(s string, depth int) (value, rest string, ok bool) {
	end, object := "]", s[0] == '{'
	if object {
		end = "}"
	}
	var parts []string
	for s = s[1:]; ; {
		s = strings.TrimLeft(s, " \t\r\n,")
		if rest, done := strings.CutPrefix(s, end); done {
			inner := strings.Join(parts, ",")
			if object {
				return "{" + inner + "}", rest, true
			}
			return "[" + inner + "]", rest, true
		}
		one, after, ok := pythonValue(s, depth+1)
		if !ok {
			return "", "", false
		}
		if object {
			after, ok = strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), ":")
			member, then, fits := pythonValue(strings.TrimLeft(after, " \t\r\n"), depth+1)
			if !ok || !fits || one[0] != '"' {
				return "", "", false
			}
			one, after = one+":"+member, then
		}
		parts = append(parts, one)
		s = after
	}
}

// gemmaQuotes enclose the texts in Gemma's calls.
var gemmaQuotes = []string{"<escape>", `<|"|>`}

// gemmaArgs reads {a:<escape>text<escape>,b:3}.
func gemmaArgs(s string) (args, rest string, ok bool) {
	var pairs []string
	for s = s[1:]; ; {
		s = strings.TrimLeft(s, " \t\r\n,")
		if rest, done := strings.CutPrefix(s, "}"); done {
			return "{" + strings.Join(pairs, ",") + "}", rest, true
		}
		key, after, ok := strings.Cut(s, ":")
		if !ok || strings.ContainsAny(key, "{}<>") {
			return "", "", false
		}
		value, done := "", false
		for _, q := range gemmaQuotes {
			if inner, quoted := strings.CutPrefix(after, q); quoted {
				text, then, ends := strings.Cut(inner, q)
				if !ends {
					return "", "", false
				}
				value, after, done = string(quote(text)), then, true
			}
		}
		if !done {
			if value, after, ok = pythonValue(after, 0); !ok {
				return "", "", false
			}
		}
		pairs = append(pairs, string(quote(strings.Trim(key, `"`)))+":"+value)
		s = after
	}
}
