package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// template knows how the last chunk of text looked around its text. In a stream
// nearly every chunk is the one before with another text in it: such a chunk is
// recognised by its bytes, and the rest need not be decoded again, which makes a
// delta several times cheaper.
type template struct {
	head, tail []byte
	thought    bool
	misses     int
}

// contentKeys are what stands before the text of a delta.
var contentKeys = [...]struct {
	key     []byte
	thought bool
}{{[]byte(`"content":"`), false}, {[]byte(`"reasoning_content":"`), true}}

const maxMisses = 50 // of an endpoint whose chunks always differ otherwise too

// match returns the delta in raw, if raw is like the chunk learned from.
func (t *template) match(raw []byte) (model.Delta, bool) {
	if len(t.head) == 0 || len(raw) < len(t.head)+len(t.tail) || !bytes.HasPrefix(raw, t.head) || !bytes.HasSuffix(raw, t.tail) {
		return model.Delta{}, false
	}
	text, ok := unquote(raw[len(t.head) : len(raw)-len(t.tail)])
	if !ok || text == "" {
		return model.Delta{}, false
	}
	if t.thought {
		return model.Delta{Reasoning: text}, true
	}
	return model.Delta{Text: text}, true
}

// learn remembers raw, which held d and nothing else that counts.
func (t *template) learn(raw []byte, d model.Delta) {
	if t.misses++; t.misses > maxMisses {
		t.head = nil
		return
	}
	for _, k := range contentKeys {
		want := d.Text
		if k.thought {
			want = d.Reasoning
		}
		i := bytes.Index(raw, k.key)
		if want == "" || i < 0 {
			continue
		}
		i += len(k.key)
		j := i + closing(raw[i:])
		if text, ok := unquote(raw[i:j]); ok && text == want {
			t.head, t.tail = append(t.head[:0], raw[:i]...), append(t.tail[:0], raw[j:]...)
			t.thought = k.thought
			return
		}
	}
}

// closing is where the JSON string ends whose inside s begins with.
func closing(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// unquote decodes the inside of a JSON string.
func unquote(inside []byte) (string, bool) {
	plain := true
	for _, c := range inside {
		if c < ' ' || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return string(inside), utf8.Valid(inside)
	}
	var text string
	quoted := append(append([]byte{'"'}, inside...), '"')
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}
