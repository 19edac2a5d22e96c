package sandbox

import (
	"slices"
	"testing"
)

func TestOwnTemp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode Mode
		kind Kind
		own  bool
	}{
		{WorkspaceWrite, Namespaces, true},
		{WorkspaceWrite, Bubblewrap, true},
		{ReadOnly, Namespaces, true},
		{WorkspaceWrite, Landlock, false},
		{WorkspaceWrite, Seatbelt, false},
		{WorkspaceWrite, None, false},
		{WorkspaceWrite, Unknown, false},
		{Off, Namespaces, false},
	} {
		b := New(Config{Mode: c.mode, Roots: func() []string { return nil }, Mechanism: &Mechanism{Kind: c.kind}})
		if got := b.OwnTemp(t.Context()); slices.Contains(got, "/tmp") != c.own || len(got) > 0 != c.own {
			t.Errorf("%s by %s: %q", c.mode, c.kind, got)
		}
		if b.ReadOnly() != (c.mode == ReadOnly) {
			t.Errorf("%s: ReadOnly is %v", c.mode, b.ReadOnly())
		}
	}
	var none *Box
	if none.OwnTemp(t.Context()) != nil || none.ReadOnly() {
		t.Error("no sandbox has temporary files of its own, or is read-only")
	}
}
