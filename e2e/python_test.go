//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pythonClient is the interpreter with the official Python SDK in it.
func pythonClient(t *testing.T) string {
	t.Helper()
	installed(t, "the official Python SDKs", "python-clients", "installed")
	return installed(t, "the official Python SDKs", "python-clients", "bin", "python")
}

// TestOfficialPythonClient lets the official Python SDK drive a session with its own files,
// terminals and permissions.
func TestOfficialPythonClient(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	write(t, filepath.Join(b.workspace, "secret.txt"), "the combination\n")
	b.run(t, pythonClient(t), filepath.Join(root(t), "e2e", "python", "conversation.py"))
	var r struct {
		Protocol int
		Updates  []acpUpdate
		Asked    []struct {
			Title   string
			Options []string
		}
		Wrote    map[string]string
		Commands [][]string
		Released int
		Stops    []string
		Listed   []bool
	}
	b.read(t, &r)

	if r.Protocol != 1 || !slices.Equal(r.Stops, []string{"end_turn", "cancelled"}) || !slices.Equal(r.Listed, []bool{true}) {
		t.Errorf("protocol %d, stops %q, listed %v", r.Protocol, r.Stops, r.Listed)
	}
	want := map[string]string{"shop.py": "# typed, not saved\ndef total(a, b):\n    return a + b\n", "notes/new.txt": "new\n"}
	if fmt.Sprint(r.Wrote) != fmt.Sprint(want) {
		t.Errorf("the client was asked to write %q, want %q", r.Wrote, want)
	}
	var seen strings.Builder
	for _, u := range r.Updates {
		seen.Write(u.RawOutput)
		seen.Write(u.Content)
	}
	for _, want := range []string{"hello from " + b.workspace, "swept", "the user keeps this file", "Mended."} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if strings.Contains(seen.String(), "the combination") {
		t.Error("a file was shown that the client refuses to read")
	}
	if len(r.Commands) != 3 || r.Commands[0][0] != b.binary || r.Released != 3 {
		t.Errorf("%d terminals were released of the commands %q", r.Released, r.Commands)
	}
	if len(r.Asked) != 1 || !strings.Contains(r.Asked[0].Title, "rm -rf build") || !slices.Equal(r.Asked[0].Options, []string{"once", "session", "always", "no"}) {
		t.Errorf("asked %+v", r.Asked)
	}
}
