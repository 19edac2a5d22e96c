package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/markdown"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// own is the directory of our parts in an Agent Plugin, and the key of our values in its manifest.
const own = "io.github.hermes-ls"

// Schemas of the supported version of Agent Plugins.
const (
	pluginSchema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	serverSchema = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
)

var agentName = lazyregexp.New(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// agentFields are the fields of plugin.json.
var agentFields = []string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"}

// readJSON reads plugin.json, the manifest of Agent Plugins 1.0. Permissions are in extensions,
// because the format defines none.
func (p *Plugin) readJSON(data []byte) error {
	var m struct {
		Schema      string          `json:"$schema"`
		Name        string          `json:"name"`
		Version     string          `json:"version"`
		Description string          `json:"description"`
		Extensions  json.RawMessage `json:"extensions"`
	}
	if err := json.Unmarshal(textfile.PlainJSON(data), &m); err != nil {
		return err
	}
	switch {
	case m.Schema != "" && m.Schema != pluginSchema:
		return fmt.Errorf("$schema is %q; this program reads version 1.0.0, %s", m.Schema, pluginSchema)
	case len(m.Name) > 64 || !agentName.MatchString(m.Name):
		return fmt.Errorf("the name %q must have 1 to 64 lowercase letters and digits, with single dashes and dots between them", m.Name)
	}
	p.Kind, p.Version, p.Description = Agent, m.Version, strings.TrimSpace(m.Description)
	var extensions map[string]json.RawMessage
	if json.Unmarshal(m.Extensions, &extensions) != nil || extensions[own] == nil {
		return nil // extensions of another form are ignored
	}
	var ours struct {
		Permissions Permissions `json:"permissions"`
	}
	if err := json.Unmarshal(extensions[own], &ours); err != nil {
		return fmt.Errorf("extensions.%s: %w", own, err)
	}
	p.Permissions = ours.Permissions
	return nil
}

// readHooks reads hooks.json of an Agent Plugin. It has the form of the section hooks of
// config.yaml, or Claude Code's form, also below a key hooks.
func (p *Plugin) readHooks() error {
	data, err := textfile.Read(filepath.Join(p.Dir, own, "hooks.json"), largestManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var section map[string]any
	if err == nil {
		err = textfile.JSONError(data, json.Unmarshal(textfile.PlainJSON(data), &section))
	}
	if err != nil {
		return fmt.Errorf("hooks.json: %w", err)
	}
	delete(section, "description")
	if inner, ok := section["hooks"].(map[string]any); ok {
		section = inner
	}
	p.hooks = map[string]any{}
	for _, event := range slices.Sorted(maps.Keys(section)) {
		if !hooks.IsEvent(event) {
			p.ignored = append(p.ignored, fmt.Sprintf("hooks.json: %q is not an event here; its hooks do not run", event))
			continue
		}
		p.hooks[event] = p.flat(event, section[event])
	}
	all, problems := hooks.Parse(p.hooks)
	for _, h := range all {
		p.Hooks = append(p.Hooks, h.Event)
	}
	p.Hooks = slices.Compact(slices.Sorted(slices.Values(p.Hooks)))
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("hooks.json: %w", err)
	}
	return nil
}

// flat returns hooks in the form of config.yaml. In Claude Code's form, an entry holds a list
// hooks. Only command hooks are used.
func (p *Plugin) flat(event string, list any) any {
	entries, ok := list.([]any)
	if !ok {
		return list
	}
	var all []any
	for _, e := range entries {
		group, _ := e.(map[string]any)
		inner, ok := group["hooks"].([]any)
		if !ok {
			all = append(all, e)
			continue
		}
		for _, one := range inner {
			hook, _ := one.(map[string]any)
			if kind, ok := hook["type"].(string); ok && kind != "command" {
				p.ignored = append(p.ignored, fmt.Sprintf("hooks.json: a hook for %s of type %q does not run", event, kind))
				continue
			}
			if hook != nil && group["matcher"] != nil {
				hook["matcher"] = group["matcher"]
			}
			all = append(all, one)
		}
	}
	return all
}

// agentWarnings returns the unused or nonstandard parts of a usable Agent Plugin.
func (p Plugin) agentWarnings() (warnings []string) {
	var fields map[string]json.RawMessage
	data, err := textfile.Read(filepath.Join(p.Dir, "plugin.json"), largestManifest)
	if p.Kind != Agent || err != nil || json.Unmarshal(textfile.PlainJSON(data), &fields) != nil {
		return nil
	}
	if fields["$schema"] == nil {
		warnings = append(warnings, "plugin.json has no $schema, which the format requires: "+pluginSchema)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(agentFields, name) {
			warnings = append(warnings, fmt.Sprintf("plugin.json has the unknown field %q, which is ignored", name))
		}
	}
	_, problems := p.agentServers()
	for _, problem := range problems {
		warnings = append(warnings, problem.Error())
	}
	return append(warnings, p.ignored...)
}

// agentServer is a server in mcp.json.
type agentServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// Line returns the command line or the URL.
func (s agentServer) Line() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// agentServers reads mcp.json. An invalid entry is reported and left out. If the file is missing,
// there are no servers.
func (p Plugin) agentServers() (all map[string]agentServer, problems []error) {
	if p.Kind != Agent {
		return nil, nil
	}
	data, err := textfile.Read(filepath.Join(p.Dir, "mcp.json"), largestManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file struct {
		Schema  string                     `json:"$schema"`
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err == nil {
		err = textfile.JSONError(data, json.Unmarshal(textfile.PlainJSON(data), &file))
	}
	switch {
	case err != nil:
		return nil, []error{fmt.Errorf("mcp.json of the plugin %s is not used: %w", p.Name, err)}
	case file.Schema != "" && file.Schema != serverSchema:
		return nil, []error{fmt.Errorf("mcp.json of the plugin %s is not used: $schema is %q; this program reads %s", p.Name, file.Schema, serverSchema)}
	}
	all = map[string]agentServer{}
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		var s agentServer
		d := json.NewDecoder(bytes.NewReader(file.Servers[name]))
		d.DisallowUnknownFields()
		err := d.Decode(&s)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("the MCP server %s of the plugin %s is left out: %w", name, p.Name, err))
			continue
		}
		all[name] = s
	}
	return all, problems
}

// check returns an error if an entry of mcp.json is not valid. It completes the type.
func (s *agentServer) check() error {
	if s.Type == "" {
		if s.Type = "stdio"; s.URL != "" {
			s.Type = "streamable-http"
		}
	}
	switch s.Type {
	case "stdio":
		return s.checkProgram()
	case "streamable-http", "sse":
		return s.checkAddress()
	}
	return fmt.Errorf("its type is %q; it is stdio, streamable-http or sse", s.Type)
}

func (s agentServer) checkProgram() error {
	path := strings.HasPrefix(s.Command, "./")
	switch {
	case s.Command == "" || s.URL != "" || s.Headers != nil:
		return errors.New("a server of type stdio has a command, and neither url nor headers")
	case !path && strings.ContainsAny(s.Command, `/\`), path && !filepath.IsLocal(s.Command):
		return fmt.Errorf("its command %q is neither the name of a program nor a path in the plugin that begins with ./", s.Command)
	}
	for name := range s.Env {
		if strings.EqualFold(name, "PLUGIN_ROOT") || strings.EqualFold(name, "PLUGIN_DATA") || name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("it sets the variable %q", name)
		}
	}
	if _, ok := s.dir("/root", "/data"); !ok {
		return fmt.Errorf("its cwd %q is not in ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}", s.Cwd)
	}
	return nil
}

// dir returns the directory in which the program starts.
func (s agentServer) dir(root, data string) (dir string, ok bool) {
	if s.Cwd == "" {
		return root, true
	}
	for prefix, top := range map[string]string{".": root, "${PLUGIN_ROOT}": root, "${PLUGIN_DATA}": data} {
		rest, ok := strings.CutPrefix(s.Cwd, prefix)
		if !ok || rest != "" && rest[0] != '/' || rest == "" && prefix == "." {
			continue
		}
		rest = strings.TrimLeft(rest, "/")
		return filepath.Join(top, rest), rest == "" || filepath.IsLocal(rest)
	}
	return "", false
}

func (s agentServer) checkAddress() error {
	u, err := url.Parse(s.URL)
	switch {
	case s.Command != "" || s.Args != nil || s.Env != nil || s.Cwd != "":
		return fmt.Errorf("a server of type %s has a url, and no command, args, env or cwd", s.Type)
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("its url %q is not an address of http or https without user and fragment", s.URL)
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return fmt.Errorf("its url %q is not https", s.URL)
	}
	seen := map[string]bool{}
	for name := range s.Headers {
		if seen[strings.ToLower(name)] {
			return fmt.Errorf("it has two headers %s", name)
		}
		seen[strings.ToLower(name)] = true
	}
	return nil
}

// Servers returns the MCP servers of enabled plugins, for a session in these folders. They are
// named PLUGIN-SERVER; if both names are the same, PLUGIN. Getenv returns the user-granted
// variables.
func Servers(home string, s Settings, folders []string, getenv func(string) string) (list []mcp.Server, problems []error) {
	if len(s.Enabled) == 0 {
		return nil, nil
	}
	all, _ := List(home, s) // the session reports problems
	for _, l := range all {
		if l.State != Enabled {
			continue
		}
		servers, wrong := l.agentServers()
		problems = append(problems, wrong...)
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			list = append(list, l.server(home, name, servers[name], folders, getenv))
		}
	}
	return list, problems
}

func (l Listed) server(home, name string, s agentServer, folders []string, getenv func(string) string) mcp.Server {
	out := mcp.Server{Name: l.Name}
	if name != l.Name {
		out.Name += "-" + name
	}
	if s.URL != "" {
		out.URL, out.Headers, out.Transport = s.URL, s.Headers, mcp.TransportHTTP
		if s.Type == "sse" {
			out.Transport = mcp.TransportSSE
		}
		return out
	}
	data := Data(home, l.Name)
	expand := expander(l.Dir, data)
	out.Command, out.Sandbox, out.Bound = s.Command, mcp.SandboxOn, &bound{home, l, folders}
	if strings.HasPrefix(s.Command, "./") {
		out.Command = filepath.Join(l.Dir, s.Command)
	}
	for _, arg := range s.Args {
		out.Args = append(out.Args, expand(arg))
	}
	out.Dir, _ = s.dir(l.Dir, data)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+expand(s.Env[name]))
	}
	out.Env = variables(l.Plugin, data, getenv, env)
	return out
}

// expander replaces the names of a plugin's directories.
func expander(root, data string) func(string) string {
	return strings.NewReplacer("${PLUGIN_ROOT}", root, "${CLAUDE_PLUGIN_ROOT}", root, "${PLUGIN_DATA}", data).Replace
}

// variables returns the variables granted to a plugin by the user, more, and the variables for its
// directories.
func variables(p Plugin, data string, getenv func(string) string, more []string) (env []string) {
	for _, name := range p.Permissions.Env {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	// npx and uvx keep packages in caches, and the user's caches are not writable.
	caches := []string{"npm_config_cache=" + filepath.Join(data, "npm"), "XDG_CACHE_HOME=" + filepath.Join(data, "cache")}
	return slices.Concat(env, caches, more, []string{"PLUGIN_ROOT=" + p.Dir, "PLUGIN_DATA=" + data})
}

// bound limits the programs of a plugin by its permissions. It contains only data, so two bounds of
// the same plugin are equal.
type bound struct {
	home    string
	listed  Listed
	folders []string
}

// Confine implements [mcp.Bound].
func (b *bound) Confine(ctx context.Context, c *proc.Cmd) (release func(), err error) {
	if err := b.listed.unchanged(); err != nil {
		return nil, err
	}
	data := Data(b.home, b.listed.Name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	box := boxOf(b.home, b.listed.Plugin, b.folders)
	if err := box.Confine(ctx, c, data); err != nil {
		box.Close()
		return nil, fmt.Errorf("it cannot be bound by the sandbox: %w", err)
	}
	return sync.OnceFunc(box.Close), nil
}

// Writes implements [mcp.Bound].
func (b *bound) Writes() bool { return b.listed.Permissions.Files == Write }

// unchanged returns an error if the plugin's directory is not as it was when the user enabled it.
// While the user enables it, there is no grant, and unchanged returns nil.
func (l Listed) unchanged() error {
	if l.Grant.Sum == "" {
		return nil
	}
	if sum, err := Sum(l.Dir); err != nil || sum != l.Grant.Sum {
		return fmt.Errorf("its directory has changed since it was enabled; hermes-ls plugin enable %s enables it again", l.Name)
	}
	return nil
}

// Contents describes the parts of an Agent Plugin, each on a line.
func (p Plugin) Contents() (parts []string) {
	if p.Kind != Agent {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Join(p.Dir, "skills"))
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(p.Dir, "skills", e.Name(), "SKILL.md")); err == nil {
			parts = append(parts, fmt.Sprintf("skill %s:%s", p.Name, e.Name()))
		}
	}
	servers, problems := p.agentServers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		parts = append(parts, fmt.Sprintf("MCP server %s: %s", name, servers[name].Line()))
	}
	brought, _ := hooks.Parse(p.hooks)
	for _, h := range brought {
		parts = append(parts, fmt.Sprintf("hook %s: %s", h.Event, h.Command))
	}
	for _, kind := range []string{"command", "agent"} {
		for _, f := range markdown.OfPlugin(p.Name, filepath.Join(p.Dir, own, kind+"s")) {
			parts = append(parts, fmt.Sprintf("%s %s: %s", kind, f.Name, f.Description))
		}
	}
	for _, problem := range problems {
		parts = append(parts, problem.Error())
	}
	return append(parts, p.ignored...)
}

// bring returns the hooks of an Agent Plugin.
func (h *host) bring(s *extension.Session, l Listed, r *runner) *hooks.Brought {
	o := hooks.Options{Dir: l.Dir, Transcript: h.Transcript, Confine: r.confine, OnlyReads: l.Permissions.Files != Write}
	data := Data(h.Home, l.Name)
	o.Environ = func(ctx context.Context, _ []string) []string {
		return append(r.environ(ctx, data), "CLAUDE_PLUGIN_ROOT="+l.Dir)
	}
	return hooks.Bring(s, o, l.Name, l.hooks, expander(l.Dir, data))
}

// Markdown returns the directories commands and agents of enabled Agent Plugins, by kind and by the
// plugins' names.
func Markdown(home string, s Settings, kind string) map[string]string {
	if len(s.Enabled) == 0 {
		return nil
	}
	all, _ := List(home, s) // the session reports problems
	dirs := map[string]string{}
	for _, l := range all {
		if l.State == Enabled && l.Kind == Agent {
			dirs[l.Name] = filepath.Join(l.Dir, own, kind)
		}
	}
	return dirs
}
