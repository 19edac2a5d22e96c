package mcpcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// imported is a server of another program.
type imported struct {
	entry
	problem string // why it cannot be imported; empty: it can
}

// foreign is a server in the form of other programs.
type foreign struct {
	Type, Transport, Command, Cwd string
	Args                          []string
	Env, Headers                  map[string]string
	URL, HTTPURL, ServerURL       string
	HTTPHeaders                   map[string]string `toml:"http_headers" json:"http_headers"`
	BearerVariable                string            `toml:"bearer_token_env_var" json:"bearer_token_env_var"`
	EnvHeaders                    map[string]string `toml:"env_http_headers" json:"env_http_headers"`
	HeadersHelper                 string
	Enabled                       *bool
	Disabled                      bool
}

// sourceNames are the programs, in the order of lists.
var sourceNames = []string{"claude", "claude-desktop", "codex", "cursor", "gemini", "vscode"}

// sourceFile returns the file of a program.
func sourceFile(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	settings := filepath.Join(home, ".config")
	switch runtime.GOOS {
	case "darwin":
		settings = filepath.Join(home, "Library", "Application Support")
	case "windows":
		settings = os.Getenv("APPDATA")
	default:
		if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			settings = dir
		}
	}
	switch name {
	case "claude":
		return filepath.Join(home, ".claude.json")
	case "claude-desktop":
		return filepath.Join(settings, "Claude", "claude_desktop_config.json")
	case "codex":
		if dir := os.Getenv("CODEX_HOME"); dir != "" {
			return filepath.Join(dir, "config.toml")
		}
		return filepath.Join(home, ".codex", "config.toml")
	case "cursor":
		return filepath.Join(home, ".cursor", "mcp.json")
	case "gemini":
		return filepath.Join(home, ".gemini", "settings.json")
	case "vscode":
		return filepath.Join(settings, "Code", "User", "mcp.json")
	}
	return ""
}

// sources lists the programs that have servers.
func (s *setup) sources(w io.Writer) error {
	none := true
	for _, name := range sourceNames {
		found, err := s.readSource(name)
		if err != nil || len(found) == 0 {
			continue
		}
		none = false
		fmt.Fprintf(w, "%s: %d servers in %s\n", name, len(found), sourceFile(name))
	}
	if none {
		fmt.Fprintln(w, "No other program with MCP servers was found. hermes-ls mcp import FILE reads a file.")
	}
	return nil
}

// readSource reads the servers of a program or of a file.
func (s *setup) readSource(name string) (map[string]imported, error) {
	file := name
	if slices.Contains(sourceNames, name) {
		file = sourceFile(name)
	}
	data, err := safefile.Read(file, 16<<20)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var all struct {
		MCPServers map[string]foreign `json:"mcpServers"`
		Codex      map[string]foreign `toml:"mcp_servers" json:"mcp_servers"`
		Servers    map[string]foreign `json:"servers"`
		Nested     struct {
			Servers map[string]foreign `json:"servers"`
		} `json:"mcp"`
		Projects map[string]struct {
			MCPServers map[string]foreign `json:"mcpServers"`
		} `json:"projects"`
	}
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		err = toml.Unmarshal(data, &all)
	} else {
		err = json.Unmarshal(plainJSON(data), &all)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	found := map[string]imported{}
	for _, part := range []map[string]foreign{all.Projects[s.folder].MCPServers, all.MCPServers, all.Codex, all.Servers, all.Nested.Servers} {
		for name, f := range part {
			if _, known := found[name]; !known {
				found[name] = f.entry()
			}
		}
	}
	return found, nil
}

var (
	inputs     = lazyregexp.New(`\$\{input:([^}]*)\}`)
	foreigners = lazyregexp.New(`\$\{([^}]*)\}`)
	ours       = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_]*(:-.*)?|env:[A-Za-z_][A-Za-z0-9_]*|userHome|workspaceFolder|workspaceFolderBasename|/)$`)
)

// entry translates a server to the form of config.yaml.
func (f foreign) entry() imported {
	var i imported
	i.Command, i.Args, i.Env, i.Cwd, i.Headers = f.Command, f.Args, f.Env, f.Cwd, f.Headers
	for _, u := range []string{f.URL, f.HTTPURL, f.ServerURL} {
		if u != "" {
			i.URL = u
		}
	}
	kind := strings.ToLower(f.Type + f.Transport)
	switch {
	case i.URL != "" && kind == "sse":
		i.Transport = "sse"
	case f.HTTPURL != "" || i.URL != "" && slices.Contains([]string{"http", "streamable-http", "streamablehttp"}, kind):
		i.Transport = "http"
	case kind != "" && !slices.Contains([]string{"stdio", "http", "sse"}, kind):
		i.problem = "not supported: type " + kind
	}
	add := func(name, value string) {
		if i.Headers == nil {
			i.Headers = map[string]string{}
		}
		i.Headers[name] = value
	}
	for name, value := range f.HTTPHeaders {
		add(name, value)
	}
	for name, variable := range f.EnvHeaders {
		add(name, "${"+variable+"}")
	}
	if f.BearerVariable != "" {
		add("Authorization", "Bearer ${"+f.BearerVariable+"}")
	}
	if f.Disabled || f.Enabled != nil && !*f.Enabled {
		off := false
		i.Enabled = &off
	}
	switch {
	case f.HeadersHelper != "":
		i.problem = "not supported: headersHelper"
	case i.Command == "" && i.URL == "":
		i.problem = "not supported: neither command nor url"
	case i.Command != "" && i.URL != "":
		i.problem = "not supported: command and url"
	}
	data, err := json.Marshal(i.entry)
	if err != nil {
		return i
	}
	if m := inputs.FindSubmatch(data); m != nil {
		i.problem = fmt.Sprintf("needs VALUE for input %s", m[1])
		return i
	}
	for _, m := range foreigners.FindAllSubmatch(data, -1) {
		if i.problem == "" && !ours.Match(m[1]) {
			i.problem = fmt.Sprintf("not supported: ${%s}", m[1])
		}
	}
	return i
}

// plainJSON removes comments and trailing commas.
func plainJSON(data []byte) []byte {
	var out bytes.Buffer
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out.Write(data[i:end])
			i = end - 1
		case c == '/' && bytes.HasPrefix(data[i:], []byte("//")):
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case c == '/' && bytes.HasPrefix(data[i:], []byte("/*")):
			end := bytes.Index(data[i+2:], []byte("*/"))
			if end < 0 {
				return out.Bytes()
			}
			i += end + 3
		case c == '}' || c == ']':
			trimmed := bytes.TrimRight(out.Bytes(), " \t\r\n")
			if bytes.HasSuffix(trimmed, []byte(",")) {
				out.Truncate(len(trimmed) - 1)
			}
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}
