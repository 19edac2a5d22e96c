//go:build !linux

package workspace

import "os"

// nextData takes all that follows an offset for data.
func nextData(_ *os.File, from, size int64) (begin, end int64, ok bool) {
	return from, size, from < size
}
