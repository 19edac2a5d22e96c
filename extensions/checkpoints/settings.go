package checkpoints

import (
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
)

// Settings is the section checkpoints of config.yaml.
type Settings struct {
	Enabled   bool `json:"enabled" doc:"Record the files that a turn changes."`
	MaxMB     int  `json:"max_mb" doc:"Most MiB of all checkpoints."`
	MaxFileMB int  `json:"max_file_mb" doc:"Most MiB of one file. A larger file is not recorded."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "checkpoints", Doc: "Recorded states of the workspace.", Defaults: Settings{Enabled: true, MaxMB: 500, MaxFileMB: 10}}
}

// Limits returns the limits in bytes.
func (s Settings) Limits() checkpoint.Limits {
	return checkpoint.Limits{Total: int64(s.MaxMB) << 20, File: int64(s.MaxFileMB) << 20}
}
