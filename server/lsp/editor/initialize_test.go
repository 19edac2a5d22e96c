package editor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.lsp.dev/uri"
)

// If a URI names no folder, the next source applies.
func TestFolders(t *testing.T) {
	t.Parallel()
	started, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	one, two := t.TempDir(), t.TempDir()
	uriOne, uriTwo := string(uri.File(one)), string(uri.File(two))
	for name, c := range map[string]struct {
		params string
		want   []string
	}{
		"folders":            {fmt.Sprintf(`{"workspaceFolders":[{"uri":%q},{"uri":%q}],"rootUri":"file:///no"}`, uriOne, uriTwo), []string{one, two}},
		"one of them odd":    {fmt.Sprintf(`{"workspaceFolders":[null,{"uri":""},{"uri":7},{"uri":"here"},{"uri":"untitled:1"},{"uri":%q}]}`, uriTwo), []string{two}},
		"no folders":         {fmt.Sprintf(`{"workspaceFolders":[],"rootUri":%q}`, uriOne), []string{one}},
		"as Helix":           {fmt.Sprintf(`{"workspaceFolders":[],"rootUri":null,"rootPath":%q}`, one), []string{one}},
		"empty rootUri":      {fmt.Sprintf(`{"rootUri":"","rootPath":%q}`, one), []string{one}},
		"a path for a URI":   {fmt.Sprintf(`{"rootUri":%q,"rootPath":%q}`, two, one), []string{one}},
		"file without path":  {`{"rootUri":"file:","workspaceFolders":[{"uri":"file://"}]}`, []string{started}},
		"the root":           {`{"rootUri":"file:///"}`, []string{filepath.Clean("/")}},
		"relative rootPath":  {`{"rootUri":null,"rootPath":"here"}`, []string{started}},
		"nothing":            {`{}`, []string{started}},
		"every one odd":      {`{"workspaceFolders":{},"rootUri":[],"rootPath":{}}`, []string{started}},
		"scheme in capitals": {fmt.Sprintf(`{"rootUri":"FILE%s"}`, uriOne[len("file"):]), []string{one}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := ReadInitialize([]byte(c.params)) // the error is for the log
			if got := p.Folders(); !slices.Equal(got, c.want) {
				t.Errorf("folders %q, want %q", got, c.want)
			}
		})
	}
}
