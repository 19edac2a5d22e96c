package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// imported is a server of another program.
type imported struct {
	entry
	problem string   // why it cannot be imported; empty: it can
	inputs  []string // ids of the other program's input values
	left    []string // its settings without a counterpart
}

// foreign is a server in the form of other programs.
type foreign struct {
	Type, Transport, Command, Cwd string
	Args                          []string
	Env, Headers                  map[string]string
	URL, HTTPURL, ServerURL       string
	HTTPHeaders                   map[string]string `json:"http_headers"`
	BearerVariable                string            `json:"bearer_token_env_var"`
	EnvHeaders                    map[string]string `json:"env_http_headers"`
	EnvVariables                  []any             `json:"env_vars"` // names, passed on
	EnvFile, HeadersHelper        string
	IncludeTools, ExcludeTools    []string
	EnabledTools                  []string `json:"enabled_tools"`
	DisabledTools                 []string `json:"disabled_tools"`
	Timeout                       float64  // milliseconds
	ToolTimeout                   float64  `json:"tool_timeout_sec"`
	StartTimeout                  float64  `json:"startup_timeout_sec"`
	StartMilliseconds             float64  `json:"startup_timeout_ms"`
	Auth, OAuth                   client
	Enabled                       *bool
	Disabled                      bool
}

// client is the client of a login: Cursor has it as auth, Claude Code and the Gemini CLI as oauth.
type client struct {
	CursorID     string `json:"CLIENT_ID"`
	CursorSecret string `json:"CLIENT_SECRET"`
	ID           string `json:"clientId"`
	Secret       string `json:"clientSecret"`
	Scopes       []string
	CallbackPort int
	Enabled      *bool // the Gemini CLI: it finds out by itself, too
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

// sources lists the programs with servers.
func (s *setup) sources(w io.Writer) error {
	none := true
	for _, name := range sourceNames {
		found, err := s.readSource(name)
		if err != nil || len(found) == 0 {
			continue
		}
		none = false
		fmt.Fprintf(w, "%s: %s in %s\n", name, amount.Plural(len(found), "server"), sourceFile(name))
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
	data, err := textfile.Read(file, 16<<20)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		data, err = jsonOf(data)
	} else {
		data = textfile.PlainJSON(data)
	}
	if name == "gemini" {
		data = shellNames.ReplaceAll(data, []byte("$${$1}"))
	}
	found := map[string]imported{}
	if err == nil {
		found, err = serversIn(data, s.folder)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return found, nil
}

// jsonOf converts TOML to JSON.
func jsonOf(data []byte) ([]byte, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// serversIn returns the servers of a file in any form of other programs. The servers of the
// folder's project come first.
func serversIn(data []byte, folder string) (map[string]imported, error) {
	type list = map[string]json.RawMessage
	var all struct {
		MCPServers list `json:"mcpServers"`
		Codex      list `json:"mcp_servers"`
		Servers    list `json:"servers"`
		Nested     struct {
			Servers list `json:"servers"`
		} `json:"mcp"`
		Projects map[string]struct {
			MCPServers list `json:"mcpServers"`
		} `json:"projects"`
	}
	err := json.Unmarshal(data, &all)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil, errors.New(`it has no servers: it must be an object with "mcpServers", as other programs write it`)
	}
	if err != nil {
		return nil, err
	}
	found := map[string]imported{}
	for _, part := range []list{all.Projects[folder].MCPServers, all.MCPServers, all.Codex, all.Servers, all.Nested.Servers} {
		for name, one := range part {
			if _, known := found[name]; known {
				continue
			}
			var f foreign
			if json.Unmarshal(one, &f) != nil {
				found[name] = imported{problem: "not supported: a value of a wrong type"}
				continue
			}
			i := f.entry()
			i.left = unknownIn(one, reflect.TypeFor[foreign]())
			found[name] = i
		}
	}
	return found, nil
}

// unknownIn returns the keys of an object, and of its objects, that are unknown to a type.
func unknownIn(object json.RawMessage, form reflect.Type) (left []string) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(object, &keys) != nil {
		return nil
	}
	fields := map[string]reflect.Type{}
	for i := range form.NumField() {
		f := form.Field(i)
		fields[strings.ToLower(cmp.Or(f.Tag.Get("json"), f.Name))] = f.Type
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch field := fields[strings.ToLower(key)]; {
		case field == nil:
			left = append(left, key)
		case field.Kind() == reflect.Struct:
			for _, inner := range unknownIn(keys[key], field) {
				left = append(left, key+"."+inner)
			}
		}
	}
	return left
}

// login translates the client of a login.
func (c client) login() *loginClient {
	l := loginClient{cmp.Or(c.CursorID, c.ID), cmp.Or(c.CursorSecret, c.Secret), strings.Join(c.Scopes, " "), c.CallbackPort}
	if l == (loginClient{}) {
		return nil
	}
	return &l
}

var (
	inputs     = lazyregexp.New(`\$\{input:([^}]*)\}`)
	foreigners = lazyregexp.New(`\$\{([^}]*)\}`)
	// shellNames are variables as the Gemini CLI also writes them, without braces.
	shellNames = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)`)
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
	for _, v := range f.EnvVariables {
		name, ok := v.(string)
		if !ok {
			i.problem = "not supported: env_vars"
			continue
		}
		if i.Env == nil {
			i.Env = map[string]string{}
		}
		i.Env[name] = "${" + name + ":-}" // it need not be set
	}
	i.Timeout = int(max(f.Timeout/1000, f.ToolTimeout))
	i.ConnectTimeout = int(math.Ceil(max(f.StartMilliseconds/1000, f.StartTimeout)))
	i.OAuth = cmp.Or(f.Auth.login(), f.OAuth.login())
	if t := (chosen{append(f.IncludeTools, f.EnabledTools...), append(f.ExcludeTools, f.DisabledTools...)}); len(t.Include)+len(t.Exclude) > 0 {
		i.Tools = &t
	}
	if f.Disabled || f.Enabled != nil && !*f.Enabled {
		off := false
		i.Enabled = &off
	}
	switch {
	case f.HeadersHelper != "":
		i.problem = "not supported: headersHelper"
	case f.EnvFile != "":
		i.problem = "not supported: envFile"
	case i.Command == "" && i.URL == "":
		i.problem = "not supported: neither command nor url"
	case i.Command != "" && i.URL != "":
		i.problem = "not supported: command and url"
	}
	data, err := json.Marshal(i.entry)
	if err != nil {
		return i
	}
	for _, m := range inputs.FindAllSubmatch(data, -1) {
		if id := string(m[1]); !slices.Contains(i.inputs, id) {
			i.inputs = append(i.inputs, id)
		}
	}
	for _, m := range foreigners.FindAllSubmatch(data, -1) {
		if i.problem == "" && !ours.Match(m[1]) && !inputs.Match(m[0]) {
			i.problem = fmt.Sprintf("not supported: ${%s}", m[1])
		}
	}
	return i
}

// withVariables replaces the other program's input values by variables, whose names begin with the
// server's. It returns the names of the variables.
func (i *imported) withVariables(server string) (variables []string, err error) {
	if len(i.inputs) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(i.entry)
	if err != nil {
		return nil, err
	}
	prefix := variableName(server) + "_"
	for _, id := range i.inputs {
		name := variableName(id)
		if !strings.HasPrefix(name, prefix) {
			name = prefix + name
		}
		variables = append(variables, name)
		data = bytes.ReplaceAll(data, []byte("${input:"+id+"}"), []byte("${"+name+"}"))
	}
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	i.entry = e
	return variables, nil
}
