package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermes-ls/hermes-ls/cli"
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

// TestHelpIsGrouped checks that the help lists each command once, in the groups of the contract.
func TestHelpIsGrouped(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := execute(t.Context(), []string{"--help"}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("exit %d, %s", code, &errOut)
	}
	rest := out.String()
	for _, want := range []string{"\nStart:\n", "  run ", "\nModels:\n", "  model ", "\nSessions:\n", "  sessions ", "\nExtend:\n", "  mcp ", "\nInspect:\n", "  doctor ", "  help ", "\nFlags:\n"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("the help lacks %q, or it is in the wrong order:\n%s", want, &out)
		}
		rest = after
	}
	for _, no := range []string{"Additional Commands", "Available Commands"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("the help has commands without a group:\n%s", &out)
		}
	}
	for _, cmd := range rootCommand().Commands() {
		if !cmd.Hidden && cmd.GroupID == "" {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
}

// TestCommandLine runs command lines without a store. An error is a single line with the next step.
func TestCommandLine(t *testing.T) {
	t.Setenv("HERMES_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for line, want := range map[string]struct {
		code     int
		out, err string
	}{
		"--version":                      {0, "hermes-ls ", ""},
		"version":                        {0, "hermes-ls ", ""},
		"demoo":                          {2, "", "unknown command \"demoo\"; did you mean hermes-ls demo?\n"},
		"sessions lst":                   {2, "", "did you mean hermes-ls sessions list?\n"},
		"config gett":                    {2, "", "did you mean hermes-ls config get?\n"},
		"xyzzy":                          {2, "", "unknown command \"xyzzy\"; see hermes-ls --help\n"},
		"serve --lgo x":                  {2, "", "unknown flag: --lgo; did you mean --log? See hermes-ls serve --help\n"},
		"--lgo x":                        {2, "", "did you mean --log? See hermes-ls --help\n"},
		"run --aprove never x":           {2, "", "did you mean --approve?"},
		"run --approve nevr x":           {2, "", "--approve is \"nevr\": say ask, never or always (did you mean never?)\n"},
		"run --log-level wran x":         {2, "", "(did you mean warn?)\n"},
		"hooks tst":                      {2, "", "did you mean hermes-ls hooks test?\n"},
		"logout --help":                  {2, "", "did you mean hermes-ls mcp logout?\n"},
		"hooks tst --help":               {2, "", "did you mean hermes-ls hooks test?\n"},
		"-h xyzzy":                       {2, "", "see hermes-ls --help\n"},
		"--log-level debug --help":       {0, "Usage:", ""},
		"help hooks tst":                 {2, "", "did you mean hermes-ls hooks test?\n"},
		"help hooks test":                {0, "hermes-ls hooks test", ""},
		"help":                           {0, "Usage:", ""},
		"completion bash2":               {2, "", "did you mean hermes-ls completion bash?\n"},
		"completion":                     {2, "", "say which shell"},
		"completion bash x":              {2, "", "takes no arguments"},
		"completion fish":                {0, "fish completion", ""},
		"sessions check":                 {0, "There are no sessions yet.", ""},
		"config set approvals.mode yolo": {1, "", "must be one of ask, manual, careful, smart, off (did you mean off?)\n"},
		"config set approvals.mode smrt": {1, "", "(did you mean smart?)\n"},
		"config set sandbox.mode none":   {1, "", "(did you mean off?)\n"},
		"config set sandbox.mode auto":   {1, "", "workspace-write"},
		"version x":                      {2, "", "takes no arguments; see hermes-ls version --help\n"},
		"run --nope x":                   {2, "", "unknown flag: --nope; see hermes-ls run --help\n"},
		"sessions list":                  {0, "There are no sessions yet. The first prompt starts one.\n", ""},
		"sessions list --json":           {0, "", ""},
		"sessions search x":              {0, "There are no sessions yet. The first prompt starts one.\n", ""},
		"rollback":                       {0, "No session has checkpoints in ", ""},
		"rollback 1":                     {1, "", "name one with --session\n"},
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

// TestUnknownWords misspells each command and each flag of the program. The error suggests the
// right word, and the exit code reports wrong use. The help of each command exits with 0.
func TestUnknownWords(t *testing.T) {
	t.Setenv("HERMES_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	run := func(args ...string) (int, string) {
		var out, errOut bytes.Buffer
		code := execute(t.Context(), args, strings.NewReader(""), &out, &errOut)
		return code, errOut.String()
	}
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		with := func(more ...string) []string { return append(slices.Clip(words), more...) }
		if code, text := run(with("--help")...); code != 0 || text != "" {
			t.Errorf("%s --help: exit %d, %s", cmd.CommandPath(), code, text)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || len(f.Name) < 4 {
				return
			}
			wrong := f.Name[:2] + f.Name[3:] // without the third letter
			if cmd.Flags().Lookup(wrong) != nil {
				return
			}
			if code, text := run(with("--" + wrong)...); code != cli.WrongUse || !strings.Contains(text, "did you mean --") {
				t.Errorf("%s --%s: exit %d, %s", cmd.CommandPath(), wrong, code, text)
			}
		})
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue
			}
			wrong := sub.Name() + "x"
			want := "did you mean " + sub.CommandPath() + "?\n"
			if code, text := run(with(wrong)...); code != cli.WrongUse || !strings.HasSuffix(text, want) {
				t.Errorf("%s %s: exit %d, %s", cmd.CommandPath(), wrong, code, text)
			}
			check(sub)
		}
	}
	check(rootCommand())
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
	if strings.Contains(out.String(), "ok    config ") {
		t.Errorf("a configuration that fails is also ok:\n%s", &out)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "fail  config ") && strings.Contains(line, "config.yaml:3: ") && code == cli.Failed {
			return
		}
	}
	t.Errorf("exit %d\n%s%s\nwant exit 1 and a line that begins with fail and names line 3", code, &out, &errOut)
}
