// Package lsp is the agent as a language server for any LSP 3.17 editor without a plugin: commands,
// code actions, work-done progress, message requests, edits, and a chat in a Markdown document. On
// the same connection it carries the session methods of the Agent Client Protocol for editors with
// a plugin.
//
// [Serve] runs one connection. Messages are handled in the order in which they arrive. The reader
// handles documents, life cycle and cancel at once. A command takes a ticket of the queue, and then
// the reader handles the next message. A cancel also reaches queued turns. Messages after a
// response reach the writer after it.
//
// Each subject has a type: server (messages and life cycle), settings, sessions, prompts, quotes,
// chats, progresses, actions, and the commands of sessions, checkpoints and subagents. Package
// editor contains the client with its documents.
//
// Nothing that an editor sends or omits ends the connection, except the end of its input, exit, or
// a frame of unknown length.
package lsp
