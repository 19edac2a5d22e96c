package app_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// Each service between features has an owner in a session. Without it, the feature that uses it
// would silently do less.
func TestEachServiceHasAnOwner(t *testing.T) {
	t.Parallel()
	x, _ := openWith(t, "", &fakemodel.Model{})
	set := x.Extensions()
	_, pages := set.PageReader()
	_, shell := set.Shell()
	_, python := set.Interpreter()
	_, changes := set.Changes()
	_, subagents := set.Spawner()
	_, edits := set.Edits()
	_, approver := set.ServerApprover()
	for name, there := range map[string]bool{
		"PageReader": pages, "Shell": shell, "Interpreter": python, "Changes": changes, "Spawner": subagents, "Edits": edits,
		"ServerApprover": approver,
	} {
		if !there {
			t.Errorf("no feature has the service %s", name)
		}
	}
}
