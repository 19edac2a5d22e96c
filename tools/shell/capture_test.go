package shell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// The stored output never contains a secret, whatever pieces it arrives in, even without a line
// end.
func TestKeptOutputHasNoSecret(t *testing.T) {
	t.Parallel()
	secrets := tools.NewSecrets(map[string]string{"THE_KEY": "s3cret-value"})
	for name, end := range map[string]string{"in lines": "\n", "in one line": "; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write := func(w io.Writer) {
				for i := range 2 * outputLimit / 20 {
					fmt.Fprintf(w, "%0*d the key is s3cr", i%7, i)
					fmt.Fprintf(w, "et-value here%s", end)
				}
			}
			c := newCapture(t.TempDir(), outputLimit, secrets)
			write(c)
			live, _, _ := c.live()
			text, full := c.finish()
			whole, err := os.ReadFile(full)
			if err != nil {
				t.Fatal(err)
			}
			l, err := newProcessLog(t.TempDir(), secrets, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			write(l)
			l.end()
			logged, err := io.ReadAll(io.NewSectionReader(l.parts[0].file, 0, segmentLimit))
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{"text": text, "file": string(whole), "log": string(logged)}
			if end == "\n" { // else the line may still be rewritten; dispatch redacts the shown text
				all["live"] = live
			}
			for where, got := range all {
				if strings.Contains(got, "s3cret-value") || !strings.Contains(got, "[secret THE_KEY withheld]") {
					t.Errorf("%s: %.200s", where, got)
				}
			}
			const count = 2 * outputLimit / 20
			if n := strings.Count(string(whole), "[secret THE_KEY withheld] here"+strings.TrimSpace(end)); n != count {
				t.Errorf("%d of %d secrets are hidden in the file", n, count)
			}
			if n := strings.Count(string(logged), "[secret THE_KEY withheld] here"); n != count {
				t.Errorf("%d of %d secrets are hidden in the log", n, count)
			}
		})
	}
}
