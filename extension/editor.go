package extension

import (
	"context"
	"encoding/json"
)

// EditorState is the part of the editor visible to the user. Paths are absolute. Lines and columns
// count from 1.
type EditorState struct {
	Active ActiveFile
	Open   []OpenFile // the last used first
	// UnsavedUnknown is set if the editor does not report unsaved files. They can be compared with
	// the disk: see [tools.Files].
	UnsavedUnknown bool
	Problems       []FileProblems // of files with problems
}

// ActiveFile is the file the user works in. If Path is empty, it is unknown. Unknown numbers are 0.
type ActiveFile struct {
	Path         string
	Line, Column int // of the cursor
	First, Last  int // the selected lines
	Top, Bottom  int // the visible lines
}

// OpenFile is an open file in the editor.
type OpenFile struct {
	Path    string
	Unsaved bool
}

// FileProblems counts the problems shown for a file in the editor.
type FileProblems struct {
	Path             string
	Errors, Warnings int
}

// Problem is a problem shown in the editor.
type Problem struct {
	Path         string
	Line, Column int
	Severity     string // error, warning, information or hint
	Message      string
	Source, Code string // the program that found it, and its code; may be empty
}

// ServerQuery sends a request of the Language Server Protocol to the editor, whose language servers
// answer it. If path is not empty, the request is about this file, and its parameters get the
// document.
type ServerQuery func(ctx context.Context, method, path string, params map[string]any) ([]ServerAnswer, error)

// RejectedRequest is the error of a [ServerQuery] rejected by a language server of the editor.
type RejectedRequest struct{ Reason string }

func (e *RejectedRequest) Error() string { return e.Reason }

// ServerAnswer is the answer of one language server of the editor.
type ServerAnswer struct {
	Server string          `json:"server"`
	Result json.RawMessage `json:"result"`
}

// Situation describes model, mode and limits of a session, for the model.
type Situation struct {
	Mode    string // of approvals
	Sandbox string // the configured mode
	Network bool   // commands reach the network
	Model   string
	Window  int    // the model's context window in tokens; 0: unknown
	Small   bool   // the session uses the profile for small context windows: texts for the model must be short
	Remote  string // the machine and directory of commands and files; empty: this machine
}
