package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cmd/cli"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		for line := range strings.Lines(cmd.Example + "\n") {
			if !strings.HasPrefix(line, "  ") && line != "\n" {
				t.Errorf("%s: the example %q is not indented", cmd.CommandPath(), line)
			}
		}
		if !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: the help has no example of it", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(rootCommand())
}

// TestCommandLine runs command lines without a store. Errors are one line and say what to do.
func TestCommandLine(t *testing.T) {
	t.Setenv("HERMES_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for line, want := range map[string]struct {
		code     int
		out, err string
	}{
		"--version":            {0, "hermes-ls ", ""},
		"version":              {0, "hermes-ls ", ""},
		"demoo":                {2, "", "unknown command \"demoo\"; did you mean hermes-ls demo?\n"},
		"sessions lst":         {2, "", "did you mean hermes-ls sessions list?\n"},
		"config gett":          {2, "", "did you mean hermes-ls config get?\n"},
		"xyzzy":                {2, "", "unknown command \"xyzzy\"; see hermes-ls --help\n"},
		"version x":            {2, "", "takes no arguments; see hermes-ls version --help\n"},
		"run --nope x":         {2, "", "unknown flag: --nope; see hermes-ls run --help\n"},
		"sessions list":        {0, "There are no sessions yet. The first prompt starts one.\n", ""},
		"sessions list --json": {0, "", ""},
		"sessions search x":    {0, "There are no sessions yet. The first prompt starts one.\n", ""},
		"rollback":             {0, "No session has changed files in ", ""},
		"rollback 1":           {1, "", "name one with --session\n"},
	} {
		var out, errOut bytes.Buffer
		code := execute(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errOut)
		if code != want.code || !strings.Contains(out.String(), want.out) || !strings.Contains(errOut.String(), want.err) {
			t.Errorf("hermes-ls %s: exit %d\n%s%s\nwant exit %d, %q and %q", line, code, &out, &errOut, want.code, want.out, want.err)
		}
		if out.Len() > 0 && want.out == "" || errOut.Len() > 0 && want.err == "" || strings.Count(errOut.String(), "\n") > 1 {
			t.Errorf("hermes-ls %s prints more:\n%s%s", line, &out, &errOut)
		}
	}
}

func TestDoctorFailsOnInvalidConfiguration(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HERMES_HOME", home)
	t.Chdir(t.TempDir())
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("model: {provider: embedded}\nterminal:\n  timeout: soon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := execute(t.Context(), []string{"doctor"}, strings.NewReader(""), &out, &errOut)
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "fail  config ") && strings.Contains(line, "config.yaml:3: ") && code == cli.Failed {
			return
		}
	}
	t.Errorf("exit %d\n%s%s\nwant exit 1 and a line that begins with fail and names line 3", code, &out, &errOut)
}
