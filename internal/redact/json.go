package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// JSON redacts the strings of a JSON value: known secrets, token-shaped texts, and values
// with the name of a secret, as {"api_key": …} or {"name": "API_KEY", "value": …}. The order
// of the members stays. If the value is not JSON, it is redacted as text, and the second
// result is false.
func (s *Set) JSON(value []byte) ([]byte, bool) {
	if !json.Valid(value) {
		return []byte(s.Text(string(value))), false
	}
	s.learnFrom(value)
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	w := &rewriter{set: s, in: d}
	if err := w.value(""); err != nil {
		return []byte(s.Text(string(value))), false
	}
	return w.out.Bytes(), true
}

// rewriter copies a JSON value.
type rewriter struct {
	set *Set
	in  *json.Decoder
	out bytes.Buffer
}

// value copies the value of name. A string under a secret's name is replaced.
func (w *rewriter) value(name string) error {
	t, err := w.in.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return w.object(name)
		}
		return w.list(name)
	case string:
		switch {
		case t != "" && SecretName(name):
			t = withheld(name)
		case isCommand(name):
			t = withoutCommandSecrets(t, true, tokenMark)
		default:
			t = w.set.nested(t)
		}
		return w.text(t)
	case json.Number:
		w.out.WriteString(t.String())
	case bool:
		w.out.WriteString(map[bool]string{true: "true", false: "false"}[t])
	default:
		w.out.WriteString("null")
	}
	return nil
}

// isCommand reports whether a text under a name is a command line.
func isCommand(name string) bool {
	switch strings.ToLower(name) {
	case "command", "cmd", "commandline", "command_line":
		return true
	}
	return false
}

// nested redacts text that is itself a JSON object or list, such as the arguments of a call.
func (s *Set) nested(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return text
	}
	var plain bytes.Buffer
	if json.Compact(&plain, []byte(text)) != nil {
		return text
	}
	if hidden, _ := s.JSON([]byte(text)); !bytes.Equal(hidden, plain.Bytes()) {
		return string(hidden)
	}
	return text
}

func (w *rewriter) object(name string) error {
	w.out.WriteByte('{')
	called := "" // the member "name", for {"name": …, "value": …}
	for i := 0; w.in.More(); i++ {
		if i > 0 {
			w.out.WriteByte(',')
		}
		t, err := w.in.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // keys of objects are strings
		if err := w.text(key); err != nil {
			return err
		}
		w.out.WriteByte(':')
		under, start := key, w.out.Len()
		if key == "value" && SecretName(called) {
			under = called
		} else if SecretName(name) && key != "name" { // {"api_keys": {"x": …}}
			under = name
		}
		if err := w.value(under); err != nil {
			return err
		}
		if key == "name" {
			_ = json.Unmarshal(w.out.Bytes()[start:], &called) // no string: not a name
		}
	}
	return w.end('}')
}

func (w *rewriter) list(name string) error {
	w.out.WriteByte('[')
	for i := 0; w.in.More(); i++ {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(name); err != nil {
			return err
		}
	}
	return w.end(']')
}

func (w *rewriter) end(with byte) error {
	_, err := w.in.Token()
	w.out.WriteByte(with)
	return err
}

func (w *rewriter) text(t string) error {
	e := json.NewEncoder(&w.out)
	e.SetEscapeHTML(false)
	err := e.Encode(w.set.Text(t))
	w.out.Truncate(w.out.Len() - 1) // the newline
	return err
}

// learnFrom searches for names of secrets first, to find a value before its name, too.
func (s *Set) learnFrom(value []byte) {
	if !bytes.Contains(value, []byte(`"`)) {
		return
	}
	var tree any
	if json.Unmarshal(value, &tree) == nil {
		s.walk("", tree)
	}
}

func (s *Set) walk(name string, v any) {
	switch v := v.(type) {
	case string:
		if SecretName(name) {
			s.learn(name, v)
		}
		if isCommand(name) {
			for _, f := range inCommands(v, true) {
				s.learn("of a command", v[f.start:f.end])
			}
		}
	case []any:
		for _, x := range v {
			s.walk(name, x)
		}
	case map[string]any:
		called, _ := v["name"].(string)
		for key, x := range v {
			under := key
			if key == "value" && SecretName(called) {
				under = called
			}
			s.walk(under, x)
		}
	}
}

// Writer redacts each line written to out. A write is one or several whole lines, as the handlers
// of log/slog write them.
func (s *Set) Writer(out io.Writer) io.Writer { return lineWriter{s, out} }

type lineWriter struct {
	set *Set
	out io.Writer
}

func (w lineWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.out, w.set.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Args redacts the arguments of a program: --token VALUE, --api-key=VALUE.
func (s *Set) Args(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		flag, _, assigned := strings.Cut(arg, "=")
		switch {
		case assigned && flagName(flag):
			out[i] = flag + "=" + withheld(strings.TrimLeft(flag, "-"))
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && flagName(args[i-1]):
			out[i] = withheld(strings.TrimLeft(args[i-1], "-"))
		default:
			out[i] = s.Text(arg)
		}
	}
	return out
}

func flagName(flag string) bool {
	name := strings.TrimLeft(flag, "-")
	return SecretName(name) || strings.EqualFold(name, "token") || strings.EqualFold(name, "key")
}

// Meaning returns a copy of a tree of settings without possible secrets, whatever their form:
// values of environments and headers, arguments after a flag that names a secret, and in addresses
// the password, the query values and the fragment.
func (s *Set) Meaning(tree any) any { return s.meaning("", tree) }

func (s *Set) meaning(key string, tree any) any {
	switch x := tree.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, value := range x {
			list, isList := value.([]any)
			program, _ := x["command"].(string)
			switch _, nested := value.(map[string]any); {
			case isList && name == "args" && !givesValues(key):
				out[name] = s.list(name, program, list)
			case !givesValues(key):
				out[name] = s.meaning(name, value)
			case nested:
				out[name] = s.meaning(key, value)
			default:
				out[name] = "[withheld]"
			}
		}
		return out
	case []any:
		return s.list(key, "", x)
	case string:
		if givesValues(key) {
			if name, _, ok := strings.Cut(x, "="); ok {
				return name + "=[withheld]"
			}
			return "[withheld]"
		}
		return s.Line(x)
	}
	return tree
}

// givesValues reports whether the members below a key are variables or headers, which anything may be in.
func givesValues(key string) bool {
	switch key = strings.ToLower(key); {
	case key == "env", key == "environment", key == "environ", strings.HasSuffix(key, "headers"), strings.HasSuffix(key, "_env"):
		return true
	}
	return false
}

// list withholds in a list, which may have the words of a command line, with or without the program.
func (s *Set) list(key, program string, x []any) any {
	words := make([]string, len(x))
	for i, value := range x {
		word, ok := value.(string)
		if !ok || givesValues(key) {
			words = nil
			break
		}
		words[i] = word
	}
	out := make([]any, len(x))
	for i, value := range x {
		if words == nil {
			out[i] = s.meaning(key, value)
		} else {
			out[i] = s.Line(words[i])
		}
	}
	if words != nil {
		for i, word := range s.Args(words) {
			if word != s.Text(words[i]) { // by the flag before it
				out[i] = word
			}
		}
		s.inWords(program, words, out)
	}
	return out
}

// inWords withholds the secrets of a command line in its words.
func (s *Set) inWords(program string, words []string, out []any) {
	line := filepath.Base(program)
	ends := make([]int, len(words)) // of the words in the line
	for i, word := range words {
		if strings.ContainsAny(word, " \t") {
			word = `"` + word + `"`
		}
		line += " " + word
		ends[i] = len(line)
	}
	for _, f := range inCommands(line, true) {
		i, _ := slices.BinarySearch(ends, f.end)
		if i == len(words) {
			continue
		}
		if word, ok := out[i].(string); ok && !strings.Contains(word, "withheld") {
			out[i] = strings.Replace(words[i], line[f.start:f.end], "[withheld]", 1)
		}
	}
}

// wordInLine are the words of a command line, with their quotes.
var wordInLine = regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`)

// Line returns a text, which may be an address or a command line, without the parts withheld by
// [Set.Meaning].
func (s *Set) Line(text string) string {
	before, header := "", false
	given := text
	text = withoutCommandSecrets(text, true, "[withheld]")
	return s.Text(wordInLine.ReplaceAllStringFunc(text, func(word string) string {
		bare := strings.Trim(word, `"'`)
		last, isHeader := before, header
		before, header = bare, bare == "-H" || bare == "--header"
		switch name, _, assigned := strings.Cut(bare, "="); {
		case isHeader:
			name, _, _ := strings.Cut(bare, ":")
			return name + ": [withheld]"
		case bare != given && bare != "" && (last == "-u" || last == "--user"), strings.HasPrefix(last, "-") && !strings.Contains(last, "=") && flagName(last) && bare != given:
			return withheld(strings.TrimLeft(last, "-"))
		case assigned && flagName(name):
			return name + "=" + withheld(strings.TrimLeft(name, "-"))
		case strings.Contains(bare, "://"):
			return strings.Replace(word, bare, address(bare), 1)
		}
		return word
	}))
}
