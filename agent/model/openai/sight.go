package openai

import (
	"context"
	"strings"
)

// Sees reports whether the first endpoint's model is known to take pictures: by what
// the endpoint says, which is asked once, else by its name.
func (m *Model) Sees(ctx context.Context) bool {
	if len(m.endpoints) == 0 {
		return false
	}
	e := m.endpoints[0]
	if sees(e.Model) {
		return true
	}
	e.ask(ctx)
	return e.told().sees
}

// sees knows models that take pictures, by their id with or without the vendor's
// name. One that is not known is not sent any: it would refuse the whole
// conversation.
func sees(id string) bool {
	id = strings.ToLower(id)
	id = id[strings.LastIndexByte(id, '/')+1:]
	for _, blind := range blindModels {
		if strings.HasPrefix(id, blind) {
			return false
		}
	}
	for _, seeing := range seeingModels {
		if strings.HasPrefix(id, seeing) {
			return true
		}
	}
	return strings.Contains(id, "vision") || strings.Contains(id, "-vl") || strings.Contains(id, "llava")
}

// seeingModels are beginnings of ids, blindModels exceptions to them.
var (
	seeingModels = [...]string{
		"gpt-4o", "gpt-4.1", "gpt-4-turbo", "gpt-5", "chatgpt-4o", "o1", "o3", "o4-mini", "codex-mini",
		"claude-", "gemini-", "gemma-3", "gemma3", "grok-4", "llama-4", "llama4", "pixtral", "mistral-medium-3",
		"mistral-small-3", "mistral-small3", "qwen2.5vl", "qwen3vl", "qwen-vl", "kimi-k2.5", "glm-4.5v", "glm-4.6v",
		"minicpm-v", "moondream", "internvl", "phi-4-multimodal",
	}
	blindModels = [...]string{
		"o1-mini", "o1-preview", "o3-mini", "claude-2", "claude-instant", "gemma-3-1b", "gemma3:1b", "gemma-3-270m", "gemma3:270m",
		"gpt-4o-audio", "gpt-4o-mini-audio", "mistral-small-3-", "grok-4-code",
	}
)
