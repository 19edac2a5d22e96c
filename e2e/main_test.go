//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/contain"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// TestMain runs the tests so that no editor, browser or server outlives them, also if they are killed.
// Some editors kill their server; the next server removes its folders.
func TestMain(m *testing.M) { os.Exit(contain.Tests(m, scratch.Sweep)) }
