package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nextData returns where the data at or after an offset begins and ends. The gap before it is a
// hole. If there is no more data, ok is false.
func nextData(f *os.File, from, size int64) (begin, end int64, ok bool) {
	begin, err := f.Seek(from, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return 0, 0, false
	}
	if err != nil { // the file system does not report holes
		return from, size, from < size
	}
	if end, err = f.Seek(begin, unix.SEEK_HOLE); err != nil {
		end = size
	}
	return begin, min(end, size), begin < size
}
