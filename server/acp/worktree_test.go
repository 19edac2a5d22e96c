package acp_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// A worktree starts with the client's unsaved buffer of a file in the task, and the change is
// returned through the client. The other file is written to disk.
func TestWorktreeOfAClientThatLendsFiles(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("delegate_task", `{"goal":"Mend open.txt and closed.txt","toolsets":["file"],"isolation":"worktree"}`),
		tool("read_file", `{"path":"open.txt"}`),
		tool("patch", `{"path":"open.txt","old_string":"unsaved","new_string":"mended"}`),
		tool("patch", `{"path":"closed.txt","old_string":"on disk","new_string":"mended"}`),
		reply("Mended."),
		reply("done"),
	)
	c := connect(t, setup{model: m, client: lendsFiles})
	ws, err := filepath.EvalSymlinks(c.ws)
	if err != nil {
		t.Fatal(err)
	}
	c.ws = ws
	open, closed := filepath.Join(ws, "open.txt"), filepath.Join(ws, "closed.txt")
	write(t, open, "saved\n")
	write(t, closed, "on disk\n")
	commitAll(t, ws)
	get := c.lendFiles(map[string]string{open: "unsaved\n"})
	id := c.newSession()
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "go"))); got != "end_turn" {
		t.Error(got)
	}
	if get(open) != "mended\n" || read(t, open) != "saved\n" || read(t, closed) != "mended\n" {
		t.Errorf("the client has %q; on the disk are %q and %q", get(open), read(t, open), read(t, closed))
	}
	ended := c.until("the end of the call", func(u update) bool {
		return u.Kind == "tool_call_update" && strings.Contains(string(u.Raw), `"rawOutput"`) && strings.Contains(string(u.Raw), `"changes"`)
	})
	var call struct {
		RawOutput struct {
			Results []struct {
				Status  string
				Changes struct{ Applied []string }
			}
		}
	}
	if err := json.Unmarshal(ended.Raw, &call); err != nil || len(call.RawOutput.Results) != 1 {
		t.Fatalf("%s: %v", ended.Raw, err)
	}
	if r := call.RawOutput.Results[0]; r.Status != "completed" || !slices.Equal(r.Changes.Applied, []string{"closed.txt", "open.txt"}) {
		t.Errorf("%+v", r)
	}
	out, err := exec.Command("git", "-C", ws, "worktree", "list").Output()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("worktrees are left: %s %v", out, err)
	}
}

// commitAll makes a folder a repository with all its files.
func commitAll(t *testing.T, folder string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
}
