package servertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

func init() { enterHost = proctest.Enter }

// landlockAlone is set in the environment on a host whose sandbox is Landlock.
const landlockAlone = "HERMES_TEST_LANDLOCK_ALONE"

// TestWholeTurnWithLandlock runs TestWholeTurn as an ordinary user on a host that has Landlock alone, as many containers.
func TestWholeTurnWithLandlock(t *testing.T) {
	t.Parallel()
	if proctest.Again() {
		return
	}
	proctest.Host{NoUserNamespaces: true, NoBubblewrap: true}.Tests(t, "^TestWholeTurn$", landlockAlone+"=1")
}

// TestWholeTurn edits, runs a command and a script, denies the review of a command's write, and reverts
// the turn.
func TestWholeTurn(t *testing.T) {
	t.Parallel()
	calls := func(name string, args map[string]any) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Call(name, name, jsonOf(args)) }
	}
	m := fakemodel.Script(
		calls("write_file", map[string]any{"path": "new.txt", "content": "new\n"}),
		calls("patch", map[string]any{"path": "a.txt", "old_string": "one", "new_string": "two"}),
		calls("terminal", map[string]any{"command": "sh build.sh"}),
		calls("execute_code", map[string]any{"code": "from hermes_tools import read_file\nprint(read_file('b.txt')['content'])\nopen('c.txt', 'w').write('script\\n')"}),
		func(x *fakemodel.Exchange) { x.Text("Done.") },
	)
	e := servertest.New(t, servertest.Options{Model: m, Files: map[string]string{"a.txt": "one\n", "b.txt": "old\n", ".envrc": "mine\n", "build.sh": "echo command > b.txt; echo hostile > .envrc\n"}})
	e.Choose(func(q servertest.Question) string { return q.Actions[len(q.Actions)-1] })
	e.Ask("go")
	disk := func(name string) string { return contentOf(t, filepath.Join(e.Root, name)) }
	requests := m.Requests()
	if len(requests) != 5 {
		t.Fatalf("%d requests", len(requests))
	}
	var told strings.Builder
	for _, message := range requests[4].Messages {
		told.WriteString(message.Text() + "\n")
	}
	if a, b, c, envrc := disk("a.txt"), disk("b.txt"), disk("c.txt"), disk(".envrc"); a != "two\n" || b != "command\n" || c != "script\n" || envrc != "mine\n" {
		t.Errorf("the disk has %q, %q, %q, %q; the model was told\n%s", a, b, c, envrc, told.String())
	}
	if os.Getenv(landlockAlone) != "" { // with mounts, the command cannot write there
		if asked := e.Asked(); len(asked) != 1 || !strings.Contains(asked[0].Message, ".envrc") {
			t.Errorf("asked %+v", asked)
		}
	}
	var list protocol.CheckpointListResult
	if err := e.Command(protocol.CommandCheckpoints, protocol.CheckpointArgs{}, &list); err != nil || len(list.Checkpoints) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	var out protocol.RestoreResult
	if err := e.Command(protocol.CommandRestore, protocol.CheckpointArgs{CheckpointID: list.Checkpoints[0].ID}, &out); err != nil || len(out.Kept) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if a, b, envrc := disk("a.txt"), disk("b.txt"), disk(".envrc"); a != "one\n" || b != "old\n" || envrc != "mine\n" {
		t.Errorf("after the revert, the disk has %q, %q, %q", a, b, envrc)
	}
	for _, name := range []string{"new.txt", "c.txt"} {
		if _, err := os.Lstat(filepath.Join(e.Root, name)); !os.IsNotExist(err) {
			t.Errorf("after the revert, %s is there: %v", name, err)
		}
	}
}
