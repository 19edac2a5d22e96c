package userpath

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// usualLimit is how long a login shell may take. Slow profiles take two or three seconds.
const usualLimit = 5 * time.Second

// mostPath is how many bytes of a PATH are read.
const mostPath = 64 << 10

// FromServer is the origin of PATH if no login shell has added anything.
const FromServer = "PATH is that of the editor or shell that started hermes-ls"

// Config describes how to ask a login shell. Environ is required.
type Config struct {
	Environ []string // of the server
	// Enabled reports whether the shell may be asked. It is called once; nil: it may not.
	Enabled func() bool
	// Confine bounds the shell, which must be able to read home, and returns a function that frees
	// its resources; nil: nothing bounds it. If it returns an error, the shell is not started.
	Confine func(ctx context.Context, c *proc.Cmd, home string) (free func(), err error)
	Limit   time.Duration // 0: 5 s
}

// Login finds the PATH of commands. The first call of [Login.Path] asks the login shell; later
// calls return its answer. It is safe for concurrent use.
type Login struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	asked  chan struct{} // is closed when path and from are known
	path   string
	from   string
}

// New returns a Login. It starts nothing. The caller must close it.
func New(c Config) *Login {
	if c.Limit <= 0 {
		c.Limit = usualLimit
	}
	l := &Login{cfg: c, asked: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close ends the shell if it runs, and waits for it.
func (l *Login) Close() {
	l.cancel()
	l.once.Do(func() { l.settle("", "") })
	<-l.asked
}

// Path returns the PATH of commands: the server's, with the additions of the user's login shell and
// [ToolFolders]. The first call waits for the shell, for the limit at most. If ctx ends before, it
// returns the PATH without the shell's folders, and ok is false.
func (l *Login) Path(ctx context.Context) (path string, ok bool) {
	if ctx.Err() != nil {
		return l.Known(), false
	}
	l.once.Do(func() {
		if l.cfg.Enabled == nil || !l.cfg.Enabled() {
			l.settle("", FromServer+"; terminal.login_path is off")
			return
		}
		go l.ask() // Close waits for it
	})
	select {
	case <-l.asked:
		return l.path, true
	case <-ctx.Done():
		return l.Known(), false
	}
}

// Known is Path without waiting: before the shell has answered, its folders are missing.
func (l *Login) Known() string {
	select {
	case <-l.asked:
		return l.path
	default:
		return l.merged("")
	}
}

// From returns the origin of PATH, as a sentence without its period.
func (l *Login) From() string {
	select {
	case <-l.asked:
		return l.from
	default:
		return FromServer + "; the login shell was not asked yet"
	}
}

func (l *Login) ask() {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Limit)
	defer cancel()
	shell := l.shell()
	if shell == "" {
		l.settle("", FromServer+": no login shell is known")
		return
	}
	answer, err := l.answer(ctx, shell)
	if err != nil {
		why := fmt.Sprintf("failed: %v", err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = fmt.Sprintf("did not answer within %v", l.cfg.Limit)
		}
		l.settle("", FromServer+": the login shell "+shell+" "+why)
		return
	}
	l.settle(answer, FromServer+", and of the login shell "+shell)
}

func (l *Login) settle(answer, from string) {
	l.path, l.from = l.merged(answer), from
	close(l.asked)
}

// merged returns the server's PATH with the directories of answer and the usual tool directories.
func (l *Login) merged(answer string) string {
	own, _ := getenv(l.cfg.Environ, "PATH")
	env := WithToolFolders(With(l.cfg.Environ, merge(own, answer)))
	path, _ := getenv(env, "PATH")
	return path
}

// merge adds the directories of second to first, which keeps its order. Each new directory goes
// after its predecessor in second. Missing and relative directories are not added.
func merge(first, second string) string {
	list := filepath.SplitList(first)
	next := 0
	for next < len(list) && !slices.Contains(filepath.SplitList(second), list[next]) {
		next++ // the user or the editor has put these in front
	}
	for _, folder := range filepath.SplitList(second) {
		if at := slices.Index(list, folder); at >= 0 {
			next = at + 1
			continue
		}
		if info, err := os.Stat(folder); !filepath.IsAbs(folder) || strings.ContainsAny(folder, "\n\r\x00") || err != nil || !info.IsDir() {
			continue
		}
		list = slices.Insert(list, next, folder)
		next++
	}
	return strings.Join(list, string(filepath.ListSeparator))
}

// answer returns the PATH of a login shell. A profile can print anything, so the shell writes PATH
// into a file. If the shell ends without it, because its profile is only for terminals, answer
// tries a non-interactive shell.
func (l *Login) answer(ctx context.Context, shell string) (string, error) {
	dir, err := scratch.Make("path")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	for _, flags := range flagsOf(filepath.Base(shell)) {
		if answer, runErr := l.run(ctx, shell, flags, dir.Path()); answer != "" {
			return answer, nil
		} else if err = runErr; ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		err = errors.New("its profile ended it")
	}
	return "", err
}

// flagsOf returns the ways in which a shell is asked.
func flagsOf(name string) [][]string {
	switch name {
	case "csh", "tcsh": // -l must be alone
		return [][]string{{"-c"}}
	case "bash", "zsh", "fish", "ksh", "mksh", "dash", "sh", "ash":
		return [][]string{{"-l", "-i", "-c"}, {"-l", "-c"}}
	}
	return [][]string{{"-l", "-c"}}
}

func (l *Login) run(ctx context.Context, shell string, flags []string, dir string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := rand.Text()
	file := filepath.Join(dir, end)
	// The quotes and the words mean the same in every shell.
	text := fmt.Sprintf(`/bin/sh -c 'printf "%%s%s" "$PATH" > "$1"' sh '%s'`, end, file)
	if strings.ContainsAny(file, `'\!`) {
		return "", fmt.Errorf("the name of the folder %s cannot be passed to it", dir)
	}
	home := l.home()
	c := proc.Cmd{Args: slices.Concat([]string{shell}, flags, []string{text}), Dir: home, Env: l.environ(shell), Scratch: dir}
	if l.cfg.Confine != nil {
		free, err := l.cfg.Confine(ctx, &c, home)
		if err != nil {
			return "", err
		}
		defer free()
	}
	p, err := proc.Start(ctx, c)
	if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { _, err := p.Wait(); ended <- err }()
	// A profile can start long-running programs, such as an agent for keys. Do not wait for them.
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return read(file, end), err
		case <-look.C:
			if answer := read(file, end); answer != "" {
				cancel()
				<-ended
				return answer, nil
			}
		}
	}
}

// read returns the text before end, with which a whole answer ends.
func read(file, end string) string {
	text, err := safefile.Read(file, mostPath)
	answer, whole := bytes.CutSuffix(text, []byte(end))
	if err != nil || !whole {
		return ""
	}
	return string(answer)
}

// passed are the variables passed to a login shell. An activated environment's variables would
// become a part of its PATH.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "ZDOTDIR"}

// environ returns the environment of the shell. The last variables show profiles that no user is at
// a terminal; many recognize VS Code's.
func (l *Login) environ(shell string) []string {
	var env []string
	for _, kv := range l.cfg.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
			env = append(env, kv)
		}
	}
	return append(env, "SHELL="+shell, "TERM=dumb", "HERMES_RESOLVING_ENVIRONMENT=1", "VSCODE_RESOLVING_ENVIRONMENT=1")
}

func (l *Login) home() string {
	if home, _ := getenv(l.cfg.Environ, "HOME"); filepath.IsAbs(home) {
		return home
	}
	return "/"
}

// shell returns the login shell of the user; empty: there is none.
func (l *Login) shell() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	name, _ := getenv(l.cfg.Environ, "SHELL")
	if name == "" {
		name = accountShell()
	}
	info, err := os.Stat(name)
	switch {
	case !filepath.IsAbs(name) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return ""
	case slices.Contains([]string{"nologin", "false", "true"}, filepath.Base(name)):
		return ""
	}
	return name
}

// accountShell returns the shell in the user's account.
func accountShell() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	accounts, err := safefile.Read("/etc/passwd", 1<<20)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(accounts)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) == 7 && fields[2] == u.Uid {
			return fields[6]
		}
	}
	return ""
}
