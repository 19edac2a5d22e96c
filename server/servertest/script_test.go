package servertest_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/server/servertest"
)

func TestLSPScripts(t *testing.T) {
	t.Parallel()
	servertest.RunScripts(t, "../testdata/lsp_*.txtar", nil)
}
