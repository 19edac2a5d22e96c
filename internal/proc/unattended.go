package proc

import (
	"slices"
	"strings"
)

// noEditor is the code of the program used instead of an editor. Programs call it with a file. It
// keeps a message prepared by Git, Mercurial or Jujutsu, and a rebase list with more than plain picks.
// Everything else fails at once, with the way to do it without an editor.
const noEditor = `has_text() { sed '/^[^ ]* -* >8 -*$/,$d;/^JJ: ignore-rest/,$d' "$1" | grep -Ev "^($2|[[:space:]]*$)" >/dev/null; }
case $1 in
*rebase-todo)
	grep -Ev '^([#;]|[[:space:]]*$|(p|pick|l|label|t|reset|m|merge|u|update-ref) |noop)' "$1" >/dev/null && exit 0
	how='set GIT_SEQUENCE_EDITOR for this command to a program that changes the list, such as "sed -i ...", or use --autosquash or --exec' ;;
*_EDITMSG|*_MSG|*EDIT_DESCRIPTION)
	has_text "$1" '[#;]' && exit 0
	how='give the text with -m or -F, or keep the present one with --no-edit' ;;
*/hg-editor-*|*.jjdescription)
	has_text "$1" 'HG:|JJ:' && exit 0
	how='give the text with -m' ;;
*.histedit.hg.txt) how='give the changed list in a file with --commands' ;;
*) how='give the text in an option or on standard input, or write the file by a command' ;;
esac
echo "No editor can open here, and ${1##*/} has no text to go on with: $how." >&2
exit 1`

// editorCommand runs [noEditor] from a variable. Without a file, it works in sandboxes and on other
// machines, and it contains no quotes for a program to misread.
const editorCommand = `sh -c 'eval "$NO_EDITOR_HERE"' editor`

// editors are variables that name an editor. Variables of programs whose settings win over VISUAL
// and EDITOR are always set.
var editors = []string{
	"EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "HGEDITOR", "SVN_EDITOR", "JJ_EDITOR", "BRZ_EDITOR", "BZR_EDITOR", "P4EDITOR",
	"KUBE_EDITOR", "SUDO_EDITOR", "GH_EDITOR", "FCEDIT",
}

// vimInit ends Vim and Neovim if they would wait for a key without a terminal. Vim takes keys from
// its standard error then, Neovim waits for a user interface, both until the time limit. The
// commands of -c run before VimEnter, and may have ended it. With an option for scripts or another
// user interface, Neovim continues.
const vimInit = `VIMINIT=autocmd VimEnter * if $TERM ==# "dumb" && (!has("nvim") || empty(nvim_list_uis()) && match(v:argv, '^\(--headless\|--embed\|--listen\|-[eE]s\|-l\)') < 0) | ` +
	`silent! call writefile(["", "Vim has no terminal here, and was ended. Change the file with the tools for files or with a command. With -es and -c (Neovim: --headless and -c), Vim runs commands without a terminal."], "/dev/stderr") | ` +
	`cquit | endif`

// unattended are the other variables against waiting for a user: for pagers, for password prompts
// in a window, for npm's editor, and for the merge tool that Mercurial starts by itself. It leaves
// the usual marks at a conflict then.
var unattended = []string{
	"PAGER=cat", "GIT_PAGER=cat", "HGMERGE=:merge",
	`npm_config_editor=sh -c eval${IFS}"$NO_EDITOR_HERE" editor`, // npm splits it at spaces, without a shell
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
	vimInit,
}

// Unattended returns env with variables that keep programs from waiting for a user in an editor, a
// pager or a window with a question. Variables named in keep are unchanged.
func Unattended(env, keep []string) []string {
	settings := slices.Clone(unattended)
	for _, name := range editors {
		settings = append(settings, name+"="+editorCommand)
	}
	settings = append(settings, "NO_EDITOR_HERE="+noEditor)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case slices.Contains(editors, name):
		case strings.HasSuffix(name, "EDITOR"):
			settings = append(settings, name+"="+editorCommand)
		case strings.HasSuffix(name, "PAGER") && name != "PAGER" && name != "GIT_PAGER":
			settings = append(settings, name+"=cat")
		}
	}
	out := slices.Clone(env)
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		if slices.Contains(keep, name) && slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			continue
		}
		out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		out = append(out, s)
	}
	return out
}
