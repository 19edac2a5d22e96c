package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// answerLimit is how long the client may take for what needs no person.
const answerLimit = 10 * time.Second

// Documents are the client's files: what it has in its editor, unsaved text
// included, and what it can read for it. Nil unless it offers both to read and to
// write, because a text that could not be written back would be of no use.
func (a *Agent) Documents(sessionID string) workspace.Documents {
	if fs := a.client.Load().FS; !fs.ReadTextFile || !fs.WriteTextFile {
		return nil
	}
	return documents{a, sessionID}
}

type documents struct {
	agent   *Agent
	session string
}

// Get reads through the client. A client that answers with an error has no such
// text: the file is then the disk's affair.
func (d documents) Get(ctx context.Context, path string) (workspace.Document, bool, error) {
	if d.agent.files.Load() {
		return workspace.Document{}, false, nil
	}
	text, err := d.read(ctx, path)
	var refused *acp.Error
	switch {
	case err == nil:
		return workspace.Document{Path: path, Text: []byte(text)}, true, nil
	case errors.As(err, &refused):
		return workspace.Document{}, false, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		d.agent.files.Store(true)
		d.agent.o.Log.Warn("the client does not answer fs/read_text_file; files are read from the disk from now on", "path", path)
		return workspace.Document{}, false, nil
	}
	return workspace.Document{}, false, fmt.Errorf("reading %s through the editor: %w", path, err)
}

func (d documents) read(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var r acp.ReadTextFileResponse
	err := d.agent.peer.Call(ctx, acp.MethodReadTextFile, acp.ReadTextFileRequest{SessionID: d.session, Path: path}, &r)
	return r.Content, err
}

// Replace writes through the client, if its text is still the one that was got.
func (d documents) Replace(ctx context.Context, doc workspace.Document, text []byte) error {
	now, err := d.read(ctx, doc.Path)
	if err != nil {
		return fmt.Errorf("reading %s through the editor again: %w", doc.Path, err)
	}
	if !bytes.Equal([]byte(now), doc.Text) {
		return fmt.Errorf("%s has changed in the editor since it was read; read it again: %w", doc.Path, workspace.ErrStale)
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	request := acp.WriteTextFileRequest{SessionID: d.session, Path: doc.Path, Content: string(text)}
	if err := d.agent.peer.Call(ctx, acp.MethodWriteTextFile, request, &acp.WriteTextFileResponse{}); err != nil {
		return fmt.Errorf("writing %s through the editor: %w", doc.Path, err)
	}
	return nil
}

// Paths is empty: the protocol does not tell what is open.
func (documents) Paths() []string { return nil }
