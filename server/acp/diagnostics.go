package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

// CanDiagnose reports whether the client announced diagnostics and answers requests for
// them.
func (c *Client) CanDiagnose() bool {
	ours, _ := c.can.Load().Meta["hermes"].(map[string]any)
	can, _ := ours["diagnostics"].(bool)
	return can && c.unanswered.Load() < unansweredMost
}

// unansweredMost is how many requests in a row a client may leave without an answer for unansweredFor
// before it gets no more of them. Requests that end earlier do not count: the client may be slow.
const (
	unansweredMost = 2
	unansweredFor  = 8 * time.Second
)

// Diagnose asks the client for the diagnostics of a file.
func (c *Client) Diagnose(ctx context.Context, path string, wait time.Duration) ([]file.Diagnostic, error) {
	return c.DiagnoseURI(ctx, string(uri.File(path)), wait)
}

// DiagnoseURI is Diagnose for a file as the client names it.
func (c *Client) DiagnoseURI(ctx context.Context, uri string, wait time.Duration) ([]file.Diagnostic, error) {
	var r acp.DiagnosticsResponse
	began := time.Now()
	err := c.peer.Call(ctx, acp.MethodDiagnostics, acp.DiagnosticsRequest{URI: uri, Wait: int(wait.Milliseconds())}, &r)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && time.Since(began) >= unansweredFor {
			c.unanswered.Add(1)
		}
		return nil, fmt.Errorf("asking the editor about %s: %w", uri, err)
	}
	c.unanswered.Store(0)
	var found []file.Diagnostic
	for _, d := range r.Diagnostics {
		if d.Severity > severityWarning || d.Message == "" {
			continue
		}
		code := ""
		if d.Code != nil {
			code = fmt.Sprint(d.Code)
		}
		found = append(found, file.Diagnostic{
			Line: int(d.Range.Start.Line) + 1, Warning: d.Severity == severityWarning, Source: d.Source, Code: code, Message: d.Message,
		})
	}
	return found, nil
}

const severityWarning = 2 // as in LSP; 0 is unknown, 1 an error
