package lsp

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Each entry of the advice is on a separate line, as YAML reads it.
func TestDeniedTextHasOneEntryForEachKey(t *testing.T) {
	t.Parallel()
	q := tools.ApprovalRequest{Title: `rm -rf "a  b" && git push --force`, Reason: "deletes", Keys: []string{`rm -rf "a  b"`, "git push --force"}}
	got := strings.Join(deniedText(q, "/config.yaml"), "\n")
	if want := "```yaml\n- \"rm -rf \\\"a  b\\\"\"\n- \"git push --force\"\n```"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want at the end %s", got, want)
	}
}
