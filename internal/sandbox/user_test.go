//go:build unix

package sandbox

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
)

// Root may do what users may not, so all tests of this package run as a user, too.
func TestAsUser(t *testing.T) {
	t.Parallel()
	proctest.AsUser(t, ".")
}
