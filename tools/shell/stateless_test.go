//go:build unix

package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A command that cannot change its shell's state does not store it.
func TestKeepsState(t *testing.T) {
	t.Parallel()
	s, dir := newTestShell(t, programPath(t, "bash"))
	plain := Command{Text: "true"}
	if s.keepsState(plain, s.snapshot()) {
		t.Error("the first command has to store the state: bash adds variables to that of the server")
	}
	do(t, s, "export A=1")
	for text, keeps := range map[string]bool{
		"true":                                true,
		"ls -la sub 'with space'":             true,
		"git log --oneline | head -n 3":       true,
		"cd":                                  false,
		"./x && /bin/echo \"a b\" || ! false": true,
		"grep -r x . > out 2>&1; cat < out":   true,
		"echo a*b {c,d} ~":                    true,
		"cd sub":                              false,
		"true; cd sub":                        false,
		"true | cd sub":                       false,
		"A=2":                                 false,
		"A=2 true":                            false,
		"export A=2":                          false,
		"c''d sub":                            false,
		`\cd sub`:                             false,
		"$X sub":                              false,
		"echo $A":                             false,
		"echo ${A:=2}":                        false,
		"echo $((A=2))":                       false,
		"echo $(true)":                        false,
		"cat <(true)":                         false,
		"test -v 'x[A=2]'":                    false,
		"[ -v 'x[A=2]' ]":                     false,
		"[[ A -eq 1 ]]":                       false,
		"((A=2))":                             false,
		"printf -v A 2":                       false,
		"read A < sub":                        false,
		". ./x":                               false,
		"eval true":                           false,
		"command cd sub":                      false,
		"builtin cd sub":                      false,
		"exec true":                           false,
		"exit":                                false,
		"{ true; }":                           false,
		"(true)":                              false,
		"if true; then true; fi":              false,
		"for A in 2; do true; done":           false,
		"true() { cd sub; }; true":            false,
		"time true":                           false,
		"true {A}> out":                       false,
		"cat << E\n$((A=2))\nE":               false,
		"cat <<< $((A=2))":                    false,
		"true > $((A=2))":                     false,
		"true &":                              false,
		"coproc true":                         false,
		"(":                                   false,
	} {
		if got := s.keepsState(Command{Text: text}, s.snapshot()); got != keeps {
			t.Errorf("keepsState(%s) = %v, want %v", text, got, keeps)
		}
	}
	for what, c := range map[string]Command{
		"another folder": {Text: "true", Dir: dir + "/sub"}, "a terminal": {Text: "true", pty: true}, "another PATH": {Text: "true", path: new(string)},
	} {
		if s.keepsState(c, s.snapshot()) {
			t.Errorf("a command with %s has to store the state", what)
		}
	}
	for _, variable := range []string{"A=3", "BASH_ENV=/x", "BASH_FUNC_ls%%=() { cd sub; }", "SHELLOPTS=allexport"} {
		changed := s.snapshot()
		changed.env = override(changed.env, []string{variable})
		if s.keepsState(plain, changed) {
			t.Errorf("with %s, a command has to store the state", variable)
		}
		s.last.after = changed
		if got := s.keepsState(plain, changed); got != (variable == "A=3") {
			t.Errorf("with %s from the command before, keepsState = %v", variable, got)
		}
		s.last.after = s.snapshot()
	}
	for _, shell := range []string{"/bin/sh", programPath(t, "zsh")} {
		other, _ := newTestShell(t, shell)
		do(t, other, "export A=1")
		if other.keepsState(plain, other.snapshot()) {
			t.Errorf("%s has to store the state: its builtins are others", shell)
		}
	}
}

// Each builtin of the installed bash is known.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(programPath(t, "bash"), "-c", "compgen -b").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		if !slices.Contains(builtins, name) && !slices.Contains(harmless, name) {
			t.Errorf("%s is a builtin of bash that is not listed", name)
		}
	}
}

// A command without stored state has the same output, exit code and state as a command with it.
func TestUnstored(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"true", "false", "nosuchprogram", "cat < nothing", "ls nothing && true", "./sub", "nosuchprogram | cat", "echo a; pwd"} {
		s, _ := newTestShell(t, programPath(t, "bash"))
		stored, first := do(t, s, text)
		before := s.snapshot()
		if !s.keepsState(Command{Text: text}, before) {
			t.Fatalf("%s stores the state", text)
		}
		unstored, second := do(t, s, text)
		if stored != unstored || first.Exit != second.Exit || first.Cwd != second.Cwd {
			t.Errorf("%s: %q, %+v, and then %q, %+v", text, stored, first, unstored, second)
		}
		if after := s.snapshot(); after.dir != before.dir || !slices.Equal(after.env, before.env) {
			t.Errorf("%s changed the state from %q to %q", text, before, after)
		}
	}
}
