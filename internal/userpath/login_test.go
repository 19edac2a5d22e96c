//go:build unix

package userpath_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}

// generous is a limit sufficient for a shell on a busy machine.
const generous = 2 * time.Minute

// account is a home directory with a login shell, for a server started by the desktop.
type account struct {
	t    *testing.T
	home string
	conf userpath.Config
}

func newAccount(t *testing.T, shell string) *account {
	t.Helper()
	home := t.TempDir()
	a := &account{t: t, home: home}
	a.conf = userpath.Config{
		Environ: []string{"HOME=" + home, "SHELL=" + testneed.Program(t, shell, ""), "PATH=/usr/bin:/bin", "LANG=C"},
		Enabled: func() bool { return true }, Limit: generous,
	}
	return a
}

// file writes a file of the home. HOME in its text is the home.
func (a *account) file(name, text string, mode os.FileMode) {
	a.t.Helper()
	path := filepath.Join(a.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) folder(name string) string {
	a.t.Helper()
	path := filepath.Join(a.home, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// asked returns the folders of PATH, and where they come from.
func (a *account) asked() ([]string, string) {
	a.t.Helper()
	l := userpath.New(a.conf)
	defer l.Close()
	path, ok := l.Path(a.t.Context())
	if !ok {
		a.t.Fatal("the login shell was not asked")
	}
	return filepath.SplitList(path), l.From()
}

// Programs known only to a profile are found, whatever else the profile does. Its directories come
// before the system's, as in a terminal.
func TestProfilesExtendPath(t *testing.T) {
	t.Parallel()
	const add = "export PATH=\"$HOME/mine/bin:$PATH\"\n"
	for _, tt := range []struct{ name, shell, file, text string }{
		{"profile", "bash", ".profile", add},
		{"bash_profile", "bash", ".bash_profile", add},
		{"bashrc of an interactive shell", "bash", ".bash_profile", "case $- in *i*) " + add + ";; esac\n"},
		{"dash", "dash", ".profile", add},
		{"ksh", "ksh", ".profile", add},
		{"zprofile", "zsh", ".zprofile", add},
		{"zshrc", "zsh", ".zshrc", add},
		{"zshenv that moves the others", "zsh", ".zshenv", "export ZDOTDIR=$HOME\npath=($HOME/mine/bin $path)\n"},
		{"fish", "fish", ".config/fish/config.fish", "fish_add_path -P $HOME/mine/bin\n"},
		{"fish with a list", "fish", ".config/fish/config.fish", "if status is-interactive\nset -gx PATH $HOME/mine/bin $PATH\nend\n"},
		{"it prints", "bash", ".profile", "echo hello; echo PATH=/evil; echo >&2 problem; " + add + "head -c 3000000 /dev/zero | tr '\\0' x\n"},
		{"it prints", "zsh", ".zshrc", "print -P '%F{red}hello'; " + add + "repeat 1000 print $RANDOM\n"},
		{"it closes its output", "bash", ".profile", add + "exec >&- 2>&-\n"},
		{"it sends its output elsewhere", "zsh", ".zprofile", add + "exec >/dev/null 2>&1\n"},
		{"a command in it fails", "bash", ".profile", add + "nosuchcommand\nfalse\n"},
		{"it ends interactive shells", "bash", ".bash_profile", add + "case $- in *i*) exit 3;; esac\n"},
		{"it becomes another program", "bash", ".bash_profile", add + "case $- in *i*) exec true;; esac\n"},
		{"it reads its input", "bash", ".profile", add + "read answer; cat\n"},
		{"it leaves a process", "bash", ".profile", add + "sleep 1000 &\n"},
		{"it leaves a process with its own session", "zsh", ".zprofile", add + "setsid sleep 1000 &\n"},
		{"it has an alias", "bash", ".bash_profile", add + "alias printf=false sh=false; printf() { :; }; export -f printf\n"},
		{"it knows that no user is there", "bash", ".bash_profile", "[ -n \"$HERMES_RESOLVING_ENVIRONMENT\" ] && " + add},
	} {
		t.Run(tt.shell+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, tt.shell)
			a.folder(".config/fish")
			mine := a.folder("mine/bin")
			a.file(tt.file, tt.text, 0o644)
			got, from := a.asked()
			if i := slices.Index(got, mine); i < 0 || i > slices.Index(got, "/usr/bin") {
				t.Errorf("PATH is %q\n%s", got, from)
			}
			if !strings.Contains(from, "login shell") || !strings.Contains(from, tt.shell) {
				t.Errorf("it says %q", from)
			}
		})
	}
}

// A profile that hangs, fails or names nonsense leaves the server's PATH unchanged.
func TestUselessProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, shell, text, want string }{
		{"hangs", "bash", "export PATH=/bin; while :; do sleep 1; done\n", "did not answer within 100ms"},
		{"hangs and ignores signals", "bash", "trap '' TERM HUP INT; while :; do sleep 1; done\n", "did not answer within 100ms"},
		{"ends each shell", "bash", "exit 0\n", "failed"},
		{"is no shell", "false", "", "no login shell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, tt.shell)
			if strings.HasPrefix(tt.name, "hangs") {
				a.conf.Limit = 100 * time.Millisecond
			}
			a.file(".profile", tt.text, 0o644)
			got, from := a.asked()
			if got[0] != "/usr/bin" || got[1] != "/bin" || !strings.Contains(from, tt.want) {
				t.Errorf("PATH is %q: %s", got, from)
			}
		})
	}
}

// The order of the server's PATH stays, because a user or an editor chose it. Missing directories,
// and relative ones, are not added.
func TestOrderOfThePathStays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, profile, want string }{
		{"/usr/bin:/bin", "H/a:/usr/bin:/bin:H/b", "H/a:/usr/bin:/bin:H/b"},
		{"H/env:/usr/bin:/bin", "H/a:/usr/bin:H/b:/bin", "H/env:H/a:/usr/bin:H/b:/bin"},
		{"H/b:H/a:/usr/bin:/bin", "H/a:H/b:/usr/bin:/bin", "H/b:H/a:/usr/bin:/bin"},
		{"/usr/bin:/bin", ".:node_modules/.bin:H/a:H/none::/usr/bin:/bin:~/b", "H/a:/usr/bin:/bin"},
		{"H/env", "H/a:/usr/bin", "H/env:H/a:/usr/bin"},
		{"/usr/bin:/bin", "/bin:H/a", "/usr/bin:/bin:H/a"},
	} {
		a := newAccount(t, "bash")
		for _, dir := range []string{"a", "b", "env"} {
			a.folder(dir)
		}
		local := func(path string) string { return strings.ReplaceAll(path, "H/", a.home+"/") }
		a.conf.Environ[2] = "PATH=" + local(tt.server)
		a.file(".profile", "PATH="+local(tt.profile)+"\n", 0o644)
		got, from := a.asked()
		want := filepath.SplitList(local(tt.want))
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) { // the usual tool directories follow
			t.Errorf("of %s and %s: %q, want %q (%s)", tt.server, tt.profile, got, want, from)
		}
	}
}

// The shell starts in the home directory, without a project's variables, and once for all callers.
// Before the first request it does not run.
func TestShellIsAskedOnceAndKnowsNoProject(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "bash")
	a.file(".profile", "{ pwd; env; } >> \"$HOME/log\"; echo run >> \"$HOME/runs\"\n", 0o644)
	a.conf.Environ = append(a.conf.Environ, "BASH_ENV=/evil", "ENV=/evil", "VIRTUAL_ENV=/evil", "SECRET_TOKEN=evil", "LD_PRELOAD=/evil.so", "DIRENV_DIR=/evil", "PYENV_VERSION=evil")
	l := userpath.New(a.conf)
	defer l.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	l.Known()
	if _, ok := l.Path(gone); ok {
		t.Error("a canceled call has waited")
	}
	if _, err := os.Stat(filepath.Join(a.home, "log")); err == nil {
		t.Error("the shell has run before it was needed")
	}
	done := make(chan string)
	for range 4 {
		go func() { path, _ := l.Path(t.Context()); done <- path }()
	}
	for range 4 {
		if path := <-done; path != l.Known() {
			t.Errorf("different answers: %q and %q", path, l.Known())
		}
	}
	log, err := os.ReadFile(filepath.Join(a.home, "log"))
	if err != nil || !strings.HasPrefix(string(log), a.home+"\n") || strings.Contains(string(log), "evil") {
		t.Errorf("the profile saw: %s (%v)", log, err)
	}
	if runs, _ := os.ReadFile(filepath.Join(a.home, "runs")); string(runs) != "run\n" {
		t.Errorf("it ran: %q", runs)
	}
}

// If the user has turned the question off, or the server ends, no shell runs.
func TestNoShellRuns(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "bash")
	a.file(".profile", "echo >> \"$HOME/log\"\n", 0o644)
	l := userpath.New(a.conf)
	l.Close()
	if path, _ := l.Path(t.Context()); !strings.HasPrefix(path, "/usr/bin:/bin") {
		t.Errorf("PATH is %q", path)
	}
	a.conf.Enabled = func() bool { return false }
	if got, from := a.asked(); got[0] != "/usr/bin" || !strings.Contains(from, "terminal.login_path") {
		t.Errorf("PATH is %q: %s", got, from)
	}
	if _, err := os.Stat(filepath.Join(a.home, "log")); err == nil {
		t.Error("the shell ran")
	}
}
