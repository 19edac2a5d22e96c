package lsp

import (
	"context"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// CanDiagnose tells whether there is a plugin that answers: a language server learns
// nothing of what others say.
func (h host) CanDiagnose() bool { return h.s.client.acp != nil && h.s.agent.CanDiagnose() }

// Diagnose asks the plugin what the editor's tools say of a file.
func (h host) Diagnose(ctx context.Context, path string, wait time.Duration) ([]tools.Diagnostic, error) {
	return h.s.agent.DiagnoseURI(ctx, string(h.s.documents.uri(path)), wait)
}
