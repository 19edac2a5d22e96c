package backend

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(m.Run())
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		want   string
	}{
		"unknown":           {Config{Kind: "modal"}, "there are local, ssh, docker and singularity"},
		"no host":           {Config{Kind: "ssh"}, "terminal.ssh_host is not set"},
		"an option":         {Config{Kind: "ssh", SSH: SSHConfig{Host: "-oProxyCommand=evil"}}, "is no name of a machine"},
		"a command":         {Config{Kind: "ssh", SSH: SSHConfig{Host: "x;reboot"}}, "is no name of a machine"},
		"a line":            {Config{Kind: "ssh", SSH: SSHConfig{Host: "x\ny"}}, "is no name of a machine"},
		"a user's option":   {Config{Kind: "ssh", SSH: SSHConfig{Host: "x", User: "-lroot"}}, "is no name of a machine"},
		"a port":            {Config{Kind: "ssh", SSH: SSHConfig{Host: "x", Port: 70000}}, "ssh_port 70000"},
		"no image":          {Config{Kind: "docker"}, "terminal.docker_image"},
		"an image's option": {Config{Kind: "docker", Image: "--privileged"}, "is no image"},
		"no sif":            {Config{Kind: "singularity"}, "terminal.singularity_image"},
		"no apptainer":      {Config{Kind: "singularity", Image: "x.sif", Program: "apptainer-that-is-not-there"}, "https://apptainer.org"},
	} {
		_, err := New(tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := New(Config{Kind: "ssh", SSH: SSHConfig{Host: "x"}}); err == nil || !strings.Contains(err.Error(), "apt install openssh-client") {
		t.Errorf("without ssh: %v", err)
	}
	c, err := New(Config{Kind: "docker", Image: "debian"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "apt install podman") {
		t.Errorf("without an engine: %v", err)
	}
}

func TestSingularityArgs(t *testing.T) {
	t.Parallel()
	s := &singularity{Config: Config{Image: "x.sif", Folders: []string{"/ws"}}, program: "/bin/apptainer"}
	got := s.Args([]string{"sh", "-c", "a b"}, "/ws", false)
	want := []string{"/bin/apptainer", "--quiet", "exec", "--cleanenv", "--contain", "--net", "--network", "none", "--bind", "/ws", "--pwd", "/ws", "x.sif", "sh", "-c", "a b"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Folders = []string{"/a:b"}
	if _, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be shared") {
		t.Errorf("%v", err)
	}
}

// A supervised command ends with its input and keeps its exit code.
func TestSupervised(t *testing.T) {
	t.Parallel()
	run := func(ctx context.Context, keys bool, in, script string) (string, int) {
		t.Helper()
		var out strings.Builder
		c := proc.Cmd{Args: Supervised([]string{"sh", "-c", script}, keys), Dir: "/", Env: os.Environ(), Stdout: &out}
		if c.Stdin = newSilence(); in != "" {
			c.Stdin = strings.NewReader(in)
		}
		exit, err := proc.Run(ctx, c)
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		return out.String(), exit.Code
	}
	for _, tt := range []struct {
		keys         bool
		in, run, out string
		code         int
	}{
		{false, "", "echo out; cat; exit 3", "out\n", 3},
		{false, "", "kill -9 $$", "", 137},
		{true, "word\n", "read x; echo got $x", "got word\n", 0},
		{true, "a\nb\n", "cat; exit 4", "a\nb\n", 4},
		{false, "the end of it", "sleep 1000", "", 143},
		{true, "the end of it", "trap '' TERM; while :; do sleep 0.1; done", "", 137},
	} {
		if out, code := run(t.Context(), tt.keys, tt.in, tt.run); out != tt.out || code != tt.code {
			t.Errorf("%s: %q and %d, want %q and %d", tt.run, out, code, tt.out, tt.code)
		}
	}
}
