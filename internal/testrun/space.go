//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// space returns how many bytes may be free at least where a set of stages writes: Go's build cache,
// programs, temporary files. A full disk otherwise fails as many tests, none of which names it.
func space(set string) uint64 {
	if set == "check" {
		return 3 << 30
	}
	return 8 << 30
}

// writtenFolders returns the folders in which a run writes.
func writtenFolders(root string) []string {
	folders := []string{root, os.TempDir()}
	if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(cache)))
	}
	return folders
}

// checkSpace returns an error if the file system of a directory has fewer free bytes. For a missing
// directory, it checks the parent.
func checkSpace(least uint64, folders ...string) error {
	for _, folder := range folders {
		var fs unix.Statfs_t
		err := unix.Statfs(folder, &fs)
		for err == unix.ENOENT && filepath.Dir(folder) != folder {
			folder = filepath.Dir(folder)
			err = unix.Statfs(folder, &fs)
		}
		if err != nil {
			return fmt.Errorf("asking for the free space of %s: %w", folder, err)
		}
		if free := fs.Bavail * uint64(fs.Bsize); free < least {
			return fmt.Errorf("%s has %.1f GB free, and the tests need %.0f: nothing was run. `go clean -cache` empties Go's build cache",
				folder, float64(free)/1e9, float64(least)/1e9)
		}
	}
	return nil
}
