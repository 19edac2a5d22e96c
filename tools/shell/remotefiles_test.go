//go:build linux

package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/gate"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// The file tools over a real ssh, in a directory shared with commands.
func TestFilesOverSSH(t *testing.T) {
	t.Parallel()
	programPath(t, "rg")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("a.txt", "one\r\ntwo\r\nthree", 0o750)
	put(".git/HEAD", "ref: refs/heads/main\n", 0o644) // ignore rules count in repositories
	put("sub/b.go", "package b\n\nvar needle = 1\n", 0o644)
	put("latin.txt", "caf\xe9\n", 0o644)
	put("bin", "a\x00b", 0o644)
	put("del.txt", "bye\n", 0o644)
	put("move.sh", "#!/bin/sh\nneedle\n", 0o755)
	put(".gitignore", "ignored\n", 0o644)
	put("settings/.editorconfig", "[*.bat]\nend_of_line = crlf\n", 0o644)
	put("ignored/c.go", "needle\n", 0o644)
	put("locked.txt", "locked\n", 0o444)
	put("with space/d'e.txt", "needle here\n", 0o644)
	for link, target := range map[string]string{"in": "a.txt", "out": outside, "nowhere": "gone"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := backend.New(backend.Config{Kind: "ssh", SSH: sshd(t), Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	p := remotePlace{&tools.Env{Reader: tools.Reader{Script: true}}, tools.Bounds{Files: backend.FilesOf(b), HermesHome: t.TempDir()}}
	state := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "(none)"
		}
		info, _ := os.Stat(filepath.Join(dir, name))
		return fmt.Sprintf("%o %s", info.Mode().Perm(), text)
	}
	for _, tt := range []struct {
		tool, args string
		want       string            // in the result
		files      map[string]string // afterwards
	}{
		{"read_file", `{"path":"a.txt"}`, `"content":"1|one\n2|two\n3|three","total_lines":3`, nil},
		{"read_file", `{"path":"` + dir + `/in","offset":3}`, `"content":"3|three"`, nil},
		{"read_file", `{"path":"latin.txt"}`, "café", nil},
		{"read_file", `{"path":"bin"}`, "binary file", nil},
		{"read_file", `{"path":"sub"}`, `"content":"b.go"`, nil},
		{"read_file", `{"path":"a.tx"}`, "did you mean a.txt", nil},
		{"read_file", `{"path":"sub/none/x"}`, "does not exist", nil},
		{"read_file", `{"path":"a.txt/x"}`, "does not exist", nil},
		{"read_file", `{"path":"fifo"}`, "is not a regular file", nil},
		{"read_file", `{"path":"../x"}`, "is outside", nil},
		{"read_file", `{"path":"/etc/passwd"}`, "is outside", nil},
		{"read_file", `{"path":"out/x"}`, "is outside", nil},
		{"write_file", `{"path":"out/x","content":"x"}`, "is outside", nil},
		{"write_file", `{"path":".git/hooks/pre-commit","content":"x"}`, "no user can approve it", map[string]string{".git/hooks/pre-commit": "(none)"}},
		{"write_file", `{"path":"new/deep/n.txt","content":"fresh\n"}`, `"created":true`, map[string]string{"new/deep/n.txt": "644 fresh\n"}},
		{"write_file", `{"path":"new/deep/n.txt","content":"again\n"}`, `"created":false,"diff":"`, map[string]string{"new/deep/n.txt": "644 again\n"}},
		{"write_file", `{"path":"settings/new/n.bat","content":"fresh\n"}`, `CRLF line ends`, map[string]string{"settings/new/n.bat": "644 fresh\r\n"}},
		{"write_file", `{"path":"locked.txt","content":"open\n"}`, "read-only", map[string]string{"locked.txt": "444 locked\n"}},
		{"patch", `{"path":"a.txt","old_string":"two","new_string":"2"}`, `"replacements":1`, map[string]string{"a.txt": "750 one\r\n2\r\nthree"}},
		{"patch", `{"path":"in","old_string":"three","new_string":"3"}`, `"files_modified":["a.txt"]`, map[string]string{"a.txt": "750 one\r\n2\r\n3"}},
		{"patch", `{"path":"latin.txt","old_string":"café","new_string":"thé"}`, `"success":true`, map[string]string{"latin.txt": "644 th\xe9\n"}},
		{"patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Update File: sub/b.go\n@@\n-var needle = 1\n+var needle = 2\n*** Delete File: none.txt\n*** End Patch"}`, "does not exist", map[string]string{"sub/b.go": "644 package b\n\nvar needle = 1\n"}},
		{"patch", `{"mode":"patch","patch":"*** Begin Patch\n*** Update File: sub/b.go\n@@\n-var needle = 1\n+var needle = 2\n*** Delete File: del.txt\n*** Update File: move.sh\n*** Move to: moved/m.sh\n@@\n-needle\n+needle too\n*** Add File: add.txt\n+added\n*** End Patch"}`,
			`"files_modified":["sub/b.go","del.txt","moved/m.sh","add.txt"]`,
			map[string]string{"sub/b.go": "644 package b\n\nvar needle = 2\n", "del.txt": "(none)", "move.sh": "(none)", "moved/m.sh": "755 #!/bin/sh\nneedle too\n", "add.txt": "644 added\n"}},
		{"search_files", `{"pattern":"needle","context":1}`, `"total_count":3`, nil},
		{"search_files", `{"pattern":"needle \\w+","file_glob":"*.txt"}`, `"path":"with space/d'e.txt","line":1,"content":"needle here"`, nil},
		{"search_files", `{"pattern":"needle","path":"sub","output_mode":"count"}`, `"counts":{"sub/b.go":1}`, nil},
		{"search_files", `{"pattern":"needle","limit":1,"offset":1}`, `"path":"sub/b.go","line":3,"content":"var needle = 2"`, nil},
		{"search_files", `{"pattern":"*.go","target":"files"}`, `"files":["sub/b.go"]`, nil},
		{"search_files", `{"pattern":"nothing at all"}`, `"total_count":0`, nil},
		{"search_files", `{"pattern":"= \\d","file_glob":"*.go"}`, `"line":3,"content":"var needle = 2"`, nil},
		{"search_files", `{"pattern":"=needle"}`, `"total_count":0`, nil},
		{"search_files", `{"pattern":"(unclosed"}`, "the pattern is not a valid regular expression", nil},
		{"search_files", `{"pattern":"x","path":"none"}`, "does not exist", nil},
	} {
		got := p.call(t, tt.tool, tt.args)
		if !strings.Contains(strings.ReplaceAll(string(got.JSON), `\\`, `\`), tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.args, got.JSON, tt.want)
		}
		for name, want := range tt.files {
			if got := state(name); got != want {
				t.Errorf("%s %s: %s is %q, want %q", tt.tool, tt.args, name, got, want)
			}
		}
	}
	// A file that another program has changed is rejected until it is read again.
	p.call(t, "read_file", `{"path":"a.txt"}`)
	put("a.txt", "theirs\n", 0o750)
	if got := p.call(t, "write_file", `{"path":"a.txt","content":"mine\n"}`); !got.IsError || !strings.Contains(string(got.JSON), "read it again") {
		t.Errorf("a stale write: %s", got.JSON)
	}
	forked, err := tools.ForkFiles(p.bounds.Files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forked.Write(t.Context(), "a.txt", []byte("his\n")); err != nil || state("a.txt") != "750 his\n" {
		t.Errorf("%v, %s", err, state("a.txt"))
	}
	var left []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".hermes-") {
			left = append(left, path)
		}
		return err
	}); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	// A large file comes in windows, and bytes survive.
	big := strings.Repeat("0123456789abcdef\n", 300_000)
	put("big.txt", big, 0o644)
	w := p.window(t, `{"path":"big.txt","offset":299999}`)
	if w.TotalLines != 300_000 || w.Content != "299999|0123456789abcdef\n300000|0123456789abcdef" {
		t.Errorf("%+v", w)
	}
	if f, err := p.bounds.Files.Read(t.Context(), "big.txt"); err != nil || string(f.Text) != big {
		t.Errorf("%v", err)
	}
	var names []string
	entries, err := p.bounds.Files.List(t.Context(), ".")
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.IsSorted(names) || !slices.Contains(names, "fifo") {
		t.Errorf("%v, %v", names, err)
	}
	// It continues after a lost connection.
	d := &desk{callEnv: &callEnv{p.env, Config{Bounds: p.bounds}}, t: t}
	d.Shell, d.Env.Gate = NewRemote(b, nil, ""), gate.New(gate.Config{Mode: "off"})
	d.call(terminalTool(d.Config), `{"command":"kill -9 $PPID; sleep 5"}`)
	if got := p.call(t, "read_file", `{"path":"add.txt"}`); !strings.Contains(string(got.JSON), "added") {
		if got = p.call(t, "read_file", `{"path":"add.txt"}`); !strings.Contains(string(got.JSON), "added") {
			t.Errorf("after the connection was lost: %s", got.JSON)
		}
	}
	var last map[string]any
	if err := json.Unmarshal(p.call(t, "write_file", `{"path":"end.txt","content":"end\n"}`).JSON, &last); err != nil || last["error"] != nil {
		t.Errorf("%v, %v", last, err)
	}
}

// remotePlace holds the file tools of another machine.
type remotePlace struct {
	env    *tools.Env
	bounds tools.Bounds
}

func (p remotePlace) call(t *testing.T, tool, args string) tools.Result {
	t.Helper()
	set, err := tools.NewSet(file.Tools(file.Config{Bounds: p.bounds})...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Call(t.Context(), p.env, tools.Call{ID: "1", Name: tool, Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// window reads a window of a file.
func (p remotePlace) window(t *testing.T, args string) (w struct {
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated"`
}) {
	t.Helper()
	if err := json.Unmarshal(p.call(t, "read_file", args).JSON, &w); err != nil {
		t.Fatal(err)
	}
	return w
}
