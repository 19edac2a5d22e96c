package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// answerLimit is how long the client may take for what needs no person.
const answerLimit = 10 * time.Second

// fileLimit is how long the client may take for a file. Some clients ask the user first.
const fileLimit = 30 * time.Second

// Documents are the client's files: what it has in its editor, unsaved text
// included, and what it can read and write for it. Documents returns nil unless the
// client offers writing, because a text that could not be written back would be of
// no use.
func (c *Client) Documents(sessionID string) workspace.Documents {
	fs := c.can.Load().FS
	if !fs.WriteTextFile {
		return nil
	}
	return documents{c, sessionID, fs.ReadTextFile}
}

type documents struct {
	client  *Client
	session string
	reads   bool // the client offers reading
}

// Get reads through the client. Only a client that answers "resource not found"
// leaves the file to the disk; any other error is a refusal, and so is no answer.
func (d documents) Get(ctx context.Context, path string) (workspace.Document, bool, error) {
	if !d.reads {
		return workspace.Document{}, false, nil
	}
	text, err := d.read(ctx, path)
	var answered *acp.Error
	switch {
	case err == nil:
		return workspace.Document{Path: path, Text: []byte(text)}, true, nil
	case errors.As(err, &answered) && answered.Code == acp.CodeUnknownResource:
		return workspace.Document{}, false, nil
	case errors.As(err, &answered):
		return workspace.Document{}, false, refusalOf(answered)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return workspace.Document{}, false, refusal(fmt.Sprintf("it did not answer fs/read_text_file within %v", fileLimit))
	}
	return workspace.Document{}, false, fmt.Errorf("reading %s through the editor: %w", path, err)
}

// refusal is a client's reason for not reading or writing a file, as the workspace
// knows it.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) Unwrap() error { return workspace.ErrRefused }

// refusalOf is the refusal in a client's error. Many clients give their reason in the
// error's data.
func refusalOf(e *acp.Error) refusal {
	reason := e.Message
	var data struct{ Details string }
	if raw, ok := e.Data.(json.RawMessage); ok && json.Unmarshal(raw, &data) == nil && data.Details != "" {
		reason += ": " + data.Details
	}
	return refusal(fmt.Sprintf("%q, error %d", reason, e.Code))
}

func (d documents) read(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fileLimit)
	defer cancel()
	var r struct{ Content *string }
	err := d.client.peer.Call(ctx, acp.MethodReadTextFile, acp.ReadTextFileRequest{SessionID: d.session, Path: path}, &r)
	if err == nil && r.Content == nil { // which is no empty file
		return "", acp.Errorf(acp.CodeInternal, "the answer has no content")
	}
	if err != nil {
		return "", err
	}
	return *r.Content, nil
}

// Replace writes through the client, if its text is still the one that was got.
func (d documents) Replace(ctx context.Context, doc workspace.Document, text []byte) error {
	now, err := d.read(ctx, doc.Path)
	var answered *acp.Error
	if errors.As(err, &answered) {
		return refusalOf(answered)
	}
	if err != nil {
		return fmt.Errorf("reading %s through the editor again: %w", doc.Path, err)
	}
	if !bytes.Equal([]byte(now), doc.Text) {
		return fmt.Errorf("%s has changed in the editor since it was read; read it again: %w", doc.Path, workspace.ErrStale)
	}
	return d.write(ctx, doc.Path, text)
}

// Write writes through the client. A file that is there, and that the client, asked to
// read it, did not find, is left to the disk.
func (d documents) Write(ctx context.Context, path string, text []byte, unknown bool) (bool, error) {
	if unknown && d.reads {
		return false, nil
	}
	return true, d.write(ctx, path, text)
}

// write is fs/write_text_file. Every error that the client answers is a refusal.
func (d documents) write(ctx context.Context, path string, text []byte) error {
	if !utf8.Valid(text) {
		return refusal("the new text is not UTF-8, and the editor takes nothing else; change the file with a command")
	}
	ctx, cancel := context.WithTimeout(ctx, fileLimit)
	defer cancel()
	request := acp.WriteTextFileRequest{SessionID: d.session, Path: path, Content: string(text)}
	err := d.client.peer.Call(ctx, acp.MethodWriteTextFile, request, &acp.WriteTextFileResponse{})
	var answered *acp.Error
	if errors.As(err, &answered) {
		return refusalOf(answered)
	}
	if err != nil {
		return fmt.Errorf("writing %s through the editor: %w", path, err)
	}
	return nil
}

// Paths is empty: the protocol does not tell what is open.
func (documents) Paths() []string { return nil }
