package server

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
)

// If the user's files are not watched, each client reports it as a problem of config.yaml.
func TestUnwatched(t *testing.T) {
	t.Parallel()
	s := New(Options{Home: t.TempDir(), Static: true})
	t.Cleanup(func() { _ = s.Close() })
	s.tellUnwatched(config.ErrNotWatched)
	for _, p := range s.Config(nil).Problems {
		if strings.Contains(p.Text, "only after a restart") && strings.Contains(p.Text, "fs.inotify.max_user_watches") {
			return
		}
	}
	t.Errorf("the problem is not told: %v", s.Config(nil).Problems)
}
