package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The whole output can be read and searched at the path in its result.
func TestKeptOutputs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.txt": "in the workspace\n"})
	p.env.OutputDir = filepath.Join(t.TempDir(), "outputs")
	full := filepath.Join(p.env.OutputDir, "terminal-1.txt")
	secret := filepath.Join(filepath.Dir(p.env.OutputDir), "outputs-of-another.txt")
	for _, err := range []error{
		os.MkdirAll(p.env.OutputDir, 0o700), os.WriteFile(full, []byte("one\ntwo\nthree\n"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(p.env.OutputDir, "link")), os.WriteFile(secret, []byte("two\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	read := as[readOut](t, p.call(t, "read_file", fmt.Sprintf(`{"path":%q,"offset":2,"limit":1}`, full)))
	if read.Content != "2|two" || read.TotalLines != 3 {
		t.Errorf("read %+v", read)
	}
	for _, path := range []string{full, p.env.OutputDir} {
		found := as[searchOut](t, p.call(t, "search_files", fmt.Sprintf(`{"pattern":"tw.","path":%q}`, path)))
		if len(*found.Matches) != 1 || (*found.Matches)[0].Path != full || (*found.Matches)[0].Line != 2 {
			t.Errorf("search in %s found %+v", path, found.Matches)
		}
	}
	for _, path := range []string{secret, filepath.Join(p.env.OutputDir, "link"), p.env.OutputDir + "/../outputs-of-another.txt"} {
		if got := failureOf(t, p.call(t, "read_file", fmt.Sprintf(`{"path":%q}`, path))); !strings.Contains(got, "outside") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := failureOf(t, p.call(t, "write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, full))); !strings.Contains(got, "outside") {
		t.Errorf("write: %s", got)
	}
}

// A page of results over the limit ends earlier, and the next page begins there.
func TestSearchPagesOfLongLines(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 900 {
		files[fmt.Sprintf("%s/%03d.txt", strings.Repeat("n", 100), i)] = "hit " + strings.Repeat("é", 300) + "\n"
	}
	p := newPlace(t, files)
	for _, args := range []string{`"pattern":"hit"`, `"pattern":"*.txt","target":"files"`, `"pattern":"hit","output_mode":"count"`} {
		seen := map[string]bool{}
		for offset, pages := 0, 0; ; pages++ {
			result := p.call(t, "search_files", fmt.Sprintf(`{%s,"limit":1000,"offset":%d}`, args, offset))
			out := as[searchOut](t, result)
			if strings.Contains(string(result.JSON), "shortened") {
				t.Fatalf("%s: a page was cut", args)
			}
			if out.Matches != nil {
				for _, m := range *out.Matches {
					seen[m.Path] = true
				}
			}
			if out.Files != nil {
				for _, f := range *out.Files {
					seen[f] = true
				}
			}
			if out.Counts != nil {
				for f := range *out.Counts {
					seen[f] = true
				}
			}
			if !out.Truncated {
				break
			}
			if out.NextOffset <= offset || pages > 100 {
				t.Fatalf("%s: after %d comes %d", args, offset, out.NextOffset)
			}
			offset = out.NextOffset
		}
		if len(seen) != 900 {
			t.Errorf("%s: %d of 900 seen", args, len(seen))
		}
	}
}
