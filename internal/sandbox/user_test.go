//go:build unix

package sandbox

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
)

// Root may do more than users, so all tests of this package run as a user, too. Not
// beside the others, which would double the load.
func TestAsUser(t *testing.T) {
	proctest.AsUser(t, ".")
}
