package client

import "strings"

const defaultWindow = 128000

// window returns the context window of the longest known prefix of a model's id. The id
// may have the vendor's name and a slash before it. If no prefix is known, window returns
// defaultWindow.
func window(id string) int {
	id = strings.ToLower(id)
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	best, size := 0, defaultWindow
	for _, w := range windows {
		if len(w.prefix) > best && strings.HasPrefix(id, w.prefix) {
			best, size = len(w.prefix), w.tokens
		}
	}
	return size
}

// windows are the published context windows, in tokens. Local servers often run a model
// with a smaller one; for these, model.context_window is set.
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
