package checkpoint

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An index may have any content: it belongs to the repository.
func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	script := `git init -q .; mkdir d; echo x > d/a; echo y > d/b; echo z > c; git add .`
	for _, more := range []string{"", "git update-index --index-version 4", "git add -N c"} {
		cmd := exec.Command("sh", "-c", script+";"+more)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Fatalf("%v: %s", err, out)
		}
		index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(index)
		script = "true"
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := &gitIndex{repo: repo{Folder: "/w"}, tracked: map[string]gitEntry{}, folders: map[string]bool{}}
		if x.parse(data) == nil && len(x.tracked) > len(data)/62 {
			t.Errorf("%d files in %d bytes", len(x.tracked), len(data))
		}
	})
}

// The output of git is checked too.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("0101010101010101010101010101010101010101 blob 3\nabc\n"))
	f.Add([]byte("0101010101010101010101010101010101010101 missing\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = readAnswers(bufio.NewReader(bytes.NewReader(data)), make([][20]byte, 3), func([20]byte, int64, *bufio.Reader) error { return nil })
	})
}
