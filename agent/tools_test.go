package agent_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// TestRealTools runs the real tools in a directory. An editor gets the locations and
// changes of the calls, also after a restart.
func TestRealTools(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	m := fakemodel.Script(func(x *fakemodel.Exchange) {
		x.Call("1", "read_file", `{"path":"a.txt","offset":"2"}`)
		x.Call("2", "patch", `{"path":"a.txt","old_string":"two","new_string":"three"}`)
		x.Call("3", "read_file", `{"path":"../x"}`)
	}, func(x *fakemodel.Exchange) { x.Text("Done.") })
	config := agent.Config{
		Model: m, Store: openStore(t), Tools: toolSet(t, builtin(files)...), Files: files,
		Env: &tools.Env{Gate: gate.New(gate.Config{Mode: "off"})},
	}
	s := begin(t, config)
	live, again := &recorder{}, &recorder{}
	if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, live); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("%q, %v", text, err)
	}
	started, ended := of[agent.CallStarted](live), of[agent.CallEnded](live)
	for i, want := range []struct {
		kind  tools.Kind
		place []tools.Location
	}{
		{tools.KindRead, []tools.Location{{Path: file, Line: 2}}},
		{tools.KindEdit, []tools.Location{{Path: file}}},
		{tools.KindRead, nil},
	} {
		if e := started[i]; e.Kind != want.kind || !reflect.DeepEqual(e.Locations, want.place) || e.Title == "" {
			t.Errorf("call %d: %+v", i+1, e)
		}
		if ended[i].Result.IsError != (i == 2) {
			t.Errorf("call %d: %s", i+1, ended[i].Result.JSON)
		}
	}
	var read struct{ Content string }
	if err := json.Unmarshal(ended[0].Result.JSON, &read); err != nil || read.Content != "2|two" {
		t.Errorf("read %q, %v", read.Content, err)
	}

	config.Head.ID = s.ID()
	loaded, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Replay(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	old := "one\ntwo\n"
	diff := tools.Diff{Path: file, Old: &old, New: "one\nthree\n"}
	for name, r := range map[string]*recorder{"live": live, "replayed": again} {
		shown := of[agent.CallEnded](r)[1].Result.Shown
		if len(shown) == 0 || shown[0].Diff == nil || !reflect.DeepEqual(*shown[0].Diff, diff) {
			t.Errorf("%s: shown %+v", name, shown)
		}
	}
}

// TestPictures reads a picture with a tool. The next request contains it, also after the
// session was loaded again.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const encoded = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==" // must stay unchanged
	dot, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.png"), dot, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) { x.Call("1", "read_file", `{"path":"a.png"}`) },
		func(x *fakemodel.Exchange) { x.Text("A dot.") },
		func(x *fakemodel.Exchange) { x.Text("Still a dot.") },
	)
	config := agent.Config{
		Model: m, Store: openStore(t), Tools: toolSet(t, builtin(files)...), Files: files,
		Env: &tools.Env{Reader: tools.Reader{Sees: func() bool { return true }}},
	}
	s := begin(t, config)
	if _, err := s.Turn(t.Context(), agent.Input{Text: "look"}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	config.Head.ID = s.ID()
	again, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Turn(t.Context(), agent.Input{Text: "and now?"}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	want := []model.Image{{Name: "a.png", MIMEType: "image/png", Data: encoded}}
	requests := m.Requests()
	for _, r := range requests[1:] {
		if got := r.Messages[2]; got.Role != model.ToolRole || !reflect.DeepEqual(got.Images(), want) {
			t.Errorf("the result in the request: %+v", got)
		}
	}
}
