package checkpoint

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Contents are stored as a byte for the encoding, followed by the data.
const (
	storedPlain   = 'p'
	storedDeflate = 'd'
)

func (s *Store) object(sum string) string {
	return filepath.Join(s.dir, "objects", sum[:2], sum[2:])
}

// put stores a content and returns its sum. It does not write an existing content.
func (s *Store) put(text []byte) (sum string, err error) {
	sum = sumOf(text)
	path := s.object(sum)
	if _, err := os.Lstat(path); err == nil {
		return sum, nil
	}
	if err := writeAtomic(path, packed(text)); err != nil {
		return sum, fmt.Errorf("keeping a content: %w", err)
	}
	s.added.Add(int64(len(text)))
	return sum, nil
}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// packed returns a content in its stored form: compressed, unless the result is larger.
func packed(text []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(text)/2+64))
	out.WriteByte(storedDeflate)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil || out.Len() > len(text) {
		return append([]byte{storedPlain}, text...)
	}
	return out.Bytes()
}

// get returns the content with the given sum. If the stored data does not match the sum, it
// returns errDamaged.
func (s *Store) get(sum string) ([]byte, error) {
	if len(sum) != 64 {
		return nil, fmt.Errorf("%q is not the sum of a content", sum)
	}
	data, err := os.ReadFile(s.object(sum))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the content is no longer kept: %w", err)
	case err != nil:
		return nil, fmt.Errorf("reading a content: %w", err)
	case len(data) == 0:
		return nil, errDamaged
	}
	text := data[1:]
	if data[0] == storedDeflate {
		if text, err = io.ReadAll(flate.NewReader(bytes.NewReader(data[1:]))); err != nil {
			return nil, errDamaged
		}
	}
	if sumOf(text) != sum {
		return nil, errDamaged
	}
	return text, nil
}

var errDamaged = errors.New("the kept content is damaged")

// writeAtomic writes a file atomically. It creates the folder if necessary. The file may not
// survive a power loss; the sum of a content reveals the damage.
func writeAtomic(path string, data []byte) error {
	err := safefile.Replace(path, data, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = safefile.Replace(path, data, 0o600)
		}
	}
	return err
}
