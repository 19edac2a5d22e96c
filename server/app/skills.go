package app

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/foldertrust"
	"github.com/hermes-ls/hermes-ls/extensions/markdown"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/extensions/web"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
)

func skillLimits(known *tools.Set) func(*config.Loaded) (any, error) {
	return func(c *config.Loaded) (any, error) {
		return skills.Config{
			Settings: config.SectionOf[skills.Settings](c, "skills"),
			Plugins:  plugins.SkillDirs(c.Home, config.SectionOf[plugins.Settings](c, plugins.Section().Name)),
			Getenv:   c.Getenv,
			Reserved: func(name string) bool { return reserved(c, name) },
			Offers:   func(toolset string) bool { return offers(c, known, toolset) },
		}, nil
	}
}

// offers reports whether sessions have the tools of a toolset. A plugin's tools and toolset are
// unknown before it runs: if any plugin is enabled, offers returns true for an unknown toolset.
func offers(c *config.Loaded, known *tools.Set, toolset string) bool {
	if !known.Knows(toolset) {
		return len(config.SectionOf[plugins.Settings](c, plugins.Section().Name).Enabled) > 0
	}
	return known.Offers(toolset, c.Agent.Tools.Enabled, c.Agent.Tools.Disabled)
}

// reserved reports whether a variable is never passed to a skill. It is a key of hermes-ls, such as
// a provider's, a search engine's or a server's, or a key of a well-known service: of these kinds,
// of version control or of a cloud.
func reserved(c *config.Loaded, name string) bool {
	if strings.HasPrefix(strings.ToUpper(name), "HERMES_") {
		return true
	}
	for _, s := range redact.Services() {
		if s.Kind != "services" && slices.ContainsFunc(s.Variables, func(v string) bool { return strings.EqualFold(v, name) }) {
			return true
		}
	}
	for _, p := range c.Providers {
		if p.KeyEnv == name {
			return true
		}
	}
	if name == config.SectionOf[web.Settings](c, "web").Search.KeyName() || namedByServer(c, name) {
		return true
	}
	value := c.Getenv(name)
	if value == "" {
		return false
	}
	keys := c.Secrets(func(string) bool { return false })
	configured, _ := mcp.Configured(c) // its problems are reported by sessions
	maps.Copy(keys, mcp.SecretsOf(configured))
	for _, v := range keys {
		if v == value {
			return true
		}
	}
	return false
}

var serverVariable = lazyregexp.New(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)`)

// namedByServer reports whether an MCP server of the configuration gets a variable, such as ${NAME} in a header.
func namedByServer(c *config.Loaded, name string) bool {
	data, err := json.Marshal(config.SectionOf[map[string]mcp.ServerSettings](c, "mcp_servers"))
	return err != nil || slices.ContainsFunc(serverVariable.FindAllStringSubmatch(string(data), -1), func(m []string) bool { return m[1] == name })
}

func trustStore(c *config.Loaded) (any, error) { return foldertrust.Config{Store: trustOf(c)}, nil }

// trustOf returns the store of trust.
func trustOf(c *config.Loaded) trust.Store {
	return config.SectionOf[skills.Settings](c, "skills").Store(c.Home)
}

func commandFiles(c *config.Loaded) (any, error) {
	dirs := config.SectionOf[markdown.Settings](c, "commands").ExternalDirs
	return markdown.Config{
		Home: c.Home, External: skills.Paths(dirs, c.Home), Store: trustOf(c),
		Plugins: func(kind string) map[string]string {
			return plugins.Markdown(c.Home, config.SectionOf[plugins.Settings](c, plugins.Section().Name), kind)
		},
		Delegate: func(goal, agent string) (string, []tools.Call, error) {
			in, err := delegate.ToAgent(goal, agent)
			return in.Text, in.Calls, err
		},
	}, nil
}

// agentsOf returns the agents of a session.
func agentsOf(set *extension.Set) (all []delegate.Agent) {
	files, ok := extension.Find[*markdown.Instance](set)
	if !ok {
		return nil
	}
	for _, f := range files.Agents() {
		name := cmp.Or(f.Fields.Text("name"), f.Name)
		if f.Plugin != "" {
			name = f.Name
		}
		a := delegate.Agent{
			Name: name, Description: f.Description, Instructions: f.Body, Route: f.Fields.Text("model"),
			Tools: f.Fields.List("tools"),
		}
		if names := f.Fields.List("skills"); len(names) > 0 {
			a.Instructions += "\n\nRead these skills first: " + strings.Join(names, ", ")
			if len(a.Tools) > 0 {
				a.Tools = append(a.Tools, skills.Toolset)
			}
		}
		all = append(all, a)
	}
	return all
}
