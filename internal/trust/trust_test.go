package trust_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/trust"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Trust belongs to the top directory of the repository. A nested repository and a parent inherit nothing.
func TestTrust(t *testing.T) {
	t.Parallel()
	home, ws := filepath.Join(t.TempDir(), "home"), folder(t)
	for _, dir := range []string{"", "vendor/nested"} {
		if err := os.MkdirAll(filepath.Join(ws, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", filepath.Join(ws, dir), "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write(t, ws, "sub/a.txt", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	s := trust.Open(home)
	if s.Trusted(ws) {
		t.Error("a folder is trusted from the start")
	}
	if root, err := s.Trust(t.Context(), filepath.Join(link, "sub")); err != nil || root != ws {
		t.Fatal(root, err)
	}
	info, err := os.Stat(filepath.Join(home, trust.Name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	for dir, want := range map[string]bool{ws: true, link: true, ws + "/sub": true, ws + "/vendor/nested": false, filepath.Dir(ws): false} {
		if s.Trusted(dir) != want {
			t.Errorf("Trusted(%s) = %v", dir, !want)
		}
	}
	if _, err := s.Revoke(t.Context(), ws); err != nil || s.Trusted(ws) {
		t.Errorf("still trusted: %v", err)
	}
	if !trust.Open(home, ws).Trusted(ws) {
		t.Error("a folder of Hermes' own list is not trusted")
	}
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", user, filepath.Dir(user)} {
		if _, err := s.Trust(t.Context(), dir); err == nil {
			t.Errorf("%s can be trusted", dir)
		}
		if trust.Open(home, dir).Trusted(dir) {
			t.Errorf("%s is trusted", dir)
		}
	}
	write(t, home, trust.Name, "{broken")
	if _, err := s.Trust(t.Context(), ws); err == nil || s.Trusted(ws) {
		t.Error("a broken file is replaced")
	}
}

// Concurrent changes of several stores are all kept.
func TestConcurrentTrust(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var all sync.WaitGroup
	for range 20 {
		dir := folder(t)
		all.Go(func() {
			if _, err := trust.Open(home).Trust(t.Context(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := trust.Open(home).Folders(); err != nil || len(list) != 20 {
		t.Errorf("%d folders, %v", len(list), err)
	}
}

// utf16 returns an ASCII text as Windows PowerShell writes it.
func utf16(text string) string {
	out := "\xff\xfe"
	for _, b := range []byte(text) {
		out += string(b) + "\x00"
	}
	return out
}

func TestServers(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), folder(t)
	write(t, ws, ".mcp.json", `{"mcpServers": {"db": {"command": "./tools/db", "args": ["--config=db.toml", "-c", "run tools/helper.sh"], "env": {"DB_TOKEN": "${DB_TOKEN}"}}, "twice": {"url": "https://a.example"}}}`)
	write(t, ws, ".vscode/mcp.json", "// a comment\n{\"servers\": {\"twice\": {\"url\": \"https://b.example\"}, \"web\": {\"type\": \"http\", \"url\": \"https://x.example/${env:REGION}?t=${TOKEN:-none}\", /* x */ \"headers\": {\"X\": \"//${workspaceFolder}\",},},}}")
	write(t, ws, ".cursor/mcp.json", "{\n\n}}")
	write(t, ws, "wide/.mcp.json", utf16(`{"mcpServers": {"wide": {"url": "https://x.example"}}}`))
	if all := trust.Servers(filepath.Join(ws, "wide")); !slices.ContainsFunc(all, func(s trust.Server) bool { return s.Name == "wide" && s.Problem == "" }) {
		t.Errorf("UTF-16: %+v", all)
	}
	write(t, ws, "tools/db", "#!/bin/sh\n")
	find := func(name string) trust.Server {
		t.Helper()
		all := trust.Servers(ws)
		at := slices.IndexFunc(all, func(s trust.Server) bool { return s.Name == name })
		if at < 0 {
			t.Fatalf("there is no %q in %v", name, all)
		}
		return all[at]
	}
	if s := find(""); !strings.Contains(s.Problem, ".cursor/mcp.json is not readable: line 3") {
		t.Errorf("the broken file: %q", s.Problem)
	}
	if s := find("twice"); s.Spec.URL != "https://a.example" {
		t.Errorf("the second definition is used: %+v", s)
	}
	if s := find("web"); !slices.Equal(s.Variables, []string{"REGION", "TOKEN"}) || s.From != ".vscode/mcp.json" || s.Spec.Headers["X"] != "//${workspaceFolder}" {
		t.Errorf("web: %+v", s)
	}
	write(t, ws, ".claude/agents/a.md", "---\nname: a\nmcpServers:\n  - github\n  - files: {command: ./tools/db, args: [x], env: {A: '${B}'}}\n---\nText\n")
	write(t, ws, ".hermes/agents/b.md", "---\nmcpServers: {notes: {url: 'https://n.example'}, twice: {url: 'https://c.example'}}\n---\nText\n")
	if s := find("files"); s.From != ".claude/agents/a.md" || !slices.Equal(s.Variables, []string{"A", "B"}) || s.Sum == "" {
		t.Errorf("files: %+v", s)
	}
	if find("notes").Spec.URL != "https://n.example" || find("twice").Spec.URL != "https://a.example" {
		t.Error("the servers of an agent")
	}
	db := find("db")
	if !slices.Equal(db.Variables, []string{"DB_TOKEN"}) || db.Line() != "./tools/db --config=db.toml -c run tools/helper.sh" {
		t.Errorf("db: %+v", db)
	}
	store := trust.Open(home)
	if store.Approve(t.Context(), db) == nil {
		t.Error("a server of a folder without trust was approved")
	}
	if _, err := store.Trust(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if store.Approved(db) {
		t.Error("approved by the trust alone")
	}
	for _, change := range []func(){
		func() { write(t, ws, "tools/db", "#!/bin/sh\ncurl x\n") },
		func() { write(t, ws, "db.toml", "new") },
		func() { write(t, ws, "tools/helper.sh", "new") },
		func() {
			write(t, ws, ".mcp.json", `{"mcpServers": {"db": {"command": "./tools/db", "args": [], "env": {}}}}`)
		},
		func() {
			write(t, ws, ".mcp.json", `{"mcpServers": {"db": {"command": "./tools/db", "args": [], "env": {"A": "b"}}}}`)
		},
	} {
		if err := store.Approve(t.Context(), find("db")); err != nil || !store.Approved(find("db")) {
			t.Fatalf("not approved: %v", err)
		}
		before := find("db").Sum
		change()
		if after := find("db"); store.Approved(after) || after.Sum == before {
			t.Errorf("still approved after a change: %s", after.Definition)
		}
	}
	// Each way to name a file of the workspace.
	for _, args := range []string{`"${NOT_SET:-./late.sh}"`, `"${env:NOT_SET:-./late.sh}"`, `".${/}late.sh"`, `"${PWD}/late.sh"`, `"-c", "${A:-${B:-./late.sh}}"`, `"${workspaceFolder}/late.sh"`, `"../${workspaceFolderBasename}/late.sh"`,
		`"-c", "true;./late.sh"`, `"-c", "(exec './late.sh')"`, `"-c", "cat<late.sh"`, `"--files=a.txt,late.sh"`} {
		write(t, ws, ".mcp.json", `{"mcpServers": {"db": {"command": "sh", "args": [`+args+`]}}}`)
		write(t, ws, "late.sh", "one")
		if err := store.Approve(t.Context(), find("db")); err != nil || !store.Approved(find("db")) {
			t.Fatalf("%s is not approved: %v", args, err)
		}
		write(t, ws, "late.sh", "two")
		if store.Approved(find("db")) {
			t.Errorf("%s is still approved with another file", args)
		}
	}
	write(t, ws, ".mcp.json", `{"mcpServers": {"db": {"command": "./tools/db"}}}`)
	if err := os.Remove(filepath.Join(ws, "tools/db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", filepath.Join(ws, "tools/db")); err != nil {
		t.Fatal(err)
	}
	if s := find("db"); s.Sum != "" || !strings.Contains(s.Problem, "leaves the folder") {
		t.Errorf("a link that leaves the folder: %+v", s)
	}
}

// A folder with thousands of servers, or with servers that name too many or too large files, is
// read quickly. A relative path to the folder returns the same servers.
func TestManyServers(t *testing.T) {
	t.Parallel()
	ws := folder(t)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `"s%d": {"command": "x"},`, i)
	}
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprintf("%q", fmt.Sprint("f", i))
	}
	write(t, ws, ".mcp.json", `{"mcpServers": {"a-same": {"command": "x", "args": [`+strings.Repeat(`"./big", `, 2000)+`]}, "b-files": {"command": "x", "args": [`+strings.Join(words, ",")+`]}, `+many.String()+`}}`)
	large := filepath.Join(ws, "big")
	write(t, ws, "big", "")
	if err := os.Truncate(large, 63<<20); err != nil {
		t.Fatal(err)
	}
	all := trust.Servers(ws)
	if len(all) != 100 || all[0].Sum == "" || !strings.Contains(all[1].Problem, "more than 1000 files") {
		t.Fatalf("%d servers: %q, %q", len(all), all[0].Problem, all[1].Problem)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, ws)
	if err != nil {
		t.Skip("the folder is on another drive")
	}
	write(t, ws, ".mcp.json", `{"mcpServers": {"a": {"command": "./big", "args": ["1"]}, "b": {"command": "./big"}, "c": {"command": "./big"}, "d": {"command": "./big"}, "e": {"command": "./big"}}}`)
	write(t, ws, ".cursor/mcp.json", "{\n\n}}")
	write(t, ws, "wide/.mcp.json", utf16(`{"mcpServers": {"wide": {"url": "https://x.example"}}}`))
	if all := trust.Servers(filepath.Join(ws, "wide")); !slices.ContainsFunc(all, func(s trust.Server) bool { return s.Name == "wide" && s.Problem == "" }) {
		t.Errorf("UTF-16: %+v", all)
	}
	all = trust.Servers(ws)
	if len(all) != 6 || all[1].Sum == "" || !strings.Contains(all[5].Problem, "256 MB together") {
		t.Errorf("%+v", all)
	}
	if again := trust.Servers(relative); len(again) != len(all) || again[1].Sum != all[1].Sum {
		t.Errorf("by a relative path: %+v", again)
	}
}
