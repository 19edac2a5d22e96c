package sandbox

import (
	"errors"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// In plan mode, nothing runs on a host without full enforcement, and the mode of the configuration
// does not matter.
func TestPlanningIsStrict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    Mechanism
		runs bool
	}{
		{Mechanism{Kind: Namespaces, NoNetwork: true}, true},
		{Mechanism{Kind: Bubblewrap, NoNetwork: true}, true},
		{Mechanism{Kind: Namespaces}, false},
		{Mechanism{Kind: Landlock, NoNetwork: true}, false},
		{Mechanism{Kind: Seatbelt, NoNetwork: true}, false},
		{Mechanism{Kind: None, Reason: "it is a test"}, false},
	} {
		if err := tt.m.enforcesAll(); (err == nil) != tt.runs {
			t.Errorf("%+v: %v", tt.m, err)
		}
	}
	for _, mode := range []Mode{Off, WorkspaceWrite, ReadOnly} {
		b := New(Config{Mode: mode, Network: true, Roots: func() []string { return []string{t.TempDir()} }, Home: t.TempDir(), Mechanism: &Mechanism{Kind: None}})
		p := Planning(b)
		if err := p.Confine(t.Context(), &proc.Cmd{Args: []string{"true"}}); !errors.Is(err, errLoose) {
			t.Errorf("%s: a command without a sandbox: %v", mode, err)
		}
		if !Strict(p) || Strict(b) || Planning(p) != p || Planning(b) != p {
			t.Errorf("%s: the sandboxes are mixed up", mode)
		}
		if policy := p.Policy(); policy.Mode != ReadOnly || policy.Network || len(policy.Writable) > 0 || slices.Contains(policy.Visible, resolver) {
			t.Errorf("%s: policy %+v", mode, policy)
		}
		b.Set(WorkspaceWrite, true)
		if policy := p.Policy(); policy.Mode != ReadOnly || policy.Network {
			t.Errorf("%s: after a change of the configuration: policy %+v", mode, policy)
		}
		opening := p.With(Opening{Open: []string{"/x"}, Git: true, Frozen: map[string][]byte{"/y": nil}}).opening
		if len(opening.Open) > 0 || opening.Git || len(opening.Frozen) != 1 {
			t.Errorf("%s: opening %+v", mode, opening)
		}
		b.Close()
		if err := Planning(b).Confine(t.Context(), &proc.Cmd{Args: []string{"true"}}); err == nil {
			t.Errorf("%s: a command after the end of the session", mode)
		}
	}
	if Planning(nil) != nil || Strict(nil) {
		t.Error("the nil Box")
	}
}
