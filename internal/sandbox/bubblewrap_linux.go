package sandbox

import (
	"os"

	"github.com/hermes-ls/hermes-ls/internal/program"
)

// findBubblewrap returns the path of the system's bwrap. It ignores a bwrap in the user's home or
// in the server's working directory: commands may have made it.
func findBubblewrap() (string, error) {
	var away []string
	if home, err := os.UserHomeDir(); err == nil {
		away = append(away, home)
	}
	if cwd, err := os.Getwd(); err == nil && cwd != "/" {
		away = append(away, cwd)
	}
	return program.Find("bwrap", away)
}
