// Package editors lists the editors that can host hermes-ls, each with the text for its setup.
// `hermes-ls doctor` names the editors on this machine, and `hermes-ls setup` shows their texts.
package editors

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Editor is an editor for hermes-ls.
type Editor struct {
	Name    string
	Page    string // its page in docs
	Snippet string // lines of its setup page; empty: they are long, and the page shows them
	Ask     string // the first question
	program string
}

const pages = "https://github.com/hermes-ls/hermes-ls/blob/main/docs/"

var all = []Editor{
	{Name: "VS Code", program: "code", Page: "vscode.md", Ask: "Search for Hermes in the extensions, then press Ctrl+Alt+H."},
	{
		Name: "Neovim", program: "nvim", Page: "neovim.md", Ask: ":Hermes what does this project do?",
		Snippet: `{ "hermes-ls/hermes-ls", opts = {} }`,
	},
	{
		Name: "Emacs", program: "emacs", Page: "emacs.md", Ask: "Run M-x eglot-code-actions in a Markdown file and choose Chat with Hermes.",
		Snippet: `(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '((markdown-mode text-mode) . ("hermes-ls" "serve"))))
(setq eglot-confirm-server-initiated-edits nil) ; let answers stream into the chat
(add-hook 'markdown-mode-hook #'eglot-ensure)`,
	},
	{
		Name: "Helix", program: "hx", Page: "helix.md", Ask: "Press space a in a Markdown file and choose Chat with Hermes.",
		Snippet: `[language-server.hermes]
command = "hermes-ls"
args = ["serve"]

[[language]]
name = "markdown" # for the chat
language-servers = ["hermes"]`,
	},
	{
		Name: "Zed", program: "zed", Page: "zed.md", Ask: "Run agent: new thread and choose Hermes.",
		Snippet: `{ "agent_servers": { "Hermes": { "type": "custom", "command": "hermes-ls", "args": ["acp"] } } }`,
	},
	{Name: "Kakoune", program: "kak", Page: "kakoune.md"},
	{Name: "Vim", program: "vim", Page: "vim.md"},
}

// Named returns the editor of a name, in any case. If there is none, ok is false.
func Named(name string) (e Editor, ok bool) {
	i := slices.IndexFunc(all, func(e Editor) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return Editor{}, false
	}
	return all[i], true
}

// Found returns the editors whose programs are on PATH.
func Found() (found []Editor) {
	for _, e := range all {
		if _, err := exec.LookPath(e.program); err == nil {
			found = append(found, e)
		}
	}
	return found
}

// Show writes how each of the editors is set up.
func Show(w io.Writer, editors []Editor) {
	for _, e := range editors {
		fmt.Fprintf(w, "\n%s: %s%s\n", e.Name, pages, e.Page)
		for _, text := range []string{e.Snippet, e.Ask} {
			if text != "" {
				fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
			}
		}
	}
}
