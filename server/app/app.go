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

	"github.com/hermes-ls/hermes-ls/agent/model"
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
	"github.com/hermes-ls/hermes-ls/extensions/goal"
	"github.com/hermes-ls/hermes-ls/extensions/history"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/instructions"
	"github.com/hermes-ls/hermes-ls/extensions/learnings"
	"github.com/hermes-ls/hermes-ls/extensions/lsp"
	"github.com/hermes-ls/hermes-ls/extensions/markdown"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/sampling"
	"github.com/hermes-ls/hermes-ls/extensions/memory"
	"github.com/hermes-ls/hermes-ls/extensions/plan"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/extensions/references"
	"github.com/hermes-ls/hermes-ls/extensions/shell"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/extensions/toolsearch"
	"github.com/hermes-ls/hermes-ls/extensions/verify"
	"github.com/hermes-ls/hermes-ls/extensions/vision"
	"github.com/hermes-ls/hermes-ls/extensions/web"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
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
		{Core: mcpServers(s), Settings: mcp.Settings(), Section: servers(&known), Commands: mcp.Table, Toolset: mcp.ResourceToolset, Loads: trust.Loads()},
		{Core: checks, Settings: verify.Section()}, // before the checkpoints: its turn begins first
		{
			Core: restorePoints(kept), Settings: checkpoints.Section(), Section: restoreLimits, Commands: checkpoints.Table, Toolset: checkpoints.Toolset, Needs: server.NeedsLocalFiles, Stored: true,
			Preload: checkpoints.Preload, Shutdown: kept.Close, Deleted: kept.Forget, Moved: moveCheckpoints(kept),
		},
		{Extension: todo.New(), Toolset: todo.Toolset, Preload: todo.Preload},
		{Core: fileTools, Toolset: files.Toolset, Needs: server.NeedsFiles, Preload: files.Preload},
		{Core: languageServers(s), Settings: lsp.Section(), Toolset: lsp.Toolset, Needs: server.NeedsLocalFiles, Preload: lsp.Preload},
		{Core: commands(s), Section: commandLimits, Toolset: shell.Toolset, Preload: shell.Preload, Moved: moveCommands(s)},
		{Core: func(*server.Core) extension.Extension { return web.New(s.Version) }, Settings: web.Section(), Section: webSearch, Toolset: web.Toolset, Preload: web.Preload},
		{Core: pictures, Toolset: vision.Toolset, Preload: vision.Preload},
		{Core: environmentExtension, Moved: tellMove(s)},
		{Core: fileReferences},
		{Extension: clarify.New(), Toolset: clarify.Toolset, Section: questions, Preload: clarify.Preload},
		{Core: plans, Preload: plan.Preload},
		{Extension: history.New(s.Store), Toolset: history.Toolset, Preload: history.Preload},
		{Core: programs(s, pythons), Settings: codeexec.Section(), Section: scripts, Toolset: codeexec.Toolset, Needs: server.NeedsLocalProgram, Preload: codeexec.Preload},
		{Core: subagents(s), Settings: delegate.Section(), Section: subagentLimits, Commands: delegate.Table, Toolset: delegate.Toolset, Preload: delegate.Preload, Moved: moveWorktrees(s)},
		{Extension: goal.New(), Commands: goal.Table},
		{Extension: hooks.New(hookOptions(s)), Settings: hooks.Section(), Section: configuredHooks, Commands: hooks.Table},
		{Extension: plugins.New(pluginOptions(s)), Settings: plugins.Section(), Section: enabledPlugins, Commands: plugins.Table},
		{Extension: learnings.New(learned), Settings: learnings.Section(), Commands: learnings.Table, Shutdown: learned.Close, Moved: moveLearnings(learned)},
		{Core: func(c *server.Core) extension.Extension { return feedback.New(s.Home, c.Offers) }, Settings: feedback.Section(), Commands: feedback.Table},
		{Core: found, Settings: toolsearch.Section(), Section: toolsearch.Of},
		{Extension: memory.New(s.Home), Settings: memory.Section(), Commands: memory.Table, Toolset: memory.Toolset, Preload: memory.Preload, Moved: moveMemory(s)},
		{Core: trusted, Section: trustStore, Commands: foldertrust.Table, Moved: moveTrust(s)},
		{Extension: markdown.Extension(), Settings: markdown.Section(), Section: commandFiles, Loads: markdown.Loads()},
		{Core: skillsExtension(s), Settings: skills.Section(), Section: skillLimits(&known), Commands: skills.Table, Toolset: skills.Toolset, Preload: skills.Preload, Loads: skills.Loads()},
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
	all, problems := hooks.Of(c)
	return all, errors.Join(problems...)
}

func mcpServers(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return mcp.Extension(mcp.Options{Show: c.Show, Question: c.Question, Open: c.OpenAddress, Approve: approveServer(c), Revoke: revokeServer(c), Config: mcp.Config{
			Version: s.Version, Dir: mcp.Dir(s.Home), Home: s.Home, Environ: s.Environ, Path: s.Path, Log: s.Log,
			Sampling: sampling.User{Spend: c.Spend, Model: func(ctx context.Context, route string) (model.Model, string, error) {
				section := "mcp"
				if route != "" {
					section = delegate.SectionName // it has the named routes
				}
				m, name, _, err := c.Model(ctx, section, route)
				return m, name, err
			}},
			Confine: func(ctx context.Context, p *proc.Cmd, files map[string][]byte) error {
				return c.Sandbox.With(sandbox.Opening{Frozen: files}).Confine(ctx, p)
			},
		}})
	}
}

// approveServer approves an MCP server of the workspace in a session.
func approveServer(c *server.Core) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		folders, err := foldersOf(c)
		if err != nil {
			return "", err
		}
		return folders.Approve(ctx, name)
	}
}

// revokeServer removes the approval of an MCP server of the workspace.
func revokeServer(c *server.Core) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		folders, err := foldersOf(c)
		if err != nil {
			return "", err
		}
		return folders.Disapprove(ctx, name)
	}
}

func foldersOf(c *server.Core) (*foldertrust.Instance, error) {
	folders, ok := extension.Find[*foldertrust.Instance](c.Extensions())
	if !ok {
		return nil, errors.New("this session has no trusted folders")
	}
	return folders, nil
}

func found(c *server.Core) extension.Extension { return toolsearch.New(c.Extensions) }

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

func environmentExtension(c *server.Core) extension.Extension {
	return environment.New(environment.Options{Confine: func(ctx context.Context, p *proc.Cmd, reads ...string) error {
		return c.Sandbox.ConfineOwn(ctx, p, sandbox.Own{Reads: reads})
	}})
}

func pictures(c *server.Core) extension.Extension {
	return vision.New(vision.Options{
		Offered: c.Looks, Look: c.Look,
		Fetch: func(ctx context.Context, address string) ([]byte, error) {
			pages, ok := c.Extensions().PageReader()
			if !ok {
				return nil, errors.New("addresses are not read in this session")
			}
			return pages.Fetch(ctx, address)
		},
	})
}

func fileReferences(c *server.Core) extension.Extension {
	return references.New(references.Options{
		Confine: func(ctx context.Context, p *proc.Cmd, reads ...string) error {
			return c.Sandbox.ConfineOwn(ctx, p, sandbox.Own{Reads: reads})
		},
		Hidden: c.Sandbox.Hidden,
		Page: func(ctx context.Context, address string) (title, text string, err error) {
			pages, ok := c.Extensions().PageReader()
			if !ok {
				return "", "", errors.New("web pages are not available in this session")
			}
			return pages.Page(ctx, address)
		},
	})
}

func restorePoints(kept *checkpoint.Store) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return checkpoints.New(checkpoints.Options{
			Store: kept, Workspace: c.Workspace, Remote: c.Remote, Show: c.Show, Ask: c.Ask, Exclusive: c.Exclusive,
			Busy: func() bool { return busy(c.Extensions()) },
			Confine: func(ctx context.Context, p *proc.Cmd, reads ...string) error {
				return c.Sandbox.ConfineOwn(ctx, p, sandbox.Own{Reads: reads})
			},
		})
	}
}

// checks asks the checkpoints which files commands have changed.
func checks(c *server.Core) extension.Extension {
	return verify.New(func(ctx context.Context, since time.Time) ([]string, error) {
		kept, ok := c.Extensions().Changes()
		if !ok {
			return nil, nil
		}
		return kept.ChangedSince(ctx, since)
	})
}

// busy reports whether a command in the background runs.
func busy(s *extension.Set) bool {
	commands, ok := s.Shell()
	return ok && commands.Busy()
}

// fileTools also report the problems of our own language servers, if any runs.
func fileTools(c *server.Core) extension.Extension { return files.New(editProblems(c)) }

func editProblems(c *server.Core) lsp.Diagnoser {
	return lsp.Diagnoser{Editor: c.Diagnoser, Servers: func() *lsp.Instance {
		x, _ := extension.Find[*lsp.Instance](c.Extensions())
		return x
	}}
}

func languageServers(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		environ, _ := proc.Filter(s.Environ, nil) // as commands get it: servers run the same tools
		return lsp.New(lsp.Options{
			Hidden: c.Sandbox.Hidden, Environ: environ, Path: s.Path,
			Interpreter: func(ctx context.Context) string {
				scripts, ok := c.Extensions().Interpreter()
				if !ok {
					return ""
				}
				return scripts.Interpreter(ctx)
			},
			Log: func(name, line string) { s.Log.Debug("language server", "server", name, "text", line) },
		})
	}
}

func commands(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return shell.New(shell.Options{Show: c.Show, Terminals: c.Terminals, Backend: c.Backend, Broken: c.NoBackend, Path: s.Path, PathFrom: s.PathFrom})
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

func programs(s *server.Service, pythons *codeexec.Pythons) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return codeexec.Extension(func(o *codeexec.Config) {
			o.Environ, o.Path, o.Pythons = s.Environ, s.Path, pythons
			o.MCPTool = func(server, tool string) string { return mcp.NameOf(c.Extensions(), server, tool) }
		}, c.Extensions)
	}
}

func plans(c *server.Core) extension.Extension {
	return plan.New(plan.Options{
		Planning: func() bool { return c.Mode() == server.ModePlan }, SetMode: c.SetMode, Ask: c.Ask,
	})
}

func scripts(conf *config.Loaded) (any, error) {
	c := config.SectionOf[codeexec.Settings](conf, "code_execution").Config()
	c.Passthrough = conf.Terminal.EnvPassthrough
	return c, nil
}

func subagents(s *server.Service) func(*server.Core) extension.Extension {
	return func(c *server.Core) extension.Extension {
		return delegate.Extension(delegate.Config{
			Store: s.Store(), Sink: c.Sink, Host: c.Editor, Facts: c.Facts, Log: s.Log, Sandbox: c.Sandbox, Extensions: c.Extensions,
			Agents: func() []delegate.Agent { return agentsOf(c) },
			Model: func(ctx context.Context, route string) (delegate.Model, error) {
				m, name, window, err := c.Model(ctx, delegate.SectionName, route)
				return delegate.Model{Model: m, Name: name, Window: window, Sees: func(ctx context.Context) bool { return model.CanSee(ctx, m, false) }}, err
			},
			Describe: c.Describe,
		})
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
