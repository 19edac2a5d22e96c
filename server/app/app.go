// Package app lists the features of the program. To add a feature, add one line to [Features];
// nothing else names it.
package app

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/codeexec"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/extensions/clarify"
	"github.com/hermes-ls/hermes-ls/extensions/environment"
	"github.com/hermes-ls/hermes-ls/extensions/feedback"
	"github.com/hermes-ls/hermes-ls/extensions/files"
	"github.com/hermes-ls/hermes-ls/extensions/foldertrust"
	foldertrustcli "github.com/hermes-ls/hermes-ls/extensions/foldertrust/cli"
	"github.com/hermes-ls/hermes-ls/extensions/goal"
	"github.com/hermes-ls/hermes-ls/extensions/history"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/instructions"
	"github.com/hermes-ls/hermes-ls/extensions/learnings"
	learningscli "github.com/hermes-ls/hermes-ls/extensions/learnings/cli"
	"github.com/hermes-ls/hermes-ls/extensions/lsp"
	"github.com/hermes-ls/hermes-ls/extensions/markdown"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/memory"
	memorycli "github.com/hermes-ls/hermes-ls/extensions/memory/cli"
	"github.com/hermes-ls/hermes-ls/extensions/plan"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	pluginscli "github.com/hermes-ls/hermes-ls/extensions/plugins/cli"
	"github.com/hermes-ls/hermes-ls/extensions/references"
	"github.com/hermes-ls/hermes-ls/extensions/shell"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	skillscli "github.com/hermes-ls/hermes-ls/extensions/skills/cli"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/extensions/toolsearch"
	"github.com/hermes-ls/hermes-ls/extensions/verify"
	"github.com/hermes-ls/hermes-ls/extensions/vision"
	"github.com/hermes-ls/hermes-ls/extensions/web"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools"
	webtools "github.com/hermes-ls/hermes-ls/tools/web"
)

// New makes a service with all extensions.
func New(o server.Options) *server.Service {
	o.Features, o.Config = Features, Config()
	return server.New(o)
}

// Features returns the list. Instances are opened in its order and closed in reverse: each may use
// the earlier ones.
func Features(s *server.Service) []server.Feature {
	kept := checkpoint.New(s.Home)
	pythons := codeexec.NewPythons()
	learned := learnings.NewStore(s.Home)
	var known tools.Set // of toolsets
	list := []server.Feature{
		{Extension: instructions.New(s.Home), Section: persona, Loads: instructions.Loads()},
		{Extension: mcpServers(s), Settings: mcp.Settings(), Section: servers(&known), Commands: mcp.Table, Toolset: mcp.ResourceToolset, Loads: trust.Loads(), CLI: mcpCommand, Doctor: mcpDoctor},
		{Extension: verify.New(), Settings: verify.Section()}, // before the checkpoints: its turn begins first
		{
			Core: restorePoints(s, kept), Settings: checkpoints.Section(), Section: restoreLimits, Commands: checkpoints.Table, Toolset: checkpoints.Toolset, Needs: server.NeedsLocalFiles, Stored: true,
			Preload: checkpoints.Preload, Shutdown: kept.Close, Deleted: kept.Forget, Moved: moveCheckpoints(kept),
		},
		{Extension: todo.New(), Toolset: todo.Toolset, Preload: todo.Preload},
		{Extension: files.New(lsp.Problems), Toolset: files.Toolset, Needs: server.NeedsFiles, Preload: files.Preload},
		{Extension: languageServers(s), Settings: lsp.Section(), Toolset: lsp.Toolset, Needs: server.NeedsLocalFiles, Preload: lsp.Preload},
		{Core: commands(s), Section: commandLimits, Toolset: shell.Toolset, Preload: shell.Preload, Moved: moveCommands(s)},
		{Extension: web.New(s.Version), Settings: web.Section(), Section: webSearch, Toolset: web.Toolset, Preload: web.Preload, Doctor: web.Doctor},
		{Extension: vision.New(), Toolset: vision.Toolset, Preload: vision.Preload},
		{Extension: environment.New(), Moved: tellMove(s)},
		{Extension: references.New()},
		{Extension: clarify.New(), Toolset: clarify.Toolset, Section: questions, Preload: clarify.Preload},
		{Extension: plan.New(), Preload: plan.Preload},
		{Extension: history.New(s.Store), Toolset: history.Toolset, Preload: history.Preload},
		{Extension: programs(s, pythons), Settings: codeexec.Section(), Section: scripts, Toolset: codeexec.Toolset, Needs: server.NeedsLocalProgram, Preload: codeexec.Preload, Doctor: codeexec.Doctor},
		{Core: subagents(s), Settings: delegate.Section(), Section: subagentLimits, Commands: delegate.Table, Toolset: delegate.Toolset, Preload: delegate.Preload, Moved: moveWorktrees(s)},
		{Extension: goal.New(), Commands: goal.Table},
		{Extension: hooks.New(hookOptions(s)), Settings: hooks.Section(), Section: configuredHooks, Commands: hooks.Table, CLI: hooksCommand, Doctor: hooksDoctor},
		{Extension: plugins.New(pluginOptions(s)), Settings: plugins.Section(), Section: enabledPlugins, Commands: plugins.Table, CLI: pluginCommand, Doctor: pluginscli.Doctor},
		{Extension: learnings.New(learned), Settings: learnings.Section(), Commands: learnings.Table, Shutdown: learned.Close, Moved: moveLearnings(learned), CLI: learningscli.New},
		{Extension: feedback.New(s.Home), Settings: feedback.Section(), Commands: feedback.Table},
		{Extension: toolsearch.New(), Settings: toolsearch.Section(), Section: toolsearch.Of},
		{Extension: memory.New(s.Home), Settings: memory.Section(), Commands: memory.Table, Toolset: memory.Toolset, Preload: memory.Preload, Moved: moveMemory(s), CLI: memorycli.New},
		{Extension: foldertrust.Extension(), Section: trustStore, Commands: foldertrust.Table, Moved: moveTrust(s), CLI: foldertrustcli.New},
		{Extension: markdown.Extension(), Settings: markdown.Section(), Section: commandFiles, Loads: markdown.Loads()},
		{Extension: skills.Extension(skills.Options{Home: s.Home}), Settings: skills.Section(), Section: skillLimits(&known), Commands: skills.Table, Toolset: skills.Toolset, Preload: skills.Preload, Loads: skills.Loads(), CLI: skillscli.New, Doctor: skillscli.Doctor},
	}
	known.Toolsets = server.Toolsets(list)
	return list
}

// Path returns the PATH of programs outside of a session.
func Path(home string) userpath.Finder {
	login := server.LoginPath(os.Environ(), func() *config.Loaded { return Config().Load(home, config.Options{Environ: os.Environ()}) })
	return login.Path // it needs no Close: it starts nothing after its answer
}

// outside returns the environment of the user's configured programs, outside of a session.
func outside(home string) func(context.Context, []string) []string {
	path := Path(home)
	return func(ctx context.Context, roots []string) []string {
		return mcp.Environ(path.Environ(ctx, os.Environ()), nil, roots)
	}
}

// HookOptions returns the options of hooks outside of a session.
func HookOptions(home string) hooks.Options {
	return hooks.Options{
		Dir:     mcp.Dir(home),
		Environ: outside(home),
	}
}

// environOf returns the environment of the user's configured programs.
func environOf(s *server.Service) func(context.Context, []string) []string {
	return func(ctx context.Context, roots []string) []string {
		return mcp.Environ(userpath.Finder(s.Path).Environ(ctx, s.Environ), nil, roots)
	}
}

func hookOptions(s *server.Service) hooks.Options {
	o := HookOptions(s.Home)
	o.Environ = environOf(s)
	o.Transcript = func(ctx context.Context, id string) (string, error) { return exported(ctx, s, id) }
	return o
}

// exported writes the log of a session beside its other files.
func exported(ctx context.Context, s *server.Service, id string) (path string, err error) {
	dir := filepath.Join(s.Home, "sessions", safefile.NameOf(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "transcript.jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	return path, errors.Join(s.Store().Export(ctx, id, f, nil), f.Close())
}

func configuredHooks(c *config.Loaded) (any, error) {
	all, problems := Hooks(c)
	return all, errors.Join(problems...)
}

// Hooks returns the hooks of the configuration, and the problems of invalid ones. The tools of plugins
// are unknown before they run: if any plugin is enabled, no matcher is said to fit no tool.
func Hooks(c *config.Loaded) (all []hooks.Hook, problems []error) {
	all, problems = hooks.Of(c)
	if len(config.SectionOf[plugins.Settings](c, plugins.Section().Name).Enabled) == 0 {
		hooks.Judge(all)
	}
	return all, problems
}

func mcpServers(s *server.Service) extension.Extension {
	return mcp.Extension(mcp.Config{
		Version: s.Version, Dir: mcp.Dir(s.Home), Home: s.Home, Environ: s.Environ, Path: s.Path, Log: s.Log,
	})
}

func servers(known *tools.Set) func(*config.Loaded) (any, error) {
	return func(c *config.Loaded) (any, error) {
		configured, problems := mcp.Configured(c)
		return mcp.Section{
			Servers: configured, Wrong: problems, Logins: Logins(c),
			Offers: func(toolset string) bool { return known.Offers(toolset, c.Agent.Tools.Enabled, c.Agent.Tools.Disabled) },
			Workspace: func(folders []string) ([]mcp.Server, []mcp.Offered, []error) {
				list, wrong := PluginServers(c, folders)
				approved, offered, problems := mcp.OfWorkspace(c, trustOf(c), folders)
				return append(list, approved...), offered, append(wrong, problems...)
			},
		}, errors.Join(problems...)
	}
}

// Logins returns the configured store of tokens.
func Logins(c *config.Loaded) *login.Store {
	return login.Open(c.Home, config.SectionOf[toolsearch.Settings](c, "mcp").TokenStore)
}

// Secrets returns the values to redact, by name: configured keys, the secrets of MCP servers, and
// variables of the environment and of .env with the name of a secret.
func Secrets(c *config.Loaded) map[string]string {
	all := c.Secrets(proc.Secret)
	configured, _ := mcp.Configured(c) // its problems are reported by sessions
	maps.Copy(all, mcp.SecretsOf(configured))
	return all
}

func restorePoints(s *server.Service, kept *checkpoint.Store) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return checkpoints.New(checkpoints.Options{
			Store: kept, Workspace: c.Workspace, Remote: c.Remote, Exclusive: c.Exclusive,
			States: func(ctx context.Context, cwd, key string) (map[string][]byte, error) {
				return s.Store().StatesIn(ctx, cwd, checkpoints.Name, key)
			},
		})
	}
}

func languageServers(s *server.Service) extension.Extension {
	environ, _ := proc.Filter(s.Environ, nil) // as commands get it: servers run the same tools
	return lsp.New(lsp.Options{
		Environ: environ, Path: s.Path,
		Log: func(name, line string) { s.Log.Debug("language server", "server", name, "text", line) },
	})
}

func commands(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return shell.New(shell.Options{Terminals: c.Terminals, Backend: c.Backend.Backend, Broken: c.Backend.Broken, Path: s.Path, PathFrom: s.PathFrom})
	}
}

func commandLimits(c *config.Loaded) (any, error) {
	t := c.Terminal
	return shell.Config{Program: t.Shell, Timeout: time.Duration(t.Timeout) * time.Second, Passthrough: t.EnvPassthrough}, nil
}

func restoreLimits(c *config.Loaded) (any, error) {
	s := config.SectionOf[checkpoints.Settings](c, "checkpoints")
	return checkpoints.Config{Enabled: s.Enabled, Limits: s.Limits()}, nil
}

func programs(s *server.Service, pythons *codeexec.Pythons) extension.Extension {
	return codeexec.Extension(func(o *codeexec.Config, x *extension.Session) {
		o.Environ, o.Path, o.Pythons = s.Environ, s.Path, pythons
		o.MCPTool = func(server, tool string) string { return mcp.NameOf(x.Extensions(), server, tool) }
	})
}

func scripts(conf *config.Loaded) (any, error) {
	c := config.SectionOf[codeexec.Settings](conf, "code_execution").Config()
	c.Passthrough = conf.Terminal.EnvPassthrough
	return c, nil
}

func subagents(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return delegate.Extension(delegate.Config{Store: s.Store(), Sink: c.Sink, Host: c.Editor, Facts: c.Facts, Log: s.Log}, agentsOf)
	}
}

func subagentLimits(c *config.Loaded) (any, error) {
	return config.SectionOf[delegate.Settings](c, delegate.SectionName).Limits(), nil
}

func persona(c *config.Loaded) (any, error) {
	return instructions.Config{Personality: c.Agent.Personality, Text: c.Persona(), Elsewhere: c.Terminal.Backend == "ssh"}, nil
}

func questions(c *config.Loaded) (any, error) {
	return clarify.Config{Timeout: time.Duration(c.Approvals.Timeout) * time.Second}, nil
}

func webSearch(c *config.Loaded) (any, error) {
	s := config.SectionOf[web.Settings](c, "web")
	engine, err := s.Search.Engine(c)
	return webtools.Config{AllowPrivate: s.AllowPrivate, Search: engine}, err
}

// Config returns the schema of config.yaml with the sections of all features.
func Config() *config.Schema { return server.SchemaOf(Features) }
