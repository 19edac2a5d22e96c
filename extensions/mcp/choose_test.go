package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/logfile"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/restart"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	s := &server{Server: Server{
		Include: []string{"read_*", "delete_?", "plain", "a/*"}, Exclude: []string{"read_secret*", "plain"},
		Approve: map[string]string{"*": "allow", "w*": "ask", "wipe": "deny", "[": "deny"},
	}}
	for tool, want := range map[string]bool{"read_file": true, "read_secrets": false, "delete_1": true, "delete_12": false, "plain": false, "other": false, "a/b": true} {
		if s.offers(tool) != want {
			t.Errorf("%s is offered: %v", tool, !want)
		}
	}
	for tool, want := range map[string]string{"read": "allow", "write": "ask", "wipe": "deny", "a/b": "allow"} {
		if got := s.approvalOf(tool); got != want {
			t.Errorf("%s: %q", tool, got)
		}
	}
	reads, writes, destroys := definition{name: "r", readOnly: true}, definition{name: "x"}, definition{name: "d", destructive: true}
	for trust, want := range map[string][3]bool{"": {true, false, false}, "untrusted": {}, "full": {true, true, false}} {
		one := &Server{Trust: trust}
		if got := [3]bool{one.runsFreely(reads), one.runsFreely(writes), one.runsFreely(destroys)}; got != want {
			t.Errorf("trust %q: %v", trust, got)
		}
	}
	one := &Server{Trust: "full", Approve: map[string]string{"x": "ask"}}
	if one.runsFreely(writes) || !(&Server{Trust: "untrusted", Approve: map[string]string{"d": "allow"}}).runsFreely(destroys) {
		t.Error("trust overrides approve")
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	text := expandText("${userHome}${/}a ${env:NAME} ${workspaceFolder} ${NAME:-x}", func(part string) string {
		return strings.NewReplacer("${NAME}", "value", "${NAME:-x}", "other").Replace(part)
	})
	if want := home + string(filepath.Separator) + "a value ${workspaceFolder} other"; text != want {
		t.Errorf("%q, not %q", text, want)
	}
	s := Server{Args: []string{"${workspaceFolder}/x", "${workspaceFolderBasename}"}}
	if in := s.in([]string{"/work/space"}); in.Args[0] != "/work/space/x" || in.Args[1] != "space" || s.Args[1] == "space" {
		t.Errorf("%v", in.Args)
	}
}

func TestLogFile(t *testing.T) {
	t.Parallel()
	path := LogFile(t.TempDir(), "a/b")
	l := &logfile.File{Path: path}
	line := strings.Repeat("x", 1<<18)
	for range 11 {
		l.Write(line)
	}
	l.Close()
	for _, file := range []string{path, path + ".1"} {
		if info, err := os.Stat(file); err != nil || info.Size() > logfile.Largest+1<<19 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// A server that exits too often stays down until it is restarted.
func TestStaysDown(t *testing.T) {
	t.Parallel()
	var e exits
	for range mostExits {
		if e.tooMany() {
			t.Fatal("it stays down early")
		}
		e.add()
	}
	if !e.tooMany() {
		t.Error("it does not stay down")
	}
	dir := filepath.Join(t.TempDir(), "cwd")
	if e.resetIfRestarted(dir, "a"); !e.tooMany() {
		t.Error("it does not stay down until it is restarted")
	}
	again := slices.Clone(e)
	if err := restart.Request(dir, "a"); err != nil {
		t.Fatal(err)
	}
	if e.resetIfRestarted(dir, "a"); e.tooMany() {
		t.Error("it stays down after the user has restarted it in the shell")
	}
	again[0] = time.Now().Add(-exitsWithin)
	if again.tooMany() {
		t.Error("it stays down for ever")
	}
}

// Notices caused by a server are limited.
func TestRemarks(t *testing.T) {
	t.Parallel()
	told := 0
	x := &server{owner: New(t.Context(), Config{Notice: func(string) { told++ }})}
	for range 1000 {
		x.remark("asks")
	}
	if told != mostRemarks {
		t.Errorf("%d notices", told)
	}
	if now := time.Now(); x.notices.admit(now) || !x.notices.admit(now.Add(time.Minute)) {
		t.Error("after a minute, there is none")
	}
}

// The tokens of a login are redacted, also if they are fetched later.
func TestTokensAreRedacted(t *testing.T) {
	t.Parallel()
	var given []string
	s := New(t.Context(), Config{Logins: login.Open(t.TempDir(), ""), Secret: func(values map[string]string) {
		for _, v := range values {
			given = append(given, v)
		}
	}})
	for _, token := range []string{"", "first", "first", "second", "first"} {
		s.redact("https://a.example/mcp", token)
	}
	if !slices.Equal(given, []string{"first", "second"}) {
		t.Errorf("redacted: %q", given)
	}
}
