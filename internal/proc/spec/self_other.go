//go:build unix && !linux

package spec

import "os"

// Self is our binary.
func Self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
