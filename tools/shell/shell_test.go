//go:build unix

package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// newTestShell returns a shell in a temporary directory, and the directory.
func newTestShell(t *testing.T, program string) (*Shell, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"sub", "with space", "it's"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := New(dir, nil)
	if program != "" {
		s.program = program
	}
	return s, dir
}

// shells returns the shells to test with: the shells of users, and sh.
func shells(t *testing.T) []string {
	t.Helper()
	found := []string{programPath(t, "bash"), "/bin/sh"}
	if testing.Short() {
		return found
	}
	return append(found, programPath(t, "dash"), programPath(t, "zsh"), programPath(t, "mksh"), programPath(t, "ksh93"))
}

// programPath returns the path of an installed program. Every test machine has bash.
func programPath(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); name == "bash" && err == nil {
		return path
	}
	return testneed.Program(t, name, map[string]string{"rg": "ripgrep", "ksh93": "ksh93u+m", "busybox": "busybox-static"}[name])
}

func do(t *testing.T, s *Shell, text string) (string, Outcome) {
	t.Helper()
	var out bytes.Buffer
	o, err := s.Run(t.Context(), Command{Text: text, Output: &out, Timeout: time.Minute})
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return out.String(), o
}

// apart are cases that some shells treat differently: zsh accepts no OLDPWD from outside, and drops
// a backslash at the end as ksh does; ksh traces redirections too, and its EXIT trap runs before an
// exec.
var apart = map[string][]string{
	"zsh":   {"cd -", "trailing backslash"},
	"mksh":  {"trailing backslash", "set -x is not noisy", "exec"},
	"ksh93": {"trailing backslash", "set -x is not noisy"},
}

// A command's state for the next command: each case is one session.
func TestShellState(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	type step struct{ run, want string }
	for _, program := range shells(t) {
		for name, steps := range map[string][]step{
			"folder":                        {{"cd sub", ""}, {"pwd", "DIR/sub\n"}, {"cd ..; pwd", "DIR\n"}},
			"folder with a space":           {{"cd 'with space'", ""}, {"pwd", "DIR/with space\n"}},
			"folder with a quote":           {{`cd "it's"`, ""}, {"pwd", "DIR/it's\n"}},
			"cd that fails":                 {{"cd nowhere 2>/dev/null", ""}, {"pwd", "DIR\n"}},
			"cd in a subshell":              {{"(cd sub)", ""}, {"pwd", "DIR\n"}},
			"cd -":                          {{"cd sub", ""}, {"cd - >/dev/null; pwd", "DIR\n"}},
			"export":                        {{"export A=1 B='two words'", ""}, {`echo "$A $B"`, "1 two words\n"}},
			"not exported":                  {{"A=1", ""}, {"echo [$A]", "[]\n"}},
			"unset":                         {{"export A=1", ""}, {"unset A", ""}, {"echo [$A]", "[]\n"}},
			"odd values":                    {{"export A=\"q'd\\\"\\$x\\`y\\\\ é\n\tend\"", ""}, {`printf %s "$A"`, "q'd\"$x`y\\ é\n\tend"}},
			"a value like the end":          {{"export A='\n:\n/\n'", ""}, {`pwd; printf %s "$A"`, "DIR\n\n:\n/\n"}},
			"looks secret, the model's own": {{"export MY_TOKEN=t", ""}, {"echo $MY_TOKEN", "t\n"}},
			"exit":                          {{"cd sub; export A=1; exit 3", ""}, {"pwd; echo $A", "DIR/sub\n1\n"}},
			"set -e":                        {{"set -e; cd sub; false; cd ..", ""}, {"pwd", "DIR/sub\n"}},
			"set -u":                        {{"set -u; cd sub", ""}, {"pwd; echo [$nothing]", "DIR/sub\n[]\n"}},
			"set -x is not noisy":           {{"set -x; cd sub", "+ cd sub\n"}, {"pwd", "DIR/sub\n"}},
			"set -C":                        {{"set -C; cd sub", ""}, {"pwd", "DIR/sub\n"}},
			"failing command":               {{"cd sub; false", ""}, {"pwd", "DIR/sub\n"}},
			"trailing comment":              {{"cd sub # there", ""}, {"pwd", "DIR/sub\n"}},
			"trailing backslash":            {{`cd sub; echo a\`, "a\\\n"}, {"pwd", "DIR/sub\n"}},
			"here-document":                 {{"cd sub; cat <<X\nin it\nX", "in it\n"}, {"pwd", "DIR/sub\n"}},
			"several lines":                 {{"cd sub\nexport A=1\n\n", ""}, {"pwd; echo $A", "DIR/sub\n1\n"}},
			"its own EXIT trap":             {{"trap 'echo bye' EXIT; cd sub", "bye\n"}, {"pwd", "DIR/sub\n"}},
			"stdout sent away":              {{"exec >/dev/null 2>&1; cd sub", ""}, {"pwd", "DIR/sub\n"}},
			"exec":                          {{"cd sub; exec true", ""}, {"pwd", "DIR\n"}},
			"killed":                        {{"cd sub; kill -9 $$", ""}, {"pwd", "DIR\n"}},
			"syntax error":                  {{"cd sub", ""}, {"{ if; } 2>/dev/null", ""}, {"pwd", "DIR/sub\n"}},
			"no arguments":                  {{"echo $# \"$@\"", "0\n"}},
			"nothing to read":               {{"cat; echo $?", "0\n"}},
			"calm":                          {{"echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT", "dumb cat cat 0\n"}, {"export PAGER=less", ""}, {"echo $PAGER", "less\n"}},
			"level does not grow":           {{"A=$SHLVL; export A", ""}, {`[ "$A" = "$SHLVL" ] && echo same`, "same\n"}},
			"hidden from programs":          {{"env | grep -c hermes", "0\n"}},
		} {
			t.Run(filepath.Base(program)+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, dir := newTestShell(t, program)
				for _, step := range steps {
					got, _ := do(t, s, step.run)
					if name == "syntax error" && strings.Contains(step.run, "if;") {
						continue // each shell uses different words
					}
					if slices.Contains(apart[filepath.Base(program)], name) {
						continue
					}
					got = strings.Replace(got, "++", "+", 1) // bash counts the eval
					if want := strings.ReplaceAll(step.want, "DIR", dir); got != want {
						t.Errorf("%s: %q, want %q", step.run, got, want)
					}
				}
			})
		}
	}
}

func TestShellExitCodes(t *testing.T) {
	t.Parallel()
	for _, program := range shells(t) {
		s, _ := newTestShell(t, program)
		for text, want := range map[string]int{
			"true": 0, "false": 1, "exit 7": 7, "(exit 9)": 9, "nosuchcommand": 127, "/": 126, "kill -9 $$": 137,
			"trap 'true' EXIT; exit 4": 4, "false; # end": 1, "set -e; false; true": 1, "if": cmp.Or(map[string]int{"zsh": 1, "mksh": 1, "ksh93": 3}[filepath.Base(program)], 2),
		} {
			if _, o := do(t, s, text); o.Code != want {
				t.Errorf("%s: %s: exit code %d, want %d", program, text, o.Code, want)
			}
		}
	}
}

// fish uses another language.
func TestShellFish(t *testing.T) {
	t.Parallel()
	fish := programPath(t, "fish")
	type step struct {
		run, want string
		code      int
	}
	for name, steps := range map[string][]step{
		"folder":          {{"cd 'with space'", "", 0}, {"pwd", "DIR/with space\n", 0}},
		"export":          {{"set -x A 1; set -gx B \"it's\\n\"", "", 0}, {`printf "%s" $A $B`, "1it's\\n", 0}},
		"not exported":    {{"set A 1", "", 0}, {`echo "[$A]"`, "[]\n", 0}},
		"erased":          {{"set -x A 1", "", 0}, {"set -e A", "", 0}, {`echo "[$A]"`, "[]\n", 0}},
		"exit":            {{"cd sub; set -x A 1; exit 3", "", 3}, {"pwd; echo $A", "DIR/sub\n1\n", 0}},
		"failing":         {{"cd sub; false", "", 1}, {"pwd", "DIR/sub\n", 0}},
		"syntax error":    {{"cd sub", "", 0}, {"begin 2>/dev/null; cd ..; pwd >/dev/null; end; end 2>/dev/null", "", -1}, {"pwd", "DIR/sub\n", 0}},
		"nothing to read": {{"cat; echo $status", "0\n", 0}},
		"killed":          {{"cd sub; kill -9 $fish_pid", "", 137}, {"pwd", "DIR\n", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newTestShell(t, fish)
			for _, step := range steps {
				got, o := do(t, s, step.run)
				if step.code < 0 {
					continue // its words are fish's own
				}
				if want := strings.ReplaceAll(step.want, "DIR", dir); got != want || o.Code != step.code {
					t.Errorf("%s: %q and %d, want %q and %d", step.run, got, o.Code, want, step.code)
				}
			}
		})
	}
}

func TestAsFish(t *testing.T) {
	t.Parallel()
	place := policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}
	for text, want := range map[string]policy.Level{
		"ls; and rm -rf x": policy.Asks, `\x72m -rf x`: policy.Asks, "if true; rm -rf x; end": policy.Asks,
		"ls | grep x": policy.Runs, "set -x A 1; echo $A": policy.Runs, "rm -rf /": policy.Blocked, "echo (pwd)": policy.Asks,
		"begin; reboot; end": policy.Blocked,
	} {
		v := asFish(text, policy.Command(text, place))
		if v.Level != want || (want == policy.Asks && len(v.Keys) == 0) {
			t.Errorf("%s: %+v, want %v", text, v, want)
		}
	}
}

func TestFindShell(t *testing.T) {
	for own, want := range map[string]string{
		programPath(t, "zsh"): "zsh", programPath(t, "bash"): "bash", programPath(t, "fish"): "bash", "": "bash", "/nowhere/bash": "bash",
	} {
		t.Setenv("SHELL", own)
		if got := filepath.Base(findShell("", t.TempDir())); got != want {
			t.Errorf("SHELL=%s: %s, want %s", own, got, want)
		}
	}
	if got := findShell("fish", t.TempDir()); got != programPath(t, "fish") {
		t.Errorf("asked for fish: %s", got)
	}
}

func TestShellMessagesCountLines(t *testing.T) {
	t.Parallel()
	s, _ := newTestShell(t, "")
	if got, _ := do(t, s, "nosuchcommand"); !strings.Contains(got, "line 1: nosuchcommand: command not found") {
		t.Errorf("%q", got)
	}
}

func TestShellKeepsExportedFunctions(t *testing.T) {
	t.Parallel()
	s, _ := newTestShell(t, shells(t)[0])
	s.state.env = append(s.state.env, "BASH_FUNC_greet%%=() { echo hello\n}", "npm.dotted=kept")
	do(t, s, "true")
	if got, _ := do(t, s, "greet; env | grep dotted"); got != "hello\nnpm.dotted=kept\n" {
		t.Errorf("%q", got)
	}
}

func TestShellFolder(t *testing.T) {
	t.Parallel()
	s, dir := newTestShell(t, "")
	var out bytes.Buffer
	o, err := s.Run(t.Context(), Command{Text: "pwd; cd ..; export A=1", Dir: dir + "/sub", Output: &out})
	if err != nil || out.String() != dir+"/sub\n" || o.Cwd != dir {
		t.Errorf("with a folder of its own: %q, %+v, %v", out.String(), o, err)
	}
	if got, _ := do(t, s, "pwd; echo $A"); got != dir+"\n1\n" {
		t.Errorf("afterwards: %q", got)
	}

	// The folder goes away under the session.
	do(t, s, "cd sub")
	if err := os.Remove(dir + "/sub"); err != nil {
		t.Fatal(err)
	}
	got, o := do(t, s, "pwd")
	if got != dir+"\n" || o.Cwd != dir || o.LostDir != dir+"/sub" {
		t.Errorf("in a folder that is gone: %q, %+v", got, o)
	}
}

// busy is a time limit sufficient for a shell on a busy machine.
const busy = 10 * time.Second

func TestShellTimeout(t *testing.T) {
	t.Parallel()
	s, dir := newTestShell(t, "")
	var out bytes.Buffer
	o, err := s.Run(t.Context(), Command{Text: "cd sub; export A=1; echo early; sleep 1000", Timeout: busy, Output: &out})
	if err != nil || !o.TimedOut || o.Code != 143 || o.Cwd != dir || out.String() != "early\n" {
		t.Errorf("%+v, %v, %q", o, err, out.String())
	}
	if got, _ := do(t, s, "pwd; echo [$A]"); got != dir+"\n[]\n" {
		t.Errorf("its state was kept: %q", got)
	}
}

// whenWritten calls then with the first output.
type whenWritten struct {
	bytes.Buffer
	then func()
}

func (w *whenWritten) Write(b []byte) (int, error) {
	defer w.then()
	return w.Buffer.Write(b)
}

func TestShellCancel(t *testing.T) {
	t.Parallel()
	s, dir := newTestShell(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	out := &whenWritten{then: cancel}
	o, err := s.Run(ctx, Command{Text: "cd sub; echo early; sleep 1000", Output: out})
	if !errors.Is(err, context.Canceled) || o.TimedOut || o.Cwd != dir || out.String() != "early\n" {
		t.Errorf("%+v, %v, %q", o, err, out.String())
	}
}

func TestShellAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := newTestShell(t, "")
	answers := make(chan string)
	for i := range 10 {
		go func() {
			var out bytes.Buffer
			_, err := s.Run(t.Context(), Command{Text: fmt.Sprintf("export N=%d; sleep 0.05; pwd; echo $N", i), Output: &out})
			if want := fmt.Sprintf("%s\n%d\n", dir, i); err != nil || out.String() != want {
				answers <- fmt.Sprintf("call %d: %q, %v", i, out.String(), err)
				return
			}
			answers <- ""
		}()
	}
	for range 10 {
		if wrong := <-answers; wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestShellWithholdsSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "hush")
	t.Setenv("PASSED_TOKEN", "given")
	s, _ := newTestShell(t, "")
	s2 := New(s.Cwd(), []string{"PASSED_TOKEN"})
	if got, _ := do(t, s2, "echo [$SOME_API_KEY$PASSED_TOKEN]; true"); got != "[given]\n" {
		t.Errorf("%q", got)
	}
	if got, _ := do(t, s2, "echo [$SOME_API_KEY$PASSED_TOKEN]"); got != "[given]\n" {
		t.Errorf("carried: %q", got)
	}
	if got, _ := do(t, s, "env | grep -c -e hush -e given"); got != "0\n" {
		t.Errorf("%q", got)
	}
}

// Nothing of the state stays in the temp folder.
func TestShellLeavesNoFile(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s, _ := newTestShell(t, "")
	if got, _ := do(t, s, "ls -ld $TMPDIR/hermes-ls-shell-* | cut -c1-10; ls -l $TMPDIR/hermes-ls-shell-*/state | tail -n 1 | cut -c1-10"); got != "drwx------\n-rw-------\n" {
		t.Errorf("while it ran: %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s.Run(ctx, Command{Text: "sleep 1000"}) // cut short
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Values that look like code are carried over unchanged, in every shell.
func TestShellKeepsOddValues(t *testing.T) {
	t.Parallel()
	odd := []string{"$(x)", "`x`", "${x", "#x", "a[b", "a(b)", "{a,b}", "~", "a;b|c&d", "<x>", "!x", "it's", "-n", `a\b`, `"`, "'", "a\nexport B=2", "\t", "é", "--", "=("}
	for _, shell := range shells(t) {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Parallel()
			s, _ := newTestShell(t, shell)
			for i, value := range odd {
				s.state.env = append(s.state.env, fmt.Sprintf("ODD%d=%s", i, value))
			}
			do(t, s, "export LAST=1; E=2; export E")
			if filepath.Base(shell) == "bash" {
				do(t, s, `declare -ax ARRAY=(a "b c" '$(x)'); declare -Ax MAP=(["a b"]=c [d]=e); export AFTER=1`)
				if got, _ := do(t, s, "echo $AFTER"); got != "1\n" {
					t.Errorf("beside arrays: %q", got)
				}
			}
			got, _ := do(t, s, "echo $LAST; printenv ODD0 && env -0")
			if !strings.HasPrefix(got, "1\n"+odd[0]+"\n") {
				t.Errorf("%q", got)
			}
			for i, value := range odd {
				if !strings.Contains(got, fmt.Sprintf("\x00ODD%d=%s\x00", i, value)) && i > 0 {
					t.Errorf("ODD%d=%q is lost", i, value)
				}
			}
		})
	}
}

// A command that replaces the file of the state changes nothing of it,
// and its turn continues.
// A variable with which no program could be started would end the session's shell for good.
func TestShellLargeExports(t *testing.T) {
	t.Parallel()
	for _, program := range append(shells(t), programPath(t, "fish")) {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			s, _ := newTestShell(t, "")
			s.program = program
			set := "export BIG=$(head -c 200000 /dev/zero | tr '\\0' x); export SMALL=1; cd sub"
			if filepath.Base(program) == "fish" {
				set = "set -gx BIG (head -c 120000 /dev/zero | tr '\\0' x); set -gx SMALL 1; cd sub"
			}
			_, o := do(t, s, set)
			if filepath.Base(program) != "fish" && !slices.Equal(o.TooLarge, []string{"BIG"}) {
				t.Errorf("too large: %v", o.TooLarge)
			}
			if out, o := do(t, s, `echo "$SMALL"`); out != "1\n" || filepath.Base(o.Cwd) != "sub" {
				t.Errorf("afterwards: %q in %s", out, o.Cwd)
			}
		})
	}
}

func TestFitting(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	many := []string{"A=" + long, "B=1", "C=" + long + long, "D=" + long}
	for limit, want := range map[int]string{10_000: "", 4500: "", 3000: "C", 1500: "C A", 1100: "C A", 900: "C A D"} {
		kept, tooLarge := withoutTooLarge(many, limit)
		if got := strings.Join(tooLarge, " "); got != want || len(kept)+len(tooLarge) != len(many) {
			t.Errorf("%d: not kept: %q, want %q; kept: %d", limit, got, want, len(kept))
		}
	}
	if _, tooLarge := withoutTooLarge([]string{"A=" + strings.Repeat("x", variableLimit)}, 1<<30); len(tooLarge) != 1 {
		t.Error("a variable that Linux passes to no program was kept")
	}
}

func TestShellStateReplaced(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("export STOLEN='1'\n:\n/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]string{
		"named pipe": `mkfifo "$state"`,
		"link":       "ln -s " + secret + ` "$state"`,
		"/dev/zero":  `ln -s /dev/zero "$state"`,
		"folder":     `mkdir "$state"`,
		"10 GB":      `truncate -s 10G "$state"`,
		"deep":       `{ printf 'export A=1\n'; head -c 4000000 /dev/zero | tr '\0' '('; printf '\n:\n/\n'; } >"$state"`,
		"deep value": `{ printf 'export A='; yes '$(' | head -n 1900000 | tr -d '\n'; printf '\n:\n/\n'; } >"$state"`,
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newTestShell(t, "")
			remove := `rm "$state"; `
			if strings.HasPrefix(name, "deep") || name == "10 GB" {
				remove = "" // the file itself
			}
			do(t, s, `state=$(echo "$TMPDIR"/hermes-ls-shell-*/state); `+remove+replace+"; kill -9 $$")
			if got, _ := do(t, s, `echo "$STOLEN $A $PWD"`); got != "  "+dir+"\n" {
				t.Errorf("the next command says %q", got)
			}
		})
	}
}

func TestParseState(t *testing.T) {
	t.Parallel()
	before := []string{"OLD=1", "SHLVL=3", "a.b=c"}
	for _, tt := range []struct {
		name, text string
		dir        string
		env        []string
		ok         bool
	}{
		{"bash", "declare -x A=\"1\"\ndeclare -ix N=\"2\"\ndeclare -x E\ndeclare -x Q=$'a\\nb\\'c'\ndeclare -x D=\"\\$x\\\"\"\ndeclare -x SHLVL=\"9\"\n:\n/tmp\n",
			"/tmp", []string{"A=1", "N=2", "Q=a\nb'c", `D=$x"`, "SHLVL=3", "a.b=c"}, true},
		{"dash", "export A='1'\nexport B='it'\"'\"'s'\nexport E\n:\n/tmp\n", "/tmp", []string{"A=1", "B=it's", "SHLVL=3", "a.b=c"}, true},
		{"old bash, newline in a value", "declare -x A=\"1\n2\"\n:\n/tmp\n", "/tmp", []string{"A=1\n2", "SHLVL=3", "a.b=c"}, true},
		{"nothing runs", "declare -x A=\"$(touch /tmp/x)\"\n:\n/tmp\n", "", nil, false},
		{"cut", "declare -x A=\"1\"\n:\n/tm", "", nil, false},
		{"cut earlier", "declare -x A=\"1\"\n", "", nil, false},
		{"empty", "", "", nil, false},
		{"garbage", "declare -x A=\"\n:\n/tmp\n", "", nil, false},
	} {
		got, ok := parseState([]byte(tt.text), before)
		if ok != tt.ok || ok && (got.dir != tt.dir || !slices.Equal(got.env, tt.env)) {
			t.Errorf("%s: %q, %v", tt.name, got, ok)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte("declare -x A=\"1\"\n:\n/tmp\n"))
	f.Add([]byte("export A='1'\n:\n/\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		after, ok := parseState(text, []string{"SHLVL=1"})
		if ok && len(after.env) == 0 {
			t.Error("what was there before is lost")
		}
	})
}

// BenchmarkShell compares a command with the bare shell's.
func BenchmarkShell(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("bash", "--norc", "--noprofile", "-c", "cd /").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shell", func(b *testing.B) {
		s := New("/", nil)
		for b.Loop() {
			if _, err := s.Run(b.Context(), Command{Text: "cd /", Timeout: time.Minute, Output: &bytes.Buffer{}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
