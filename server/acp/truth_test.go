package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// opener is an editor with open files. It keeps its text until it reloads a file, and reloads only
// documents without unsaved changes.
type opener struct {
	late time.Duration // the delay before it notices a changed file; below 0: never

	mu   sync.Mutex
	docs map[string]*openDocument
}

type openDocument struct {
	text, saved string // saved: the text on disk as far as the editor knows
	noticed     time.Time
}

// opens makes the client open files, with their texts on disk.
func (c *client) opens(late time.Duration, paths ...string) *opener {
	o := &opener{late: late, docs: map[string]*openDocument{}}
	for _, path := range paths {
		text := read(c.t.(*testing.T), path)
		o.docs[path] = &openDocument{text: text, saved: text}
	}
	c.on(protocol.MethodReadTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.ReadTextFileRequest
		_ = json.Unmarshal(params, &p)
		text, err := o.text(p.Path)
		if err != nil {
			return nil, protocol.Errorf(protocol.CodeUnknownResource, "no such file")
		}
		return protocol.ReadTextFileResponse{Content: text}, nil
	})
	c.on(protocol.MethodWriteTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.WriteTextFileRequest
		_ = json.Unmarshal(params, &p)
		o.mu.Lock()
		defer o.mu.Unlock()
		if doc := o.docs[p.Path]; doc != nil {
			doc.text, doc.saved = p.Content, p.Content
		}
		if err := os.WriteFile(p.Path, []byte(p.Content), 0o600); err != nil {
			return nil, protocol.Errorf(protocol.CodeInternal, "%v", err)
		}
		return protocol.WriteTextFileResponse{}, nil
	})
	return o
}

func (o *opener) text(path string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	disk, err := os.ReadFile(path)
	doc := o.docs[path]
	if doc == nil {
		return string(disk), err
	}
	switch {
	case o.late < 0 || err != nil || string(disk) == doc.saved:
		doc.noticed = time.Time{}
	case doc.noticed.IsZero():
		doc.noticed = time.Now()
	}
	if !doc.noticed.IsZero() && time.Since(doc.noticed) >= o.late && doc.text == doc.saved {
		doc.text, doc.saved, doc.noticed = string(disk), string(disk), time.Time{}
	}
	return doc.text, nil
}

func (o *opener) types(path, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.docs[path].text = text
}

// TestDiskChangesUnderAnOpenDocument changes the file of an open, clean document in several ways.
// What follows works on the new text, also if the editor reloads late or never.
func TestDiskChangesUnderAnOpenDocument(t *testing.T) {
	t.Parallel()
	const patch = `{"path":"f.txt","old_string":"alpha","new_string":"ALPHA"}`
	sed := tool("terminal", `{"command":"sed -i s/beta/BETA/ f.txt"}`)
	script := tool("execute_code", `{"code":"p = 'f.txt'\nt = open(p).read()\nopen(p, 'w').write(t.replace('beta', 'BETA'))"}`)
	scriptTools := tool("execute_code", `{"code":"from hermes_tools import read_file, patch\nprint(read_file('f.txt')['content'])\npatch('f.txt', 'alpha', 'ALPHA')"}`)
	for name, late := range map[string]time.Duration{"at once": 0, "after 0.3 s": 300 * time.Millisecond, "after 2 s": 2 * time.Second, "never": -1} {
		for kind, calls := range map[string][]func(*fakemodel.Exchange){
			"command":          {tool("read_file", `{"path":"f.txt"}`), sed, tool("patch", patch)},
			"script":           {tool("read_file", `{"path":"f.txt"}`), script, tool("patch", patch)},
			"written":          {tool("write_file", `{"path":"f.txt","content":"alpha\nbeta\n"}`), sed, tool("read_file", `{"path":"f.txt"}`), tool("patch", patch)},
			"not read":         {sed, tool("patch", patch)},
			"script, not read": {script, tool("patch", patch)},
			"in script":        {tool("read_file", `{"path":"f.txt"}`), sed, scriptTools},
			"V4A": {tool("read_file", `{"path":"f.txt"}`), sed,
				tool("patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Update File: f.txt\n@@\n-alpha\n+ALPHA\n*** End Patch\n"}`)},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				search := tool("search_files", `{"path":"f.txt","pattern":"BETA"}`)
				m := fakemodel.Script(append(calls, search, tool("read_file", `{"path":"f.txt"}`), reply("ok"))...)
				c := connect(t, setup{model: m, client: lendsFiles})
				path := filepath.Join(c.ws, "f.txt")
				write(t, path, "alpha\nbeta\n")
				c.opens(late, path)
				c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
				if got := read(t, path); got != "ALPHA\nBETA\n" {
					t.Errorf("the disk has %q", got)
				}
				messages := m.Requests()[len(calls)+2].Messages
				for _, at := range []int{len(messages) - 3, len(messages) - 1} { // the search and the last read
					if got := messages[at].Text(); !strings.Contains(got, "BETA") {
						t.Errorf("the model was told %s", got)
					}
				}
			})
		}
	}
}

// TestConfirmedWrites: a client confirms a write. The model is told of an error if neither the client
// nor the disk has the new text.
func TestConfirmedWrites(t *testing.T) {
	t.Parallel()
	const failure = "neither the editor nor the disk has the new text"
	edit := tool("patch", `{"path":"f.txt","old_string":"alpha","new_string":"ALPHA"}`)
	create := tool("write_file", `{"path":"new.txt","content":"new\n"}`)
	both := tool("patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Add File: new.txt\n+new\n*** Update File: f.txt\n@@\n-alpha\n+ALPHA\n*** End Patch\n"}`)
	for name, client := range map[string]*protocol.ClientCapabilities{"reads": lendsFiles, "only writes": writesOnly} {
		for kind, call := range map[string]func(*fakemodel.Exchange){"edit": edit, "create": create, "both": both} {
			for does, truth := range map[string]func(path, text string) error{
				"nothing": func(string, string) error { return nil },
				"writes":  func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) },
				"formats": func(path, text string) error { return os.WriteFile(path, []byte("// formatted\n"+text), 0o600) },
			} {
				t.Run(name+"/"+kind+"/"+does, func(t *testing.T) {
					t.Parallel()
					m := fakemodel.Script(tool("read_file", `{"path":"f.txt"}`), call, reply("ok"))
					c := connect(t, setup{model: m, client: client})
					path := filepath.Join(c.ws, "f.txt")
					write(t, path, "alpha\nbeta\n")
					c.on(protocol.MethodReadTextFile, func(params json.RawMessage) (any, *protocol.Error) {
						var p protocol.ReadTextFileRequest
						_ = json.Unmarshal(params, &p)
						text, err := os.ReadFile(p.Path)
						if err != nil {
							return nil, protocol.Errorf(protocol.CodeUnknownResource, "no such file")
						}
						return protocol.ReadTextFileResponse{Content: string(text)}, nil
					})
					c.on(protocol.MethodWriteTextFile, func(params json.RawMessage) (any, *protocol.Error) {
						var p protocol.WriteTextFileRequest
						_ = json.Unmarshal(params, &p)
						if err := truth(p.Path, p.Content); err != nil {
							t.Error(err)
						}
						return protocol.WriteTextFileResponse{}, nil
					})
					c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
					messages := m.Requests()[2].Messages
					if got := messages[len(messages)-1].Text(); strings.Contains(got, failure) != (does == "nothing") {
						t.Errorf("the model was told %s", got)
					}
				})
			}
		}
	}
}

// TestBothChanged: the user has typed, and the disk has changed, too, whether a session has read the file
// before or not.
func TestBothChanged(t *testing.T) {
	t.Parallel()
	sed := tool("terminal", `{"command":"sed -i s/beta/BETA/ f.txt"}`)
	read1, other := tool("read_file", `{"path":"f.txt"}`), tool("todo", `{}`)
	patch, whole := tool("patch", `{"path":"f.txt","old_string":"alpha","new_string":"ALPHA"}`), tool("write_file", `{"path":"f.txt","content":"x"}`)
	for name, calls := range map[string][]func(*fakemodel.Exchange){
		"patch":                {read1, sed, patch},
		"write_file":           {read1, sed, whole},
		"V4A":                  {read1, sed, tool("patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Delete File: f.txt\n*** End Patch\n"}`)},
		"not read":             {other, sed, patch},
		"not read, write_file": {other, sed, whole},
		"read too late":        {sed, read1, patch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(append(calls, reply("ok"))...)
			c := connect(t, setup{model: m, client: lendsFiles})
			path := filepath.Join(c.ws, "f.txt")
			write(t, path, "alpha\nbeta\n")
			o := c.opens(0, path)
			o.types(path, "alpha\nbeta\ntyped\n")
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
			messages := m.Requests()[3].Messages
			if got := messages[len(messages)-1].Text(); !strings.Contains(got, "error") || !strings.Contains(got, "both texts are still there") {
				t.Errorf("the model was told %s", got)
			}
			if text, _ := o.text(path); text != "alpha\nbeta\ntyped\n" || read(t, path) != "alpha\nBETA\n" {
				t.Errorf("the editor has %q, the disk %q", text, read(t, path))
			}
		})
	}
}

// TestFileGone: a command moves or removes the file of an open document that no session has read, and the editor never
// closes it. The file is gone for reads and edits. If the user has typed, an edit is rejected, and the text stays in the editor.
func TestFileGone(t *testing.T) {
	t.Parallel()
	const patch = `{"path":"f.txt","old_string":"alpha","new_string":"ALPHA"}`
	for name, commands := range map[string][]string{
		"moved": {"mv f.txt g.txt"}, "removed": {"rm f.txt"}, "removed in an earlier turn": {"rm f.txt", "echo x > x.txt"},
	} {
		for typed, want := range map[string]string{"": "f.txt does not exist", "typed\n": "both texts are still there"} {
			t.Run(name+"/"+typed, func(t *testing.T) {
				t.Parallel()
				var replies []func(*fakemodel.Exchange)
				for _, command := range commands {
					replies = append(replies, tool("terminal", `{"command":"`+command+`"}`), reply("ok"))
				}
				m := fakemodel.Script(append(replies, tool("patch", patch), tool("read_file", `{"path":"f.txt"}`), reply("ok"))...)
				c := connect(t, setup{model: m, client: lendsFiles})
				path := filepath.Join(c.ws, "f.txt")
				write(t, path, "alpha\nbeta\n")
				o := c.opens(-1, path)
				if typed != "" {
					o.types(path, "alpha\nbeta\n"+typed)
				}
				id := c.newSession()
				for range len(commands) + 1 {
					c.must(protocol.MethodSessionPrompt, say(id, "go"), nil)
				}
				messages := m.Requests()[len(replies)+1].Messages
				if got := messages[len(messages)-1].Text(); !strings.Contains(got, want) {
					t.Errorf("the model was told %s", got)
				}
				if _, err := os.Stat(path); err == nil {
					t.Errorf("the file is there again: %q", read(t, path))
				}
				if text, _ := o.text(path); text != "alpha\nbeta\n"+typed {
					t.Errorf("the editor has %q", text)
				}
			})
		}
	}
}

// TestEarlierTurns: a command of an earlier turn has changed the file of an open document. No
// session has read the document and the editor never reloads it. An edit keeps the command's text.
func TestEarlierTurns(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"one session": false, "other sessions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(tool("terminal", `{"command":"sed -i s/beta/BETA/ f.txt"}`), reply("ok"), tool("terminal", `{"command":"echo x > g.txt"}`), reply("ok"),
				tool("patch", `{"path":"f.txt","old_string":"alpha","new_string":"ALPHA"}`), reply("ok"))
			c := connect(t, setup{model: m, client: lendsFiles})
			path := filepath.Join(c.ws, "f.txt")
			write(t, path, "alpha\nbeta\n")
			o := c.opens(-1, path)
			id := c.newSession()
			for _, prompt := range []string{"one", "two", "three"} {
				c.must(protocol.MethodSessionPrompt, say(id, prompt), nil)
				if closed {
					c.must(protocol.MethodSessionClose, protocol.CloseSessionRequest{SessionID: id}, nil)
					id = c.newSession()
				}
			}
			if text, _ := o.text(path); text != "ALPHA\nBETA\n" || read(t, path) != text {
				t.Errorf("the editor has %q, the disk %q", text, read(t, path))
			}
		})
	}
}
