package editor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// Params is the part of InitializeParams for this server. It is read with [ReadInitialize]: a
// member of a wrong type is a zero value and not an error.
type Params struct {
	ProcessID        int             `json:"processId"`
	RootURI          string          `json:"rootUri"`
	RootPath         string          `json:"rootPath"`
	WorkspaceFolders []Folder        `json:"workspaceFolders"`
	Init             json.RawMessage `json:"initializationOptions"`
	ClientInfo       struct {
		Name string `json:"name"`
	} `json:"clientInfo"`
	Capabilities capabilities `json:"capabilities"`
}

// Folder is a workspace folder.
type Folder struct {
	URI string `json:"uri"`
}

// capabilities are the client capabilities for this server.
type capabilities struct {
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
	Workspace struct {
		ApplyEdit     bool `json:"applyEdit"`
		Configuration bool `json:"configuration"`
	} `json:"workspace"`
	Window struct {
		WorkDoneProgress bool `json:"workDoneProgress"`
		ShowDocument     struct {
			Support bool `json:"support"`
		} `json:"showDocument"`
	} `json:"window"`
	TextDocument struct {
		CodeAction struct {
			LiteralSupport struct {
				Kind struct {
					ValueSet []json.RawMessage `json:"valueSet"`
				} `json:"codeActionKind"`
			} `json:"codeActionLiteralSupport"`
		} `json:"codeAction"`
	} `json:"textDocument"`
	Experimental struct {
		ACP json.RawMessage `json:"agentClientProtocol"`
	} `json:"experimental"`
}

// ReadInitialize decodes the members with the right type, and ignores others: clients have
// sent [] for {}, null for a string, and numbers for booleans. The error, which is for
// the log, names the first such member.
func ReadInitialize(params []byte) (Params, error) {
	var p Params
	err := json.Unmarshal(params, &p) // goes on behind a value of a wrong type
	return p, err
}

// Folders returns the workspace folders, the main folder first. If there are none, it returns the
// working directory of the server.
func (p *Params) Folders() []string {
	if list := FolderPaths(p.WorkspaceFolders); len(list) > 0 {
		return list
	}
	if list := FolderPaths([]Folder{{p.RootURI}}); len(list) > 0 {
		return list
	}
	if filepath.IsAbs(p.RootPath) {
		return []string{filepath.Clean(p.RootPath)}
	}
	if wd, err := os.Getwd(); err == nil {
		return []string{wd}
	}
	return nil
}

// FolderPaths are the paths of the folders whose URI is a file's, with a path. The library
// takes a text without a scheme, or without anything, for a file below the root.
func FolderPaths(list []Folder) []string {
	var paths []string
	for _, f := range list {
		scheme, path, _ := strings.Cut(f.URI, ":")
		u, err := uri.Parse(f.URI)
		if err != nil || !strings.EqualFold(scheme, "file") || path == "" || path == "//" {
			continue
		}
		if path := filepath.Clean(u.FsPath()); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// encodingOf chooses among a client's encodings. If it knows none of them, it returns LSP's
// default.
func encodingOf(offered []string) textenc.Encoding {
	for _, want := range []textenc.Encoding{textenc.UTF8, textenc.UTF16, textenc.UTF32} {
		if slices.Contains(offered, string(want)) {
			return want
		}
	}
	return textenc.UTF16
}

// IsObject reports whether a value is a JSON object.
func IsObject(value json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(value, &object) == nil && object != nil
}

// IsEmptyList reports whether a value is an array without elements. In clients written in Lua or
// PHP, it stands for {}.
func IsEmptyList(value json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(value, &list) == nil && list != nil && len(list) == 0
}

// Client contains the name and the capabilities of the editor, from initialize.
type Client struct {
	Name            string
	ApplyEdit       bool
	Progress        bool
	ShowDocument    bool
	ReordersChanges bool // changes of a document may come in another order than they were made
	Configuration   bool
	Literals        bool            // code actions, not only commands
	ACP             json.RawMessage // its part of the Agent Client Protocol; nil: no plugin
}

func clientOf(p Params) Client {
	can := p.Capabilities
	c := Client{
		Name:          p.ClientInfo.Name,
		ApplyEdit:     can.Workspace.ApplyEdit,
		Configuration: can.Workspace.Configuration,
		Progress:      can.Window.WorkDoneProgress,
		ShowDocument:  can.Window.ShowDocument.Support,
		Literals:      len(can.TextDocument.CodeAction.LiteralSupport.Kind.ValueSet) > 0,
	}
	if c.Name == "helix" { // it does show documents, but says so only from 2026 on
		c.ShowDocument, c.ReordersChanges = true, true
	}
	if acp := can.Experimental.ACP; IsObject(acp) || IsEmptyList(acp) {
		c.ACP = can.Experimental.ACP
	}
	return c
}

// lspMode is lsp-mode's name in initialize.
const lspMode = "emacs"

// isEglot reports whether a client may be eglot, which gives no name in version 1.9. After waiting
// for a response, eglot handles later messages only when more arrive.
func isEglot(name string) bool { return name == "" || strings.Contains(strings.ToLower(name), "eglot") }
