//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
)

func TestEmacsEglot(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	// -q and not -Q: the distribution's eglot lies on the site's load path.
	b.run(t, found(t, "emacs"), "--batch", "-q", "-l", filepath.Join(root(t), "e2e", "emacs", "conversation.el"))
	checkConversation(t, b) // this eglot does not announce progress, so there is none
}
