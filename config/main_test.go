package config

import "encoding/json"

// scripts, web and checkpoints are sections of features, as far as these tests use them.
type scripts struct {
	Mode   string `json:"mode" enum:"project,strict" repo:"yes" doc:"How scripts run."`
	Python string `json:"python" repo:"yes" doc:"Interpreter."`
}

type web struct {
	Search struct {
		URL    string `json:"url" doc:"Endpoint."`
		APIKey string `json:"api_key" secret:"yes" doc:"Key."`
	} `json:"search" doc:"Search engine."`
	AllowPrivate bool `json:"allow_private" doc:"Private addresses."`
}

type checkpoints struct {
	Enabled bool `json:"enabled" doc:"Record files."`
	MaxMB   int  `json:"max_mb" doc:"Most MiB."`
}

type server struct {
	Command string `json:"command" doc:"Program."`
}

type delegation struct {
	Model    string           `json:"model" repo:"name" doc:"Model."`
	Provider string           `json:"provider" enum:",openai,openrouter,ollama,lmstudio,custom,embedded" guard:"no subagent uses it" doc:"Provider."`
	BaseURL  string           `json:"base_url" doc:"Endpoint."`
	APIKey   Keys             `json:"api_key" doc:"Key."`
	Routes   map[string]Route `json:"routes" doc:"Models that a task can name."`
}

func (d delegation) routes() Routes {
	return Routes{Route{d.Model, d.Provider, d.BaseURL, d.APIKey}, d.Routes}
}

func newSchema() *Schema {
	return NewSchema(
		Section{Name: "code_execution", Doc: "Scripts.", Defaults: scripts{Mode: "project"}},
		Section{Name: "web", Doc: "The web.", Defaults: web{}},
		Section{Name: "checkpoints", Doc: "States.", Defaults: checkpoints{Enabled: true, MaxMB: 500}},
		Section{
			Name: "delegation", Doc: "Subagents.", Defaults: delegation{Routes: map[string]Route{}},
			Routes: func(settings any) Routes { return settings.(delegation).routes() },
		},
		Section{Name: "mcp_servers", Doc: "Servers.", Defaults: map[string]server{}},
	)
}

// Load and the others use newSchema.
func Load(home string, o Options) *Loaded { return newSchema().Load(home, o) }
func Set(home, key, text string) error    { return newSchema().Set(home, key, text) }
func schemaJSON() json.RawMessage         { return newSchema().JSON() }
