// Package lsp is the face of the agent that any LSP 3.17 editor can use, with no
// plugin: commands, code actions, work-done progress, message requests, edits, and
// a conversation held in a Markdown document. On the same connection it carries
// the Agent Client Protocol's session methods for editors with a plugin.
//
// [Serve] runs one connection. Messages are handled in the order they come:
// documents, lifecycle and cancelling at once, inside the reader; work that takes
// time takes its place in line first and then lets the next message through. A cancel
// also reaches the turns that wait in the queue. Messages after a response are given to the
// writer after it.
// Nothing that an editor sends, or fails to send, ends the connection except its
// end of file, exit, or a frame whose length cannot be known.
package lsp
