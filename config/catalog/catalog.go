// Package catalog contains the known providers and facts about their models: context windows,
// prices, levels of effort. It reads nothing before the first question about a model.
package catalog

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Provider is a service that runs models.
type Provider struct {
	Name    string
	API     string   // chat, responses, messages or gemini
	BaseURL string   // empty: the user sets it, because it contains a personal part
	Keys    []string // environment variables with its key; the first nonempty variable is used
	NoKey   bool     // it needs no key
	Slashes bool     // ids of its models have slashes
	Model   string   // the default model
	host    string   // end of the host of a user's address at the service
}

// At reports whether an address belongs to the provider, so its key can be sent there.
func (p Provider) At(u *url.URL) bool {
	if p.BaseURL == "" {
		return u.Scheme == "https" && p.host != "" && strings.HasSuffix(u.Hostname(), p.host)
	}
	table, err := url.Parse(p.BaseURL)
	return err == nil && table.Scheme == u.Scheme && strings.EqualFold(table.Host, u.Host)
}

// providers is the table of the contract, in the order in which `auto` looks for a key.
var providers = []Provider{
	{Name: "openai", API: "responses", Model: "gpt-5", BaseURL: "https://api.openai.com/v1", Keys: []string{"OPENAI_API_KEY"}},
	{Name: "anthropic", API: "messages", Model: "claude-sonnet-4-6", BaseURL: "https://api.anthropic.com", Keys: []string{"ANTHROPIC_API_KEY"}},
	{Name: "gemini", API: "gemini", Model: "gemini-3.1-pro-preview", BaseURL: "https://generativelanguage.googleapis.com/v1beta", Keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}},
	{Name: "openrouter", API: "chat", Model: "openai/gpt-5", Slashes: true, BaseURL: "https://openrouter.ai/api/v1", Keys: []string{"OPENROUTER_API_KEY"}},
	{Name: "deepseek", API: "chat", Model: "deepseek-v4-pro", BaseURL: "https://api.deepseek.com/v1", Keys: []string{"DEEPSEEK_API_KEY"}},
	{Name: "xai", API: "chat", Model: "grok-4.20", BaseURL: "https://api.x.ai/v1", Keys: []string{"XAI_API_KEY"}},
	{Name: "nvidia", API: "chat", Slashes: true, BaseURL: "https://integrate.api.nvidia.com/v1", Keys: []string{"NVIDIA_API_KEY"}},
	{Name: "huggingface", API: "chat", Model: "moonshotai/Kimi-K2.5:fireworks-ai", Slashes: true, BaseURL: "https://router.huggingface.co/v1", Keys: []string{"HF_TOKEN"}},
	{Name: "zai", API: "chat", Model: "glm-4.7", BaseURL: "https://api.z.ai/api/paas/v4", Keys: []string{"GLM_API_KEY", "ZAI_API_KEY"}},
	{Name: "kimi-coding", API: "chat", BaseURL: "https://api.moonshot.ai/v1", Keys: []string{"KIMI_API_KEY"}},
	{Name: "alibaba", API: "chat", BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Keys: []string{"DASHSCOPE_API_KEY"}},
	{Name: "groq", API: "chat", Model: "moonshotai/kimi-k2-instruct-0905", Slashes: true, BaseURL: "https://api.groq.com/openai/v1", Keys: []string{"GROQ_API_KEY"}},
	{Name: "minimax", API: "messages", Model: "MiniMax-M2.7", BaseURL: "https://api.minimax.io/anthropic", Keys: []string{"MINIMAX_API_KEY"}},
	{Name: "kimi", API: "messages", Model: "kimi-for-coding", BaseURL: "https://api.kimi.com/coding", Keys: []string{"KIMI_CODING_API_KEY"}},
	{Name: "ollama", API: "chat", Slashes: true, BaseURL: "http://127.0.0.1:11434/v1", NoKey: true},
	{Name: "lmstudio", API: "chat", Slashes: true, BaseURL: "http://127.0.0.1:1234/v1", NoKey: true},
	{Name: "azure", API: "responses", Keys: []string{"AZURE_OPENAI_API_KEY"}, host: ".openai.azure.com"},
	{Name: "foundry", API: "messages", Keys: []string{"ANTHROPIC_FOUNDRY_API_KEY"}, host: ".services.ai.azure.com"},
	{Name: "bedrock", API: "messages", Keys: []string{"AWS_BEARER_TOKEN_BEDROCK"}, host: ".api.aws"},
}

// Providers returns the known providers, in the order in which `auto` looks for a key.
func Providers() []Provider { return slices.Clone(providers) }

// Find returns the provider with a name.
func Find(name string) (Provider, bool) {
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return providers[i], true
}

// Model holds the facts about a model. A zero field is unknown.
type Model struct {
	ID      string   `json:"id"`
	Window  int      `json:"window,omitempty"` // tokens
	Output  int      `json:"output,omitempty"` // tokens of a response
	Images  bool     `json:"images,omitempty"`
	Efforts []string `json:"efforts,omitempty"` // supported levels of effort
	Price   *Price   `json:"price,omitempty"`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

//go:embed models.json
var data []byte

type table struct {
	Date      string             `json:"date"` // of the source, as YYYY-MM-DD
	Source    string             `json:"source"`
	Providers map[string][]Model `json:"providers"`
}

var load = sync.OnceValue(func() (t table) {
	if err := json.Unmarshal(data, &t); err != nil {
		panic(err) // a part of the program
	}
	return t
})

// Date returns the date of the facts, as YYYY-MM-DD.
func Date() string { return load().Date }

// Models returns the known models of a provider.
func Models(provider string) []Model { return slices.Clone(load().Providers[provider]) }

// Lookup returns the facts about a model. Ids with only different dates at the end are the same
// model. If the model is unknown, Lookup returns false.
func Lookup(provider, id string) (Model, bool) {
	models := load().Providers[provider]
	for _, same := range []func(Model) bool{
		func(m Model) bool { return m.ID == id },
		func(m Model) bool { return undated(m.ID) == undated(id) },
	} {
		if i := slices.IndexFunc(models, same); i >= 0 {
			return models[i], true
		}
	}
	return Model{}, false
}

var date = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-20\d\d-?\d\d-?\d\d$`) })

// undated removes a date such as -2025-04-14 or -20250929 from the end of an id.
func undated(id string) string { return date().ReplaceAllString(id, "") }
