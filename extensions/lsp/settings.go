package lsp

import (
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
)

// Settings is the section lsp of config.yaml.
type Settings struct {
	Mode        string                `json:"mode" enum:"auto,editor,own,off" doc:"Who answers: the editor, and a server of our own where it does not (auto), only one of them, or neither (off)."`
	OnEdit      bool                  `json:"on_edit" doc:"Also the first edit of a language starts its server, so that results of edits contain new problems."`
	IdleTimeout int                   `json:"idle_timeout" doc:"Seconds without a question after which a server is stopped. 0: never."`
	WaitTimeout int                   `json:"wait_timeout" doc:"Seconds for an answer."`
	MaxMemoryMB int                   `json:"max_memory_mb" doc:"Memory of a server with all its processes. Above it, the server is stopped. 0: no limit."`
	Servers     map[string]own.Custom `json:"servers" doc:"Further language servers, or changes of known ones, by name."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "lsp", Doc: "Language servers.", Defaults: Settings{
		Mode: "auto", IdleTimeout: 600, WaitTimeout: 5, MaxMemoryMB: 4096, Servers: map[string]own.Custom{},
	}}
}

func (s Settings) limits() own.Limits {
	return own.Limits{
		Idle: time.Duration(s.IdleTimeout) * time.Second, Wait: s.wait(), MemoryMB: s.MaxMemoryMB, Servers: s.Servers,
	}
}

// wait returns the limit for an answer.
func (s Settings) wait() time.Duration { return time.Duration(max(s.WaitTimeout, 1)) * time.Second }

func (s Settings) editor() bool { return s.Mode == "auto" || s.Mode == "editor" }
func (s Settings) own() bool    { return s.Mode == "auto" || s.Mode == "own" }
