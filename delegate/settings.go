package delegate

import (
	"time"

	"github.com/hermes-ls/hermes-ls/config"
)

// Settings is the section delegation of config.yaml.
type Settings struct {
	MaxConcurrentChildren int                     `json:"max_concurrent_children" doc:"Most subagents at the same time."`
	MaxSpawnDepth         int                     `json:"max_spawn_depth" doc:"Depth of subagents. 1: no subagents of subagents."`
	MaxIterations         int                     `json:"max_iterations" repo:"yes" doc:"Most model requests of a subagent."`
	DefaultToolsets       []string                `json:"default_toolsets" doc:"Toolsets of a task that names none."`
	InactivityTimeout     int                     `json:"inactivity_timeout" doc:"Seconds without progress after which a subagent is stopped. 0: never."`
	MaxBatchTokens        int                     `json:"max_batch_tokens" doc:"Most tokens of all subagents of one call together. 0: no limit."`
	StartTurn             bool                    `json:"start_turn" doc:"Start a turn with the results of background subagents if no turn runs. false: your next prompt has them."`
	Model                 string                  `json:"model" repo:"name" doc:"Model of subagents. Empty: the session's."`
	Provider              string                  `json:"provider" enum:",openai,openrouter,ollama,lmstudio,custom,embedded" guard:"no subagent uses it" doc:"Provider of subagents. Empty: the session's."`
	BaseURL               string                  `json:"base_url" doc:"Endpoint of subagents. Empty: the session's."`
	APIKey                config.Keys             `json:"api_key" doc:"Key of that endpoint. Empty: the session's, which is sent only to the session's endpoint."`
	Routes                map[string]config.Route `json:"routes" doc:"Models that a task can name."`
}

// SectionName is the name of the section.
const SectionName = "delegation"

// Section describes the section.
func Section() *config.Section {
	return &config.Section{
		Name: SectionName, Doc: "Subagents.",
		Defaults: Settings{
			MaxConcurrentChildren: 3, MaxSpawnDepth: 1, MaxIterations: 50, StartTurn: true,
			DefaultToolsets: []string{"terminal", "file", "web", "lsp"}, Routes: map[string]config.Route{},
		},
		Routes: func(settings any) config.Routes {
			s := settings.(Settings)
			return config.Routes{Own: config.Route{Model: s.Model, Provider: s.Provider, BaseURL: s.BaseURL, APIKey: s.APIKey}, Named: s.Routes}
		},
	}
}

// Limits returns the limits of subagents.
func (s Settings) Limits() Limits {
	return Limits{
		Children: s.MaxConcurrentChildren, Depth: s.MaxSpawnDepth, Iterations: s.MaxIterations, Toolsets: s.DefaultToolsets,
		Inactivity: time.Duration(s.InactivityTimeout) * time.Second, Tokens: s.MaxBatchTokens, StartTurn: s.StartTurn,
	}
}
