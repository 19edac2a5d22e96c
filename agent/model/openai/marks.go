package openai

import "strings"

// cacheControl marks a part as the end of a prefix that the provider caches.
type cacheControl struct {
	Type string `json:"type"`
}

// marksCache reports whether the provider caches only marked prefixes: Claude models through
// OpenRouter.
func (e *endpoint) marksCache() bool {
	return e.Provider == "openrouter" && strings.Contains(strings.ToLower(e.Model), "claude")
}

// asParts writes the texts of messages that can have a mark as parts. All requests have this
// form, so a request repeats the bytes of the previous one, but for the marks.
func asParts(messages []message) {
	for i := range messages {
		m := &messages[i]
		if text, ok := m.Content.(string); ok && text != "" && m.Role != "assistant" {
			m.Content = []part{{Type: "text", Text: text}}
		}
	}
}

// mark marks at most three parts: the system prompt, the last part of the previous request,
// which the cache has, and the last part of this one, for the next.
func mark(messages []message) {
	reply := len(messages) - 1
	for reply >= 0 && messages[reply].Role != "assistant" {
		reply--
	}
	markLast(messages)
	if reply > 0 {
		markLast(messages[:reply])
	}
	if len(messages) > 0 && messages[0].Role == "system" {
		markLast(messages[:1])
	}
}

// markLast marks the last part of messages that can have a mark.
func markLast(messages []message) {
	for i := len(messages) - 1; i >= 0; i-- {
		parts, _ := messages[i].Content.([]part)
		for j := len(parts) - 1; j >= 0; j-- {
			if p := &parts[j]; p.Text != "" || p.ImageURL != nil {
				p.CacheControl = &cacheControl{"ephemeral"}
				return
			}
		}
	}
}
