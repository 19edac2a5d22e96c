package catalog

import (
	"slices"
	"strings"
)

// Facts are facts about a model from all tables. A zero field is unknown.
type Facts struct {
	Window, Output int // tokens
	Images         *bool
	Efforts        []string
	Price          *Price
}

// About returns the facts about a model: the result of [Lookup], else the facts shared by every
// model with such an id, at any provider.
func About(provider, id string) Facts {
	if m, known := Lookup(provider, id); known {
		return Facts{m.Window, m.Output, &m.Images, m.Efforts, m.Price}
	}
	id = strings.ToLower(id)
	id = id[strings.LastIndexByte(id, '/')+1:] // without the vendor's name
	return Facts{Window: windowOf(id), Images: imagesOf(id)}
}

// windowOf returns the context window of the longest known prefix of an id. If no prefix is known, it returns 0.
func windowOf(id string) int {
	best, size := 0, 0
	for _, w := range windows {
		if len(w.prefix) > best && strings.HasPrefix(id, w.prefix) {
			best, size = len(w.prefix), w.tokens
		}
	}
	return size
}

// imagesOf returns whether a model accepts images. If the id is unknown, it returns nil.
func imagesOf(id string) *bool {
	yes, no := true, false
	begins := func(prefix string) bool { return strings.HasPrefix(id, prefix) }
	switch {
	case slices.ContainsFunc(blindModels[:], begins):
		return &no
	case slices.ContainsFunc(seeingModels[:], begins), strings.Contains(id, "vision"), strings.Contains(id, "-vl"), strings.Contains(id, "llava"):
		return &yes
	default:
		return nil
	}
}

// windows are the published context windows, in tokens. Local servers often run a model with a
// smaller window; for these, model.context_window is set.
var windows = [...]struct {
	prefix string
	tokens int
}{
	{"gpt-5", 400000}, {"gpt-5-chat", 128000}, {"gpt-4.1", 1047576}, {"gpt-4o", 128000}, {"gpt-4-turbo", 128000}, {"gpt-4", 8192},
	{"gpt-3.5", 16385}, {"gpt-oss", 131072}, {"o1", 200000}, {"o1-mini", 128000}, {"o3", 200000}, {"o4-mini", 200000}, {"codex-mini", 200000},
	{"claude-", 200000}, {"gemini-", 1048576}, {"gemma-3", 131072}, {"gemma3", 131072},
	{"grok-4", 256000}, {"grok-4-fast", 2000000}, {"grok-code", 256000}, {"grok-3", 131072},
	{"deepseek-", 131072}, {"kimi-k2", 262144}, {"moonshot-v1-8k", 8192}, {"moonshot-v1-32k", 32768}, {"moonshot-v1-128k", 131072},
	{"glm-4.5", 131072}, {"glm-4.6", 202752}, {"minimax-m1", 1000000}, {"minimax-m2", 204800},
	{"qwen3", 131072}, {"qwen3-coder", 262144}, {"qwen2.5", 32768}, {"qwen2.5-coder", 131072}, {"qwq", 131072},
	{"llama-3.1", 131072}, {"llama-3.2", 131072}, {"llama-3.3", 131072}, {"llama3.1", 131072}, {"llama3.2", 131072}, {"llama3.3", 131072},
	{"llama-4-scout", 1048576}, {"llama-4-maverick", 1048576}, {"llama-3", 8192}, {"llama3", 8192},
	{"hermes-3", 131072}, {"hermes-4", 131072}, {"hermes3", 131072}, {"hermes4", 131072},
	{"mistral-large", 131072}, {"mistral-medium", 131072}, {"mistral-small", 131072}, {"codestral", 262144}, {"devstral", 131072}, {"mistral-7b", 32768},
	{"phi-4", 16384}, {"phi4", 16384}, {"command-r", 131072}, {"command-a", 262144},
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
