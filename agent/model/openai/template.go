package openai

import (
	"bytes"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// template stores the bytes around the text of the last text chunk. In a stream, most
// chunks differ only in their text. If the bytes around it are the same, only the text is
// decoded, which makes a delta several times cheaper.
type template struct {
	head, tail []byte
	thought    bool
	misses     int
}

// contentKeys are the keys that precede the text of a delta.
var contentKeys = [...]struct {
	key     []byte
	thought bool
}{{[]byte(`"content":"`), false}, {[]byte(`"reasoning_content":"`), true}}

const maxMisses = 50 // misses after which an endpoint's chunks are too diverse

// match returns the delta in raw. If raw does not match the template, or contains no text, it
// returns false.
func (t *template) match(raw []byte) (model.Delta, bool) {
	if len(t.head) == 0 || len(raw) < len(t.head)+len(t.tail) || !bytes.HasPrefix(raw, t.head) || !bytes.HasSuffix(raw, t.tail) {
		return model.Delta{}, false
	}
	text, ok := api.Unquote(raw[len(t.head) : len(raw)-len(t.tail)])
	if !ok || text == "" {
		return model.Delta{}, false
	}
	if t.thought {
		return model.Delta{Reasoning: text}, true
	}
	return model.Delta{Text: text}, true
}

// learn stores the bytes of raw around the text of d. The chunk must contain only d. After
// maxMisses calls without a match, it disables the template.
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
		j := i + api.Closing(raw[i:])
		if text, ok := api.Unquote(raw[i:j]); ok && text == want {
			t.head, t.tail = append(t.head[:0], raw[:i]...), append(t.tail[:0], raw[j:]...)
			t.thought = k.thought
			return
		}
	}
}
