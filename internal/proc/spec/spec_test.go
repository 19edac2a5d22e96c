package spec

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// textOf is a specification as text.
func textOf(s Spec) string {
	return fmt.Sprintf("%q %q %q %v %q %q %+q", s.Path, s.Dir, s.Scratch, s.Limits, s.Args, s.Env, s.Plan.Fields())
}

func TestSpec(t *testing.T) {
	t.Parallel()
	for _, s := range []Spec{
		{Path: "/bin/sh", Args: []string{"sh"}, Plan: &confine.Plan{}},
		{Path: "/bin/sh", Dir: "/tmp", Args: []string{"sh", "", "a b\nc"}, Env: []string{"A=", "B=x\ny"}, Plan: &confine.Plan{}},
		{Path: "/bin/sh", Scratch: "/x", Args: []string{"3", "4"}, Limits: Limits{1, 2, 3}, Plan: &confine.Plan{
			Namespaces: true, Network: true, Prefix: []string{"2", ""}, Hidden: []string{"/a", "/b c"}, Writes: []string{"/d"}, LayerDir: "/l",
			Copies: []confine.Copy{{From: "/f", At: "/g"}}, Layers: []confine.Copy{{From: "a", At: "/h"}, {From: "b", At: "/i"}}, Sockets: confine.LocalSocket, ShmMB: 7,
		}},
	} {
		encoded, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(encoded))
		if err != nil || textOf(got) != textOf(s) {
			t.Errorf("%s became %s, %v", textOf(s), textOf(got), err)
		}
		for n := range encoded { // a server dies while it writes
			if _, err := Read(bytes.NewReader(encoded[:n])); err == nil {
				t.Errorf("%d of %d bytes were enough", n, len(encoded))
			}
		}
	}
}
