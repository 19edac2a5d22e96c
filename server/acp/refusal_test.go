package acp_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	commands "github.com/hermes-ls/hermes-ls/protocol"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

var denied = &protocol.Error{Code: protocol.CodeInternal, Message: "Internal error", Data: map[string]string{"details": "Permission denied by the user"}}

// tree reads the files below a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != folder {
			rel, _ := filepath.Rel(folder, path)
			files[rel] = "a folder"
			if !d.IsDir() {
				files[rel] = read(t, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// onDiskToo makes the client read and write the disk, as many do, and counts its writes. The client
// rejects the operation in refuse: "read" or "write".
func (c *client) onDiskToo(refuse string) (wrote func() map[string]string) {
	texts := map[string]string{}
	c.on(protocol.MethodReadTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.ReadTextFileRequest
		_ = json.Unmarshal(params, &p)
		text, err := os.ReadFile(p.Path)
		switch {
		case strings.Contains(refuse, "read"):
			return nil, denied
		case err != nil && strings.Contains(refuse, "sloppy"):
			return nil, protocol.Errorf(protocol.CodeInternal, "ENOENT: no such file")
		case err != nil:
			return nil, protocol.Errorf(protocol.CodeUnknownResource, "no such file")
		}
		return protocol.ReadTextFileResponse{Content: string(text)}, nil
	})
	c.on(protocol.MethodWriteTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.WriteTextFileRequest
		_ = json.Unmarshal(params, &p)
		if strings.Contains(refuse, "write") {
			return nil, denied
		}
		if err := os.WriteFile(p.Path, []byte(p.Content), 0o600); err != nil {
			return nil, protocol.Errorf(protocol.CodeInternal, "%v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		texts[filepath.Base(p.Path)] = p.Content
		return protocol.WriteTextFileResponse{}, nil
	})
	return func() map[string]string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return texts
	}
}

// TestClientRefuses wants every refusal of the client to be the answer of the tool:
// nothing is read from the disk or changed there instead.
func TestClientRefuses(t *testing.T) {
	t.Parallel()
	both := protocol.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	writes := protocol.FileSystemCapabilities{WriteTextFile: true}
	v4a := func(body string) string {
		args, err := json.Marshal(map[string]string{"mode": "patch", "patch": "*** Begin Patch\n" + body + "*** End Patch\n"})
		if err != nil {
			t.Fatal(err)
		}
		return string(args)
	}
	for name, x := range map[string]struct {
		fs     protocol.FileSystemCapabilities
		refuse string
		tool   string
		args   string
	}{
		"read":                 {both, "read write", "read_file", `{"path":"a.txt"}`},
		"search in one file":   {both, "read write", "search_files", `{"path":"a.txt","pattern":"one"}`},
		"replace, unread":      {both, "read", "write_file", `{"path":"a.txt","content":"x"}`},
		"replace":              {both, "write", "write_file", `{"path":"a.txt","content":"x"}`},
		"patch, unread":        {both, "read", "patch", `{"path":"a.txt","old_string":"one","new_string":"x"}`},
		"patch":                {both, "write", "patch", `{"path":"a.txt","old_string":"one","new_string":"x"}`},
		"new":                  {both, "write", "write_file", `{"path":"new/folder/b.txt","content":"x"}`},
		"new, all refused":     {both, "read write", "write_file", `{"path":"b.txt","content":"x"}`},
		"V4A add":              {both, "write", "patch", v4a("*** Add File: b.txt\n+x\n")},
		"V4A add, all refused": {both, "read write", "patch", v4a("*** Add File: b.txt\n+x\n")},
		"V4A delete":           {both, "write", "patch", v4a("*** Delete File: a.txt\n")},
		"V4A delete, unread":   {both, "read", "patch", v4a("*** Delete File: a.txt\n")},
		"V4A move":             {both, "write", "patch", v4a("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n")},
		"V4A move, unread":     {both, "read", "patch", v4a("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n")},
		"V4A of several":       {both, "write", "patch", v4a("*** Add File: b.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+two\n")},
		"writes only: replace": {writes, "write", "write_file", `{"path":"a.txt","content":"x"}`},
		"writes only: new":     {writes, "write", "write_file", `{"path":"b.txt","content":"x"}`},
		"writes only: patch":   {writes, "write", "patch", `{"path":"a.txt","old_string":"one","new_string":"x"}`},
		"writes only: V4A":     {writes, "write", "patch", v4a("*** Delete File: a.txt\n")},
		"script":               {both, "read write", "execute_code", `{"code":"from hermes_tools import read_file, write_file\nfor f in (lambda: read_file('a.txt'), lambda: write_file('b.txt', 'x')):\n    try: print(f())\n    except Exception as e: print(e)"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(tool(x.tool, x.args), reply("ok"))
			c := connect(t, setup{model: m, client: &protocol.ClientCapabilities{FS: x.fs}})
			write(t, filepath.Join(c.ws, "a.txt"), "one\n")
			wrote := c.onDiskToo(x.refuse)
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
			messages := m.Requests()[1].Messages
			if got := messages[len(messages)-1].Text(); !strings.Contains(got, "refused") || !strings.Contains(got, "Permission denied by the user") || strings.Contains(got, "one") {
				t.Errorf("the model was told %s", got)
			}
			if got, want := tree(t, c.ws), map[string]string{"a.txt": "one\n"}; !maps.Equal(got, want) {
				t.Errorf("the disk has %q, want %q", got, want)
			}
			if len(wrote()) > 0 {
				t.Errorf("the client wrote %q", wrote())
			}
		})
	}
}

// TestNewAndDeletedFilesGoThroughTheClient also covers a client with its own wording of "not
// found".
func TestNewAndDeletedFilesGoThroughTheClient(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"", "sloppy"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(
				tool("write_file", `{"path":"new/b.txt","content":"b\n"}`),
				tool("patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Add File: c.txt\n+c\n*** Update File: a.txt\n*** Move to: moved.txt\n@@\n-one\n+two\n*** Delete File: gone.txt\n*** End Patch\n"}`),
				reply("ok"),
			)
			c := connect(t, setup{model: m, client: lendsFiles})
			write(t, filepath.Join(c.ws, "a.txt"), "one\n")
			write(t, filepath.Join(c.ws, "gone.txt"), "gone\n")
			wrote := c.onDiskToo(client)
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
			want := map[string]string{"new": "a folder", "new/b.txt": "b\n", "c.txt": "c\n", "moved.txt": "two\n"}
			if got := tree(t, c.ws); !maps.Equal(got, want) {
				t.Errorf("the disk has %q, want %q; the model was told %s", got, want, m.Requests()[2].Messages[4].Text())
			}
			if want := map[string]string{"b.txt": "b\n", "c.txt": "c\n", "moved.txt": "two\n", "a.txt": "", "gone.txt": ""}; !maps.Equal(wrote(), want) {
				t.Errorf("the client wrote %q, want %q", wrote(), want)
			}
		})
	}
}

// TestClientRefusesRestore checks that a restore changes no file that the client refuses to write.
// If the client agrees, all files are written through it.
func TestClientRefusesRestore(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("write_file", `{"path":"new.txt","content":"new\n"}`),
		tool("patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n"}`),
		reply("ok"),
	)
	c := connect(t, setup{model: m, client: lendsFiles})
	write(t, filepath.Join(c.ws, "a.txt"), "one\n")
	write(t, filepath.Join(c.ws, "gone.txt"), "gone\n")
	before := tree(t, c.ws)
	c.onDiskToo("")
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, say(id, "go"), nil)
	after := tree(t, c.ws)
	if want := map[string]string{"a.txt": "two\n", "new.txt": "new\n"}; !maps.Equal(after, want) {
		t.Fatalf("the disk has %q, want %q", after, want)
	}
	var list commands.CheckpointListResult
	c.must(protocol.MethodCheckpointList, commands.CheckpointArgs{SessionID: id}, &list)
	restore := commands.CheckpointArgs{SessionID: id, CheckpointID: list.Checkpoints[0].ID}

	c.onDiskToo("write")
	r := c.call(protocol.MethodCheckpointRestore, restore)
	if got := tree(t, c.ws); !maps.Equal(got, after) {
		t.Errorf("the disk has %q, want %q", got, after)
	}
	if !strings.Contains(string(r.Result), `"restored":[]`) {
		t.Errorf("restored %s %v", r.Result, r.Error)
	}
	wrote := c.onDiskToo("")
	c.must(protocol.MethodCheckpointRestore, restore, nil)
	if got := tree(t, c.ws); !maps.Equal(got, before) {
		t.Errorf("the disk has %q, want %q", got, before)
	}
	if want := map[string]string{"a.txt": "one\n", "gone.txt": "gone\n", "new.txt": ""}; !maps.Equal(wrote(), want) {
		t.Errorf("the client wrote %q, want %q", wrote(), want)
	}
}

// TestClientRefusesTheCopyToo: a subagent's worktree is no way around a refusal.
func TestClientRefusesTheCopyToo(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("delegate_task", `{"goal":"Look around","toolsets":["file"],"isolation":"worktree"}`),
		tool("read_file", `{"path":"a.txt"}`),
		reply("Looked."),
		reply("done"),
	)
	c := connect(t, setup{model: m, client: lendsFiles})
	write(t, filepath.Join(c.ws, "a.txt"), "one\n")
	commitAll(t, c.ws)
	c.onDiskToo("read write")
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	messages := m.Requests()[2].Messages
	if got := messages[len(messages)-1].Text(); !strings.Contains(got, "Permission denied by the user") || strings.Contains(got, "one") {
		t.Errorf("the subagent was told %s", got)
	}
}

// TestRefusedFileIsNotSearched: a search shows no lines of a file that the client has refused to
// read, also to a subagent in a copy of the workspace.
func TestRefusedFileIsNotSearched(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("read_file", `{"path":"a.txt"}`),
		tool("search_files", `{"pattern":"on."}`),
		reply("ok"),
	)
	c := connect(t, setup{model: m, client: lendsFiles})
	write(t, filepath.Join(c.ws, "a.txt"), "one\n")
	write(t, filepath.Join(c.ws, "b.txt"), "only\n")
	c.onDiskToo("read")
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	messages := m.Requests()[2].Messages
	if got := messages[len(messages)-1].Text(); !strings.Contains(got, "only") || strings.Contains(got, "one") {
		t.Errorf("the model was told %s", got)
	}
}

// TestAnswerWithoutContent: it is no empty file.
func TestAnswerWithoutContent(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`null`, `{}`, `{"content":null}`} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(tool("read_file", `{"path":"a.txt"}`), tool("write_file", `{"path":"a.txt","content":"x"}`), reply("ok"))
			c := connect(t, setup{model: m, client: lendsFiles})
			c.strict = false
			write(t, filepath.Join(c.ws, "a.txt"), "one\n")
			wrote := c.onDiskToo("")
			c.on(protocol.MethodReadTextFile, func(json.RawMessage) (any, *protocol.Error) { return json.RawMessage(answer), nil })
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
			for _, i := range []int{1, 2} {
				messages := m.Requests()[i].Messages
				if got := messages[len(messages)-1].Text(); !strings.Contains(got, "no content") {
					t.Errorf("the model was told %s", got)
				}
			}
			if got := read(t, filepath.Join(c.ws, "a.txt")); got != "one\n" || len(wrote()) > 0 {
				t.Errorf("the disk has %q, the client wrote %q", got, wrote())
			}
		})
	}
}

// TestSlowClientDoesNotAgree: while a client still asks its user, it has not agreed.
func TestSlowClientDoesNotAgree(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := fakemodel.Script(tool("read_file", `{"path":"a.txt"}`), tool("read_file", `{"path":"a.txt"}`), reply("ok"))
		c := connect(t, setup{home: home, ws: ws, static: true, model: m, client: lendsFiles})
		write(t, filepath.Join(c.ws, "a.txt"), "one\n")
		c.on(protocol.MethodReadTextFile, func(json.RawMessage) (any, *protocol.Error) {
			<-c.gone
			return nil, denied
		})
		_, answer := c.start(protocol.MethodSessionPrompt, say(c.newSession(), "go"))
		<-answer
		for _, i := range []int{1, 2} {
			messages := m.Requests()[i].Messages
			if got := messages[len(messages)-1].Text(); !strings.Contains(got, "did not answer") || strings.Contains(got, "one") {
				t.Errorf("the model was told %s", got)
			}
		}
	})
}
