package servertest_test

import (
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// TestACPScripts judges every frame by the official schema as well.
func TestACPScripts(t *testing.T) {
	t.Parallel()
	var logs sync.Map // the script's test → its *acptest.Log
	servertest.RunScripts(t, "../testdata/acp_*.txtar", func(t testing.TB, toServer bool, frame []byte) {
		log, _ := logs.LoadOrStore(t, &acptest.Log{})
		dir := acptest.FromAgent
		if toServer {
			dir = acptest.FromClient
		}
		log.(*acptest.Log).Validate(t, dir, frame)
	})
}
