package codeexec

import (
	"time"

	"github.com/hermes-ls/hermes-ls/config"
)

// Settings is the section code_execution of config.yaml.
type Settings struct {
	Mode           string `json:"mode" enum:"project,strict" repo:"yes" doc:"project: scripts run in the workspace with its interpreter. strict: in a directory of their own."`
	Timeout        int    `json:"timeout" doc:"Timeout of a script in seconds."`
	MaxToolCalls   int    `json:"max_tool_calls" doc:"Most tool calls of one script."`
	MaxStdoutBytes int    `json:"max_stdout_bytes" doc:"Most bytes of output that are kept."`
	MaxStderrBytes int    `json:"max_stderr_bytes" doc:"Most bytes of error output that are kept."`
	Python         string `json:"python" repo:"yes" doc:"Python interpreter. Empty: the first that works."`
	Persist        bool   `json:"persist" doc:"Keep variables between the scripts of a session."`
	MaxMemoryMB    int    `json:"max_memory_mb" doc:"Most memory of a script in MiB."`
	MaxProcesses   int    `json:"max_processes" doc:"Most processes of a script."`
	MCPTools       string `json:"mcp_tools" enum:"none,read_only,all" guard:"scripts call no tools of MCP servers" safe:"none" doc:"Which tools of MCP servers scripts may call with mcp_call: none, those marked read-only, or all."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "code_execution", Doc: "Scripts that call the tools.", Defaults: Settings{
		Mode: "project", Timeout: 300, MaxToolCalls: 50, MaxStdoutBytes: 50_000, MaxStderrBytes: 10_000,
		MaxMemoryMB: 2048, MaxProcesses: 256, MCPTools: "none",
	}}
}

// Config returns the runner configuration from the settings.
func (s Settings) Config() Config {
	return Config{
		Mode: s.Mode, Timeout: time.Duration(s.Timeout) * time.Second, MaxCalls: s.MaxToolCalls,
		MaxStdout: s.MaxStdoutBytes, MaxStderr: s.MaxStderrBytes, MaxMemoryMB: s.MaxMemoryMB, MaxProcs: s.MaxProcesses,
		Python: s.Python, Persist: s.Persist, MCPTools: s.MCPTools,
	}
}
