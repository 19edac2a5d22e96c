//go:build unix

package proc

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func hardenCommon() error {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
			os.Unsetenv(name) // the name came from the environment
		}
	}
	// The hard limit stays: a user may raise it to debug a crash.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("reading the core limit: %w", err)
	}
	limit.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("switching core dumps off: %w", err)
	}
	return nil
}
