package policy

import (
	"path"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/protected"
)

// Each name of the list asks in every mode, in each folder and in any case.
func TestProtectedNames(t *testing.T) {
	t.Parallel()
	for _, n := range protected.Names() {
		name := n.Text
		switch n.Kind {
		case "passes":
			continue
		case "folder":
			name += "/x/y.md"
		case "ending":
			name = "x" + name
		}
		for _, folder := range []string{"", "sub/", "a/b c/"} {
			for _, file := range []string{name, strings.ToUpper(name)} {
				if v := Write("/ws/"+folder+file, here.Roots, "/h", nil); v.Level != Blocked && (v.Level != Asks || !v.EveryMode) {
					t.Errorf("write_file %s: %s every=%v", folder+file, v.Level, v.EveryMode)
				}
			}
		}
	}
	// A workspace in the folder of an agent is no setting of it, but its own settings are.
	for name, asks := range map[string]bool{"a.go": false, ".claude/x": true, "sub/AGENTS.md": true} {
		for _, root := range []string{"/home/u/.codex/worktrees/1/app", "/home/u/.hermes/worktrees/1"} {
			if v := Write(root+"/"+name, []string{root}, "/h", nil); (v.Level == Asks) != asks {
				t.Errorf("write_file %s in %s: %s", name, root, v.Level)
			}
		}
	}
	if v := Write("/home/u/.claude/skills/x.md", []string{"/home/u/.claude/skills"}, "/h", nil); v.Level != Asks {
		t.Errorf("a workspace in .claude: %s", v.Level)
	}
}

// Files that editors, shells, agents and package managers run or obey require approval in every
// mode, in each directory of the workspace and for every way of writing them.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	const files = ".helix/languages.toml .helix/config.toml .zed/settings.json .zed/tasks.json .mcp.json .claude/settings.json .claude/settings.local.json .claude/commands/x.md " +
		".cursor/mcp.json .cursor/rules/x.mdc .cursorrules .github/copilot-instructions.md .github/instructions/x.instructions.md .github/prompts/x.prompt.md GEMINI.md .gemini/settings.json " +
		".hermes.md HERMES.md AGENT.md .windsurfrules .windsurf/rules/x.md .clinerules .roo/mcp.json .continue/config.yaml .kiro/hooks/x .codex/config.toml .goosehints .aider.conf.yml " +
		".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml .cargo/config.toml .cargo/config .devcontainer/devcontainer.json .devcontainer/a/post.sh .pre-commit-config.yaml " +
		"lefthook.yml .husky/pre-commit .husky/_/husky.sh .githooks/pre-push .mise.toml mise.toml .dir-locals.el .gdbinit .lldbinit .lvimrc .vimrc .exrc .nvim.lua .envrc " +
		".bazelrc .mvn/jvm.config .rprofile .Rprofile .pdbrc .irbrc .curlrc .wgetrc pip.conf sitecustomize.py " +
		".vscode/settings.json .vscode/tasks.json .idea/workspace.xml AGENTS.md CLAUDE.md CLAUDE.local.md x.code-workspace .bsp/x.json .sourcekit-lsp/config.json buildServer.json hie.yaml .vs/tasks.vs.json .gitlab/duo/mcp.json .lefthook/pre-commit/x.sh .php-cs-fixer.php .gitmodules .git/config .git/info/exclude .fleet/run.json " +
		".hg/hgrc jupyter_server_config.py ipython_config.py rust-analyzer.toml .bashrc .profile .zshrc config.fish .gitconfig .tmux.conf .emacs .ghci .condarc"
	for _, file := range strings.Fields(files) {
		for _, folder := range []string{"", "sub/", "a/b c/"} {
			name := path.Join("/ws", folder+file)
			if v := Write(name, here.Roots, "/h", nil); v.Level != Asks || !v.EveryMode {
				t.Errorf("write_file %s: %s every=%v", name, v.Level, v.EveryMode)
			}
			q := quote(field{text: name})
			base, dir := quote(field{text: path.Base(name)}), quote(field{text: path.Dir(name)})
			for _, src := range []string{
				"echo x > " + q, "echo x >> " + q, "cp a " + q, "mv a " + q, "ln -sf a " + q, "tee " + q + " < a", "sed -i s/a/b/ " + q, "rm " + q, "touch " + q,
				"cd " + dir + " && echo x > " + base, "install -m 644 a " + q, "python3 -c 'open(\"" + name + "\",\"w\").write(\"x\")'", "curl -o " + q + " https://x", "dd of=" + q + " < a",
				"cat <<E > " + q + "\nx\nE", "node -e 'fs.writeFileSync(\"" + name + "\",\"x\")'", "cp x/" + base + " " + dir, "perl -pi -e s/a/b/ " + q,
				"sort -o " + q + " a", "git mv a " + q, "truncate -s 0 " + q, "wget -O " + q + " https://x", "awk '{print > \"" + name + "\"}' a", "vim -es '+wq' " + q,
			} {
				if v := Command(src, here); v.Level == Runs || !v.EveryMode {
					t.Errorf("%s: %s every=%v", src, v.Level, v.EveryMode)
				}
			}
		}
	}
	for _, file := range strings.Fields(".github/workflows/x.yml README.md src/main.go package.json .gitignore .env .editorconfig .prettierrc .eslintrc.json tsconfig.json Cargo.toml pyproject.toml " +
		"docs/agents/x.md agents/x.md src/claude/x.py Makefile .dockerignore Dockerfile .gitattributes .nvmrc .python-version mcp.json " +
		// Nothing runs code of these before the user starts a command: see docs/safety.md.
		".clangd conftest.py .rspec .perltidyrc .perlcriticrc .flake8 .vimspector.json .eslintrc.json .prettierrc.json vite.config.ts .github/dependabot.yml hooks/x agents/x instructions/x .hermes/chats/x.md") {
		if v := Write("/ws/"+file, here.Roots, "/h", nil); v.Level != Runs {
			t.Errorf("write_file %s: %s (%s)", file, v.Level, v.Reason)
		}
	}
}
