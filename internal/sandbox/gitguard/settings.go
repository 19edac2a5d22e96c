package gitguard

import (
	"path/filepath"
	"slices"
	"strings"
)

// runsByItself are names of files and folders that run or configure something as soon as
// a folder is opened in an editor, entered by a shell, or worked in by an agent. If they
// exist in a root, they are read-only there. In its folders a change is asked about.
var runsByItself = []string{
	".vscode", ".idea", ".zed", ".helix", ".fleet", ".devcontainer", ".devcontainer.json", ".vim", ".exrc", ".nvimrc", ".nvim.lua", ".vimrc", ".lvimrc",
	".dir-locals.el", ".gdbinit", ".lldbinit", ".envrc", ".mise.toml", "mise.toml", ".mise", ".autoenv.zsh", ".env.fish",
	".dir-locals-2.el", ".local.vimrc", ".autoenv", ".mise.local.toml", "mise.local.toml",
	".Rprofile", ".pdbrc", ".ghci", ".irbrc", ".pryrc", "jupyter_server_config.py", "jupyter_notebook_config.py", "ipython_config.py",
	".lazygit.yml", ".qwen", ".crush.json", "crush.json", ".kilocode", ".trae", ".factory",
	".hermes", ".claude", ".cursor", ".gemini", ".codex", ".windsurf", ".continue", ".roo", ".kiro", ".mcp.json", ".opencode", "opencode.json", ".amazonq", ".junie", ".aider.conf.yml",
}

// instructs are names of files that agents obey, or that a tool runs from when the user
// calls it. Repositories change them all the time, so they are not read-only: a command
// that changes one is asked about, unless it is git itself.
var instructs = []string{
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".hermes.md", ".cursorrules", ".windsurfrules", ".clinerules",
	".gitmodules", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".npmrc",
	"lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook-local.yml", "lefthook-local.yaml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json", ".lefthook-local.yml", ".yarnrc.yml", ".pnpmfile.cjs",
	".yarnrc", "bunfig.toml", ".bazelrc", ".mvn", ".lfsconfig", "rust-analyzer.toml",
}

// inFolder are files that configure a tool in a folder of one of these names, and mean
// nothing elsewhere.
var inFolder = map[string][]string{
	"config.toml": {".cargo", "repo", "mise"}, "config": {".cargo", ".bundle", ".sl"}, // repo: of .jj
	"hgrc": {".hg"}, "hgrc-not-shared": {".hg"}, "hooks": {".github"},
	"copilot-instructions.md": {".github"},
}

// inRepository are names in a git folder that other programs than git run or obey: lazygit's
// settings, and the folder by which shells of some take bin for a folder of their programs.
var inRepository = []string{"lazygit.yml", "safe"}

func selfRunning(name string) bool {
	return slices.Contains(runsByItself, name) || strings.HasSuffix(name, ".code-workspace")
}

// interesting reports whether a walk notes an entry of that name.
func interesting(name string) bool {
	if name == "" {
		return false
	}
	switch name[0] {
	case '.', 'A', 'C', 'G', 'b', 'c', 'h', 'i', 'j', 'l', 'm', 'o', 'r':
	default:
		return strings.HasSuffix(name, ".code-workspace")
	}
	return selfRunning(name) || slices.Contains(instructs, name) || inFolder[name] != nil
}

// settingsPlace reports whether a path is a place that configures something, and whether it
// runs by itself.
func settingsPlace(path string) (place, byItself bool) {
	name := filepath.Base(path)
	if folders := inFolder[name]; folders != nil {
		return slices.Contains(folders, filepath.Base(filepath.Dir(path))), false
	}
	return interesting(name), selfRunning(name)
}

// dependencies are folders with code of others: packages bring their own settings, which
// no editor reads there.
var dependencies = []string{"node_modules", ".venv", "venv", "site-packages", "vendor", "target", ".tox", ".nox", "bower_components", "Pods", ".terraform", ".gradle", ".cache", "dist", "build"}

// inDependencies reports whether a path lies in such a folder below a root.
func inDependencies(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(filepath.Dir(rel), string(filepath.Separator)), func(part string) bool {
		return slices.Contains(dependencies, part)
	})
}
