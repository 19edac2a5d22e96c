package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
)

// TestImportReadsComments reads settings with comments and commas before closing brackets, as Claude
// Code and editors do. An error of JSON names the line.
func TestImportReadsComments(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HERMES_HOME", home)
	for _, c := range []struct{ name, text, written, problem string }{
		{"settings.json", "\ufeff{\n\t// my \"hooks\": {\n\t\"hooks\": {\n\t\t\"PreToolUse\": [ /* all\n of it */\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"echo http://a //b ,}\", \"timeout\": 7,},],},\n\t\t],\n\t},\n}\n",
			"echo http://a //b ,}", ""},
		{"hooks.yaml", "hooks:\n  Stop:\n    - hooks:\n        - {type: command, command: \"echo yaml // x\"} # mine\n", "echo yaml // x", ""},
		{"broken.json", "{\n  // first\n  \"hooks\": {\n    \"Stop\": [}\n  }\n}\n", "", "line 4"},
	} {
		file := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := New(Options{Home: cli.Home{Schema: func() *config.Schema { return config.NewSchema(*hooks.Section()) }}})
		cmd.SetArgs([]string{"import", file})
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.Execute()
		config, _ := os.ReadFile(filepath.Join(home, "config.yaml"))
		switch {
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "yaml")):
			t.Errorf("%s: %v", c.name, err)
		case c.problem == "" && (err != nil || !strings.Contains(string(config), c.written)):
			t.Errorf("%s: %v, %s\n%s", c.name, err, &out, config)
		}
	}
	config, _ := os.ReadFile(filepath.Join(home, "config.yaml"))
	if !strings.Contains(string(config), `"timeout": 7}`) {
		t.Errorf("the timeout is not 7:\n%s", config)
	}
}
