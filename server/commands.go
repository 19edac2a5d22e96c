package server

import (
	"cmp"
	"slices"

	"github.com/hermes-ls/hermes-ls/extension"
)

// table holds the rows of the command table that belong to no extension. This package implements
// only slash commands: see [answers]. Rows with Execute run in server/lsp. Plugins have their own
// functions, also for rows with neither.
var table = []extension.Command{
	{Execute: "hermes.prompt", VSCode: "hermes.ask", Neovim: "ask", Title: "Ask…", Description: "Send a prompt, with the selected lines"},
	{Execute: "hermes.explain", VSCode: "hermes.explain", Neovim: "explain", Title: "Explain", Description: "Explain a file or the selected lines", Order: 1},
	{Execute: "hermes.fix", VSCode: "hermes.fix", Neovim: "fix", Title: "Fix Problems", Description: "Fix the diagnostics at the cursor, else of the file", Order: 2},
	{Execute: "hermes.review", VSCode: "hermes.review", Neovim: "review", Title: "Review File or Selection", Description: "Review a file, the selected lines, or “changes”: the uncommitted changes", Order: 3},
	{Execute: "hermes.test", VSCode: "hermes.test", Neovim: "test", Title: "Write Tests", Description: "Write tests for a file or the selected lines", Order: 4},
	{Execute: "hermes.document", VSCode: "hermes.document", Neovim: "document", Title: "Document", Description: "Document a file or the selected lines", Order: 5},
	{Execute: "hermes.edit", VSCode: "hermes.edit", Neovim: "edit", Title: "Edit…", Description: "Edit the selected lines by an instruction; review the changes in place", Order: 6},
	{Execute: "hermes.chat.open", VSCode: "hermes.chat.open", Neovim: "chat", Title: "Open Chat", Description: "Open the chat and quote the selected lines", Order: 10},
	{Execute: "hermes.chat.send", VSCode: "hermes.chat.send", Title: "Send to Hermes", Description: "Send the prompt of a chat document", Order: 11},
	{Execute: "hermes.cancel", VSCode: "hermes.cancel", Neovim: "cancel", Title: "Cancel", Description: "Cancel the running turn", Order: 12},

	{Name: "help", Description: "List the commands", Order: 15},
	{Name: "status", Description: "Show model, usage, mode and sandbox", Order: 20},
	{Name: "usage", VSCode: "hermes.usage", Neovim: "usage", Sent: true, Title: "Usage", Description: "Show the cost of the session, of today and of the last days", Order: 25},
	{Name: "model", VSCode: "hermes.model", Neovim: "model", Title: "Choose Model…", Description: "Show or choose the model", Hint: "name of a model", Order: 30},
	{Name: "mode", VSCode: "hermes.mode", Neovim: "mode", Title: "Choose Approval Mode…", Description: "Show or choose the approval mode", Hint: "ask, careful, auto or plan", Order: 40},
	{Name: "think", Neovim: "thinking", Description: "Show or choose how long the model thinks", Hint: "default, low, medium or high", Order: 50},
	{Name: "compact", Description: "Replace older messages by a summary", Hint: "what the summary must keep", Order: 60},
	{Name: "undo", Description: "Rewind to before your last prompt and restore the files", Order: 70},
	{Neovim: "resend", Description: "Change an earlier prompt and send it again; it rewinds the session", Order: 71},
	{Neovim: "restore", Description: "Restore the files to before a prompt; it rewinds the session, too", Order: 72},
	{Neovim: "retry", Description: "Send the prompt again whose turn failed", Order: 73},
	{Name: "new", Execute: "hermes.session.new", VSCode: "hermes.session.new", Neovim: "new", Title: "New Session", Description: "Start a new session; the old one is kept", Order: 80},
	{Execute: "hermes.session.list", Description: "List the sessions of the workspace", Order: 81},
	{Execute: "hermes.session.load", VSCode: "hermes.session.load", Neovim: "resume", Title: "Resume Session…", Description: "Resume an earlier session", Order: 82},
	{Execute: "hermes.session.delete", VSCode: "hermes.session.delete", Neovim: "delete", Title: "Delete Session…", Description: "Delete an earlier session", Order: 83},
	{Name: "fork", Execute: "hermes.session.fork", VSCode: "hermes.session.fork", Neovim: "fork", Title: "Fork Session", Description: "Create another session from this one", Order: 90},
	{Name: "sessions", Description: "List the sessions of this directory", Order: 120},
	{Name: "title", Description: "Show or change the title of the session", Hint: "a title, or auto", Order: 130},
	{Name: "notes", Description: "Show or replace your notes on the session", Hint: "notes; the model does not see them", Order: 140},
	{Name: "tools", Description: "List the tools that the model has", Order: 150},
	{Execute: "hermes.transcript", VSCode: "hermes.transcript", Neovim: "transcript", Title: "Show Transcript", Description: "Show the session as Markdown, results included", Order: 170},
	{VSCode: "hermes.session.export", Neovim: "export", Title: "Export Session…", Description: "Write the session to a file, without keys", Hint: "a new file", Order: 171},

	{VSCode: "hermes.sessions.search", Neovim: "sessions", Title: "Search Sessions…", Description: "List the sessions of the workspace, or search their text", Order: 175},
	{VSCode: "hermes.sessions.clear", Title: "Show All Sessions", Description: "End the search in the list of sessions", Order: 176},
	{VSCode: "hermes.sessions.refresh", Title: "Refresh Sessions", Description: "Read the list of sessions again", Order: 177},
	{VSCode: "hermes.extensions.refresh", Title: "Refresh Extensions", Description: "Read the list of extensions again", Order: 178},
	{VSCode: "hermes.extensions.openFile", Title: "Open File", Description: "Open the file of a command or an agent", Order: 179},

	{VSCode: "hermes.askSelection", Title: "Ask About Selection…", Description: "Send a prompt with the selection", Order: 200},
	{VSCode: "hermes.reviewChanges", Title: "Review Changes", Description: "Review the uncommitted changes", Order: 201},
	{VSCode: "hermes.mention", Title: "Mention in Chat", Description: "Mention a file or the selection in the chat", Order: 202},
	{VSCode: "hermes.changes.show", Neovim: "diff", Title: "Show Changes of This Turn", Description: "Compare the files of the last turn with their earlier text", Order: 210},
	{VSCode: "hermes.changes.open", Title: "Open Changes", Description: "Compare a file with its earlier text", Order: 211},
	{VSCode: "hermes.changes.openFile", Title: "Open File", Description: "Open a changed file", Order: 212},
	{VSCode: "hermes.changes.accept", Title: "Accept", Description: "Accept the changes of a file or turn", Order: 213},
	{VSCode: "hermes.changes.revert", Title: "Revert", Description: "Revert the changes of a file or turn", Order: 214},
	{VSCode: "hermes.changes.acceptAll", Title: "Accept All", Description: "Accept all changes", Order: 215},
	{VSCode: "hermes.changes.revertAll", Title: "Revert All", Description: "Revert all changes", Order: 216},
	{VSCode: "hermes.edit.submit", Title: "Edit These Lines", Description: "Edit the lines by what is written below them", Order: 217},
	{VSCode: "hermes.edit.close", Title: "Close Without an Edit", Description: "Close the field below the lines", Order: 217},
	{VSCode: "hermes.edit.accept", Neovim: "accept", Title: "Accept Change", Description: "Accept the change at the cursor, after an edit", Order: 217},
	{VSCode: "hermes.edit.reject", Neovim: "reject", Title: "Reject Change", Description: "Reject the change at the cursor, after an edit", Order: 218},
	{Neovim: "hunk", Description: "Go to a change of the agent in this file; show, accept or revert it", Hint: "next, previous, preview, accept or revert", Order: 218},
	{Neovim: "image", Description: "Attach a picture to the next prompt: a path, or clipboard", Hint: "path or clipboard", Order: 219},
	{Neovim: "toggle", Description: "Show or hide the chat", Order: 220},
	{Neovim: "close", Description: "Hide the chat", Order: 221},
	{VSCode: "hermes.menu", Title: "Show Menu", Description: "Show the menu of the status bar", Order: 222},
	{VSCode: "hermes.provider", Neovim: "setup", Title: "Choose Model Provider…", Description: "Choose the model provider", Order: 230},
	{VSCode: "hermes.key", Title: "Set API Key…", Description: "Set the API key of a model provider", Order: 231},
	{VSCode: "hermes.settings", Neovim: "settings", Title: "Open Settings", Description: "Edit the settings", Order: 232},
	{VSCode: "hermes.doctor", Neovim: "doctor", Title: "Doctor", Description: "Check the installation", Order: 233},
	{VSCode: "hermes.restart", Neovim: "restart", Title: "Restart Server", Description: "Restart the server", Order: 234},
	{VSCode: "hermes.log", Title: "Show Log", Description: "Show the log of the server", Order: 235},
}

// CommandTable returns the rows for all sessions, extensions' rows included.
func (s *Service) CommandTable() []extension.Command {
	all := slices.Clone(table)
	for _, f := range s.features {
		all = append(all, f.Commands...)
	}
	slices.SortStableFunc(all, func(a, b extension.Command) int { return cmp.Compare(a.Order, b.Order) })
	return all
}
