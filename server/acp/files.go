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

// answerLimit limits the client's time for requests without a question to the user.
const answerLimit = 10 * time.Second

// fileLimit limits requests for a file. Some clients ask the user first.
const fileLimit = 30 * time.Second

// Documents returns the files of the client, unsaved buffers included. If the client does not offer
// to write files, it returns nil, because edits of the client's text could not be written.
func (c *Client) Documents(sessionID string) workspace.Documents {
	fs := c.can.Load().FS
	if !fs.WriteTextFile {
		return nil
	}
	return documents{c, sessionID, fs.ReadTextFile}
}

// StoredDocuments returns the files of the client for a closed session. The client may not know the
// session: a file it rejects is read from disk and written there.
func (c *Client) StoredDocuments(sessionID string) workspace.Documents {
	known, ok := c.Documents(sessionID).(documents)
	if !ok {
		return nil
	}
	return storedDocuments{known}
}

type storedDocuments struct{ documents }

func (d storedDocuments) Get(ctx context.Context, path string) (workspace.Document, bool, error) {
	doc, found, err := d.documents.Get(ctx, path)
	if errors.Is(err, workspace.ErrRefused) {
		return workspace.Document{}, false, nil
	}
	return doc, found, err
}

func (d storedDocuments) Write(ctx context.Context, path string, text []byte, unknown bool) (bool, error) {
	written, err := d.documents.Write(ctx, path, text, unknown)
	if errors.Is(err, workspace.ErrRefused) {
		return false, nil
	}
	return written, err
}

type documents struct {
	client  *Client
	session string
	reads   bool // the client offers reading
}

// Get reads a file from the client. If the client responds "resource not found", the file
// is read from disk. Any other error is a refusal, and so is a missing response.
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

// refusal is a client's reason for not reading or writing a file, as an error of the
// workspace.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) Unwrap() error { return workspace.ErrRefused }

// refusalOf returns the refusal in a client's error. Many clients give their reason in the
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
	if err == nil && r.Content == nil { // not an empty file
		return "", acp.Errorf(acp.CodeInternal, "the answer has no content")
	}
	if err != nil {
		return "", err
	}
	return *r.Content, nil
}

// Replace writes a file with the client, if its text is still doc.
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

// Write writes a file with the client. If the file exists, but the client did not find it,
// it is written to disk.
func (d documents) Write(ctx context.Context, path string, text []byte, unknown bool) (bool, error) {
	if unknown && d.reads {
		return false, nil
	}
	return true, d.write(ctx, path, text)
}

// write sends fs/write_text_file. An error response of the client is a refusal.
func (d documents) write(ctx context.Context, path string, text []byte) error {
	if !utf8.Valid(text) {
		return refusal("the new text is not UTF-8, and the editor takes nothing else; change the file with a command")
	}
	limited, cancel := context.WithTimeout(ctx, fileLimit)
	defer cancel()
	request := acp.WriteTextFileRequest{SessionID: d.session, Path: path, Content: string(text)}
	err := d.client.peer.Call(limited, acp.MethodWriteTextFile, request, &acp.WriteTextFileResponse{})
	var answered *acp.Error
	if errors.As(err, &answered) {
		return refusalOf(answered)
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the editor did not answer fs/write_text_file for %s within %v, so it is not known whether the file has changed; read it again", path, fileLimit)
	}
	if err != nil {
		return fmt.Errorf("writing %s through the editor: %w", path, err)
	}
	return nil
}

// SavedTexts returns the texts of all sessions of the client.
func (d documents) SavedTexts() *workspace.SavedTexts { return &d.client.saved }

// SavesEdits is true: a client writes a file directly.
func (documents) SavesEdits() bool { return true }

// SaveFailure returns nothing: the protocol does not tell it.
func (documents) SaveFailure(string) (why string, final bool) { return "", false }

// Paths returns nothing: the protocol does not list open files.
func (documents) Paths() []string { return nil }
