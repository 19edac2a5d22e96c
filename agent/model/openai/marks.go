package openai

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// cacheControl marks a part as the end of a prefix to cache.
type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// marksCache reports whether the provider caches only marked prefixes: Claude models through
// OpenRouter. Then texts are written as parts.
func marksCache(t *api.Target) bool {
	return t.Provider == "openrouter" && strings.Contains(strings.ToLower(t.Model), "claude") && !t.Cache.Off && t.Quirks&noMarks == 0
}

// asParts writes the text of a message with a possible mark as parts. All requests use this
// form, so a request repeats the bytes of the previous request, but for the marks.
func asParts(m *message) {
	if text, ok := m.Content.(string); ok && text != "" && m.Role != "assistant" {
		m.Content = []part{{Type: "text", Text: text}}
	}
}

// marks returns the marks of at most three items: the system prompt, the last item of the
// previous request, and the last item of this request. The previous request is in the cache;
// this request will be.
func (l *list) marks() map[int]*cacheControl {
	if !l.parts || len(l.items) == 0 {
		return nil
	}
	marks := map[int]*cacheControl{}
	reply := len(l.items) - 1
	for reply >= 0 && l.items[reply].role != string(model.Assistant) {
		reply--
	}
	l.markLast(marks, len(l.items))
	if reply > 0 {
		l.markLast(marks, reply)
	}
	if l.items[0].system {
		first := &cacheControl{Type: "ephemeral"}
		if l.target.Cache.Long {
			first.TTL = "1h"
		}
		marks[0] = first
	}
	return marks
}

// markLast marks the last suitable item of the first n.
func (l *list) markLast(marks map[int]*cacheControl, n int) {
	for i := n - 1; i >= 0; i-- {
		it := &l.items[i]
		if it.role != string(model.Assistant) && (it.system || len(it.texts) > 0 || it.from.Text() != "") {
			marks[i] = &cacheControl{Type: "ephemeral"}
			return
		}
	}
}

// setMark marks the last part of a message.
func setMark(m *message, mark *cacheControl) {
	parts, _ := m.Content.([]part)
	if len(parts) > 0 && mark != nil {
		parts[len(parts)-1].CacheControl = mark
	}
}
