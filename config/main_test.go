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

func newSchema() *Schema {
	return NewSchema(
		Section{"code_execution", "Scripts.", scripts{Mode: "project"}},
		Section{"web", "The web.", web{}},
		Section{"checkpoints", "States.", checkpoints{Enabled: true, MaxMB: 500}},
		Section{"mcp_servers", "Servers.", map[string]server{}},
	)
}

// Load and the others use newSchema.
func Load(home string, o Options) *Loaded { return newSchema().Load(home, o) }
func Set(home, key, text string) error    { return newSchema().Set(home, key, text) }
func schemaJSON() json.RawMessage         { return newSchema().JSON() }
