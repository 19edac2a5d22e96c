package redact

import (
	"bytes"
	"encoding/json"
	"io"
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

// value copies one value, which stands under a name. A string under a telling name is
// replaced.
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
		if t != "" && SecretName(name) {
			t = withheld(name)
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

// learnFrom looks for telling names first, so that a value is also found before its name.
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

// Writer redacts each line that is written to out. A write is one or several whole lines,
// as the handlers of log/slog write them.
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
