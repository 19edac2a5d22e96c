package approval

import (
	"path"
	"slices"
	"strings"
)

// What editors, shells, agents and package managers run or obey by themselves, wherever it
// lies in a workspace. Names are folded: lower case.

const (
	editorSettings = "changes the editor's settings"
	agentSettings  = "changes what agents obey or run"
	shellStart     = "changes a shell start file"
	toolSettings   = "changes settings by which tools run programs or load packages"
)

// protectedFolders are protected with all that is in them.
var protectedFolders = map[string]string{
	".vscode": editorSettings, ".idea": editorSettings, ".zed": editorSettings, ".helix": editorSettings, ".fleet": editorSettings, ".nova": editorSettings,
	".cursor": agentSettings, ".claude": agentSettings, ".gemini": agentSettings, ".windsurf": agentSettings, ".continue": agentSettings, ".roo": agentSettings,
	".kiro": agentSettings, ".codex": agentSettings, ".clinerules": agentSettings, ".amazonq": agentSettings, ".junie": agentSettings, ".opencode": agentSettings,
	".devcontainer": toolSettings, ".husky": "changes git hooks", ".githooks": "changes git hooks",
}

// protectedPaths are protected by the end of their paths: a name, or a name in a folder.
var protectedPaths = map[string]string{
	// instructions of agents
	"agents.md": agentSettings, "claude.md": agentSettings, "claude.local.md": agentSettings, "gemini.md": agentSettings, ".hermes.md": agentSettings,
	"hermes.md": agentSettings, "agent.md": agentSettings, "crush.md": agentSettings, "qwen.md": agentSettings, "copilot-instructions.md": agentSettings,
	".cursorrules": agentSettings, ".windsurfrules": agentSettings, ".clinerules": agentSettings, ".roomodes": agentSettings, ".goosehints": agentSettings,
	".aider.conf.yml": agentSettings, ".mcp.json": agentSettings, ".crush.json": agentSettings, "opencode.json": agentSettings,
	// editors
	".nvim.lua": editorSettings, ".exrc": editorSettings, ".nvimrc": editorSettings, ".vimrc": editorSettings, ".gvimrc": editorSettings, ".lvimrc": editorSettings,
	".local.vimrc": editorSettings, ".dir-locals.el": editorSettings, ".dir-locals-2.el": editorSettings, ".projectile": editorSettings, ".kakrc": editorSettings,
	".sublime-project": editorSettings, ".editorconfig-lint": editorSettings, ".lldbinit": editorSettings, ".gdbinit": editorSettings, ".gdbearlyinit": editorSettings,
	".emacs": editorSettings, ".ycm_extra_conf.py": editorSettings,
	// shells and environments
	".envrc": shellStart, ".bashrc": shellStart, ".bash_profile": shellStart, ".bash_login": shellStart, ".bash_logout": shellStart, ".bash_aliases": shellStart,
	".profile": shellStart, ".zshrc": shellStart, ".zshenv": shellStart, ".zprofile": shellStart, ".zlogin": shellStart, ".zlogout": shellStart, ".kshrc": shellStart,
	".cshrc": shellStart, ".tcshrc": shellStart, ".login": shellStart, ".inputrc": shellStart, "config.fish": shellStart, ".tmux.conf": shellStart, ".screenrc": shellStart,
	".mise.toml": shellStart, "mise.toml": shellStart, ".mise.local.toml": shellStart, "mise.local.toml": shellStart, ".mise/config.toml": shellStart, ".rtx.toml": shellStart,
	".autoenv": shellStart, ".autoenv.zsh": shellStart, "devbox.json": toolSettings, ".lando.yml": toolSettings,
	// git and its hooks
	".gitmodules": "changes where submodules come from", ".gitconfig": "changes git's configuration", ".lfsconfig": "changes git's configuration",
	".pre-commit-config.yaml": "changes git hooks", ".pre-commit-hooks.yaml": "changes git hooks", "lefthook.yml": "changes git hooks", "lefthook.yaml": "changes git hooks",
	".lefthook.yml": "changes git hooks", "lefthook-local.yml": "changes git hooks", ".huskyrc": "changes git hooks", ".lintstagedrc": "changes git hooks",
	".overcommit.yml": "changes git hooks", "simple-git-hooks.json": "changes git hooks", ".simple-git-hooks.json": "changes git hooks",
	// package managers
	".npmrc": toolSettings, ".yarnrc": toolSettings, ".yarnrc.yml": toolSettings, ".pnpmfile.cjs": toolSettings, "bunfig.toml": toolSettings,
	".cargo/config.toml": toolSettings, ".cargo/config": toolSettings, "pip.conf": toolSettings, ".pypirc": toolSettings, ".netrc": toolSettings,
	".bazelrc": toolSettings, ".mvn/jvm.config": toolSettings, ".mvn/maven.config": toolSettings, ".mvn/extensions.xml": toolSettings, ".bundle/config": toolSettings,
	".gemrc": toolSettings, ".irbrc": toolSettings, ".pryrc": toolSettings, ".rprofile": toolSettings, ".renviron": toolSettings, ".condarc": toolSettings,
	".pythonstartup": toolSettings, ".pdbrc": toolSettings, "sitecustomize.py": toolSettings, "usercustomize.py": toolSettings,
	".npm-init.js": toolSettings, ".octaverc": toolSettings, ".guile": toolSettings, ".ghci": toolSettings, ".iex.exs": toolSettings, ".sqliterc": toolSettings, ".psqlrc": toolSettings,
	".curlrc": toolSettings, ".wgetrc": toolSettings, ".ssh/config": toolSettings, ".docker/config.json": toolSettings,
}

// special judges paths that configure or run something wherever they lie.
func special(folded string) (Level, string) {
	parts := strings.Split(folded, "/")
	for i, part := range parts {
		if part == ".git" {
			return inGit(parts[i+1:])
		}
		if reason := protectedFolders[part]; reason != "" {
			return Asks, reason + " (" + visible(part) + ")"
		}
	}
	last := parts[len(parts)-1]
	reason := protectedPaths[last]
	if reason == "" && len(parts) > 1 {
		reason = protectedPaths[path.Join(parts[len(parts)-2], last)]
	}
	switch {
	case reason != "":
		return Asks, reason + " (" + visible(last) + ")"
	case strings.HasSuffix(last, ".code-workspace"), strings.HasSuffix(last, ".sublime-project"):
		return Asks, editorSettings + " (" + visible(last) + ")"
	case strings.HasSuffix(last, ".instructions.md"), strings.HasSuffix(last, ".prompt.md"), strings.HasSuffix(last, ".chatmode.md"), strings.HasSuffix(last, ".agent.md"):
		return Asks, agentSettings + " (" + visible(last) + ")"
	}
	return Runs, ""
}

// patternMayMatch returns a protected name that a pattern of the shell matches, or "".
// Only a pattern that begins with a dot matches names that do.
func patternMayMatch(pattern string) string {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return name
		}
	}
	if pattern[0] != '.' && pattern[0] != '[' {
		return ""
	}
	names := []string{".git", ".hermes"}
	for _, m := range []map[string]string{protectedFolders, protectedPaths} {
		for name := range m {
			if name[0] == '.' && !strings.Contains(name, "/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if ok, err := path.Match(strings.ToLower(pattern), name); err == nil && ok {
			return name
		}
	}
	return ""
}
