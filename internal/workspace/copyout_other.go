//go:build !linux

package workspace

import "os"

// nextData treats everything after an offset as data.
func nextData(_ *os.File, from, size int64) (begin, end int64, ok bool) {
	return from, size, from < size
}
