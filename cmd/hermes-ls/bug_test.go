package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/cli"
)

const serverKey = "mcp-value-of-plain-name"

// TestBug checks that a report contains the settings and no secret.
func TestBug(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.environ = []string{"GITHUB_TOKEN=ghtoken-0123456789", "HERMES_TESTING=1", "UNRELATED=value-of-unrelated", "SHORT_KEY=hunter2"}
	p.write("home/config.yaml", `model: {provider: embedded, api_key: configured-key-1234}
terminal: {timeout: 77}
mcp_servers:
  one: {command: /nonexistent/server, args: [--token, argument-5678, --verbose], env: {PLAIN: `+serverKey+`}, enabled: false}
  two: {url: 'https://me:pass-in-address@host.invalid/p?q=query-value', enabled: false}
hooks: {post_tool_call: [{command: "no-such-curl -H 'X-House: header-value' --secret flag-value https://host.invalid/"}]}
lsp: {servers: {go: {command: [gopls, --token, lsp-argument], env: {PLAIN: lsp-environment}}}}
`)
	p.write("ws/server.log", strings.Repeat("level=INFO msg=old\n", 5000)+
		"level=INFO msg=\"key is "+testKey+"\"\nlevel=WARN msg=\"also configured-key-1234 and ghp_"+strings.Repeat("a1", 18)+"\"\nlevel=INFO msg=last\n")
	file := filepath.Join(p.cwd, "report.txt")
	out, errOut, code := p.run("bug", "--log", "server.log", "--output", file)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report := string(data)
	for _, want := range []string{
		"## Version", "hermes-ls " + version(), "## System", "kernel", "## Doctor", "sandbox", `"timeout": 77`, "--verbose", `"PLAIN": "[withheld]"`,
		"## Log", "msg=last", "[secret OPENAI_API_KEY withheld]", "[token withheld]", "GITHUB_TOKEN", "HERMES_TESTING",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is missing in\n%s", want, report)
		}
	}
	for _, secret := range []string{testKey, "configured-key-1234", "ghtoken-0123456789", serverKey, "argument-5678", "hunter2", "a1a1a1", "pass-in-address", "query-value", "header-value", "flag-value", "lsp-argument", "lsp-environment", "value-of-unrelated", "UNRELATED"} {
		if strings.Contains(report+out+errOut, secret) {
			t.Errorf("%s is in the report", secret)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || strings.Count(report, "msg=old") > tailLines {
		t.Errorf("mode %v, %v, %d old lines", info.Mode(), err, strings.Count(report, "msg=old"))
	}
	if _, errOut, code := p.run("bug", "--output", file); code != cli.WrongUse || !strings.Contains(errOut, "was not changed") {
		t.Errorf("over an existing file: exit %d, %s", code, errOut)
	}
	if out, _, code := p.run("bug"); code != 0 || !strings.Contains(out, "name it with --log FILE") {
		t.Errorf("to stdout: exit %d, %s", code, out)
	}
}

// TestBugRefuses checks that no report is written if a secret is not redacted, because it is
// encoded or in a part without redaction.
func TestBugRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config, log, part string
	}{
		"encoded": {"model: {provider: embedded}\n", "msg=" + base64.StdEncoding.EncodeToString([]byte("user:"+testKey)), `"Log"`},
		"doctor":  {"model: {provider: embedded}\nweb: {search: {backend: searxng, url: 'https://search.invalid/" + testKey + "/'}}\n", "", `"Doctor"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.write("home/config.yaml", tc.config)
			p.write("ws/log", tc.log)
			file := filepath.Join(p.cwd, "report.txt")
			out, errOut, code := p.run("bug", "--log", "log", "--output", file)
			if code != cli.Failed || !strings.Contains(errOut, "no report was written") || !strings.Contains(errOut, tc.part) {
				t.Errorf("exit %d, %s%s", code, out, errOut)
			}
			if strings.Contains(out+errOut, testKey) {
				t.Error("the message shows the key")
			}
			if _, err := os.Lstat(file); err == nil {
				t.Error("a file was written")
			}
		})
	}
}
