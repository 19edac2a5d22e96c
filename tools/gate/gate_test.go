package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// check asks a gate about a command in /ws.
func check(ctx context.Context, g *Gate, src string) error {
	v := policy.Command(src, policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}, Home: "/home/u"})
	return g.Check(ctx, &tools.Env{SessionID: "s"}, tools.Call{ID: "1"}, tools.KindExecute, src, v)
}

// A rule holds through the spellings of a command: a match is denied, and a possible match
// requires approval, also where approvals are off.
func TestDenyHoldsThroughSpellings(t *testing.T) {
	t.Parallel()
	run := func(rule string, spellings, others []string) {
		for i, src := range append(spellings, others...) {
			p := toolstest.UserAnswering(tools.DecisionDeny)
			g := New(Config{Mode: "off", Asker: p, Deny: []string{rule}})
			if err := check(t.Context(), g, src); (err != nil) != (i < len(spellings)) {
				t.Errorf("%s: %q: %v", rule, src, err)
			}
		}
	}
	run("git push", []string{
		"git push", "git push origin main", "git  push", "git\tpush", "git \\\n push", "git -C . push", "git --no-pager push", "git -c a.b=c push", "git -c a.b=c -C x push -q",
		"git --git-dir=.git push", "git --git-dir .git push", "git -p push", "git --literal-pathspecs push", "git --namespace x push", "/usr/bin/git push", `"git" push`, `g\it push`, "'git' 'push'", "git $'push'",
		`git "pu"sh`, "git.exe push", "X=push; git $X", "X=git; $X push", "X=pu; git ${X}sh", "git ${y:-push}", "git pu${y}sh", "git $y", "git pus?", "git {push,x}",
		"env git push", "env -u A B=1 git push", "command git push", "sudo -u x git push", "sh -c 'git push'", "eval git push", `eval "git pu""sh"`, "(git push)", "{ git push; }", "git push &",
		"true && git push", "false || git push", "if true; then git push; fi", "f() { git push; }; f", `f() { git "$@"; }; f push`, "echo $(git push)", "echo `git push`", "cat <(git push)",
		"nice -n 5 git push", "timeout 5 git push", "echo push | xargs git", "xargs git push", "find . -exec git push \\;", "nohup git push", "trap 'git push' EXIT", "bash <<< 'git push'", "printf 'git push' | sh",
		"G=1 git push", "exec git push", "watch git push", "parallel git ::: push", "alias g='git push'; g", `python3 -c 'import subprocess; subprocess.run(["git","push"])'`,
		`python3 -c 'import os; os.system("git push")'`, `node -e 'require("child_process").execSync("git push")'`, `perl -e 'system "git push"'`, `awk 'BEGIN{system("git push")}'`, "stdbuf -o0 git push",
		"some-tool -- git push", `git "$(echo push)"`, "cd sub && git push", "! git push", "time git push", "coproc git push", "script -c 'git push'", "ssh-agent git push",
	}, []string{"git status", "git commit -m 'git push'", "git -C . pull", "git pushd", "echo git push", "gitpush", `git commit -m "$msg"`, "git log $x"})
	run("npm publish", []string{
		"npm publish", "npm --silent publish", "npm -w x publish", "npm --workspace x publish --tag y", "npm --prefix x publish", "npx npm publish", "npm $y", "npm --$y publish", "cd x; npm  publish",
	}, []string{"npm test", "npm run publish-docs", "npm install", "npm --silent test"})
	run("cat *secret*", []string{
		"cat secretword", "cat secret${y}word", "cat s${y}word", "cat $y", "cat ./x/secret", "cat 'sec'ret", `cat "$(ls)"`, "cat -n secret", "sh -c 'cat secret'",
	}, []string{"cat open", "ls secret", "head $y"})
	run("write */secret/*", []string{
		"echo x > secret/k", "echo x > secret/$y", `echo x > "out/$y"`, "cp a secret", "tee secret/a", "cd secret; touch a",
	}, []string{"echo x > open/k", "cat secret/k"})
	run("rm *", []string{"rm x", "rm -f x", "/bin/rm x", "busybox rm x", "sudo rm x", "rm $y", "xargs rm"}, []string{"ls", "rmdir x", "echo rm x"})
}

// want compares the text of an error; an empty text means no error.
func want(t *testing.T, src string, err error, text string) {
	t.Helper()
	if text == "" {
		if err != nil {
			t.Errorf("%q: %v", src, err)
		}
		return
	}
	if r := (*Rejection)(nil); !errors.As(err, &r) || !strings.Contains(r.Error(), text) {
		t.Errorf("%q: %v, want a refusal with %q", src, err, text)
	}
}

func TestGateAnswers(t *testing.T) {
	t.Parallel()
	const (
		no     = "The user denied"
		closed = "closed without an answer"
	)
	harmless := func(_ context.Context, title, reason string) bool {
		if title == "ls" || reason == "" {
			t.Errorf("judged %q, which %q", title, reason)
		}
		return title == "rm -rf build"
	}
	yes := func(context.Context, string, string) bool { return true }
	for name, c := range map[string]struct {
		cfg     Config
		answers []tools.Decision
		steps   [][2]string // command, refusal
		asked   int
	}{
		"runs unasked":         {steps: [][2]string{{"ls", ""}}},
		"once is once":         {answers: []tools.Decision{tools.DecisionOnce, tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", ""}, {"rm -rf a", no}}, asked: 2},
		"session is kept":      {answers: []tools.Decision{tools.DecisionSession}, steps: [][2]string{{"rm -rf a", ""}, {"rm  -rf 'a'", ""}}, asked: 1},
		"but not for another":  {answers: []tools.Decision{tools.DecisionSession, tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", ""}, {"rm -rf b", no}}, asked: 2},
		"nor for more":         {answers: []tools.Decision{tools.DecisionAlways, tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", ""}, {"rm -rf a && rm -rf b", no}}, asked: 2},
		"two parts, one yes":   {answers: []tools.Decision{tools.DecisionSession}, steps: [][2]string{{"rm -rf a && rm -rf b", ""}, {"rm -rf b", ""}, {"rm -rf a", ""}}, asked: 1},
		"no":                   {answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", no}}, asked: 1},
		"no says what to do":   {answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", "Do not retry it in another form"}}, asked: 1},
		"never offered":        {answers: []tools.Decision{"allow_everything"}, steps: [][2]string{{"rm -rf a", closed}}, asked: 1},
		"empty":                {answers: []tools.Decision{""}, steps: [][2]string{{"rm -rf a", closed}}, asked: 1},
		"refused is not asked": {steps: [][2]string{{"rm -rf /", "deletes the root of the file system"}, {"ls (", "Syntax error: line 1, column 1: "}, {"true\nls (", "line 2, column 1: "}, {"rm -rf /; bash -c 'ls ('", "Blocked"}}},
		"off":                  {cfg: Config{Mode: "off"}, steps: [][2]string{{"rm -rf a", ""}, {"rm -rf /", "always blocked"}}},
		"off still asks about settings": {cfg: Config{Mode: "off"}, answers: []tools.Decision{tools.DecisionDeny},
			steps: [][2]string{{"echo x > .vscode/settings.json", no}}, asked: 1},
		"smart, judged harmless": {cfg: Config{Mode: "smart", Judge: harmless}, steps: [][2]string{{"rm -rf build", ""}, {"rm -rf /", "always blocked"}}},
		"smart, judged not": {cfg: Config{Mode: "smart", Judge: harmless}, answers: []tools.Decision{tools.DecisionDeny, tools.DecisionOnce},
			steps: [][2]string{{"rm -rf src", no}, {"git push -f", ""}, {"ls", ""}}, asked: 2},
		"smart, about settings":   {cfg: Config{Mode: "smart", Judge: yes}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"echo x > .vscode/a", no}}, asked: 1},
		"smart, denied":           {cfg: Config{Mode: "smart", Judge: yes, Deny: []string{"rm *"}}, steps: [][2]string{{"rm -rf build", "approvals.deny"}}},
		"not smart, nobody asked": {cfg: Config{Judge: yes}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", no}}, asked: 1},
		"smart without a judge":   {cfg: Config{Mode: "smart"}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", no}}, asked: 1},
		"manual asks":             {cfg: Config{Mode: "manual"}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", no}}, asked: 1},
		"allow list":              {cfg: Config{Allow: []string{"rm -rf a"}}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", ""}, {"rm -rf a b", no}}, asked: 1},
		"allow is not a glob":     {cfg: Config{Allow: []string{"rm -rf *"}}, answers: []tools.Decision{tools.DecisionDeny}, steps: [][2]string{{"rm -rf a", no}}, asked: 1},
		"allow lifts no refusal":  {cfg: Config{Allow: []string{"rm -rf /"}}, steps: [][2]string{{"rm -rf /", "Blocked"}}},
		"deny": {cfg: Config{Mode: "off", Allow: []string{"rm -rf a"}, Deny: []string{"git push*", "rm -rf *", "npm publish"}}, steps: [][2]string{
			{"git push", "git push*"}, {"cd x && git  push origin", "approvals.deny"}, {`g\it push`, "git push*"}, {"sudo /usr/bin/git push", "git push*"},
			{"bash -c 'git push'", "git push*"}, {"echo $(git push)", "git push*"}, {"rm -rf a", "rm -rf *"}, {"npm publish --tag x", "npm publish"}, {"npm publisher", ""}, {"git pull", ""},
			{"git -C . push", "git push*"}, {"git --no-pager push", "git push*"}, {"git -c a.b=c push", "git push*"}, {"git --git-dir=.git push", "git push*"},
		}},
		"deny writing": {cfg: Config{Mode: "off", Deny: []string{"write */secret/*"}}, steps: [][2]string{
			{"echo x > secret/k", "approvals.deny"}, {"cp a secret", "approvals.deny"}, {"sh -c 'cd secret; touch a'", "approvals.deny"}, {"echo x > open/k", ""}, {"cat secret/k", ""},
		}},
		"nobody there": {cfg: Config{Asker: nil}, steps: [][2]string{{"rm -rf a", "no user is present to approve it"}}, asked: -1},
	} {
		p := toolstest.UserAnswering(c.answers...)
		if c.asked >= 0 {
			c.cfg.Asker = p
		}
		g := New(c.cfg)
		for _, step := range c.steps {
			err := check(t.Context(), g, step[0])
			if step[1] == "" && err != nil || step[1] != "" {
				want(t, name+": "+step[0], err, step[1])
			}
		}
		if len(p.Asked) != max(0, c.asked) {
			t.Errorf("%s: asked %d times, want %d", name, len(p.Asked), c.asked)
		}
	}
}

func TestGateQuestion(t *testing.T) {
	t.Parallel()
	p := toolstest.UserAnswering(tools.DecisionOnce)
	want(t, "", check(t.Context(), New(Config{Asker: p}), "git push -f\nrm -rf 'a\u202eb'"), "")
	q := p.Asked[0]
	if q.SessionID != "s" || q.Call.ID != "1" || q.Kind != tools.KindExecute {
		t.Errorf("question %+v", q)
	}
	if want := "git push -f⏎rm -rf 'a⟨U+202E⟩b'"; q.Title != want {
		t.Errorf("title %q, want %q", q.Title, want)
	}
	if !strings.Contains(q.Reason, "force-pushes") || !strings.Contains(q.Reason, "invisible") {
		t.Errorf("reason %q", q.Reason)
	}
	if !strings.Contains(q.Remember, " and git push -f") {
		t.Errorf("remember %q", q.Remember)
	}
}

func TestGateTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Asker: toolstest.UserAnswering(), Timeout: 2 * time.Minute})
		start := time.Now()
		want(t, "", check(t.Context(), g, "rm -rf a"), "the user did not answer within 2m0s")
		if waited := time.Since(start); waited != 2*time.Minute {
			t.Errorf("waited %v", waited)
		}
		start = time.Now()
		want(t, "", check(t.Context(), New(Config{Asker: toolstest.UserAnswering()}), "rm -rf a"), "the user did not answer within 5m0s")
		if waited := time.Since(start); waited != 5*time.Minute {
			t.Errorf("waited %v by default", waited)
		}
	})
}

func TestGateCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := toolstest.UserAnswering()
		g := New(Config{Asker: p})
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- check(ctx, g, "rm -rf a") }()
		synctest.Wait()
		go func() { errs <- check(ctx, g, "rm -rf b") }() // waits for its turn
		synctest.Wait()
		cancel()
		for range 2 {
			want(t, "", <-errs, "has changed nothing")
		}
		if len(p.Asked) != 1 {
			t.Errorf("asked %d times", len(p.Asked))
		}
		p.Answers <- tools.DecisionOnce
		want(t, "the gate after a cancel", check(t.Context(), g, "rm -rf a"), "")
	})
}

func TestGateOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := toolstest.UserAnswering()
		g := New(Config{Asker: p})
		errs := make(chan error, 30)
		for range 10 {
			go func() { errs <- check(t.Context(), g, "rm -rf a") }()
		}
		synctest.Wait()
		p.Answers <- tools.DecisionSession
		for range 10 {
			want(t, "the same key", <-errs, "")
		}
		if len(p.Asked) != 1 {
			t.Errorf("the same key was asked %d times", len(p.Asked))
		}
		for _, src := range []string{"rm -rf b", "rm -rf c", "rm -rf d"} {
			go func() { errs <- check(t.Context(), g, src) }()
			p.Answers <- tools.DecisionOnce
		}
		for range 3 {
			want(t, "other keys", <-errs, "")
		}
		if len(p.Asked) != 4 || p.Most != 1 {
			t.Errorf("asked %d times, at most %d at once", len(p.Asked), p.Most)
		}
		if err := check(t.Context(), g, "ls"); err != nil {
			t.Errorf("ls: %v", err)
		}
	})
}

func TestGateAlways(t *testing.T) {
	t.Parallel()
	var saved []string
	p := toolstest.UserAnswering(tools.DecisionAlways, tools.DecisionAlways)
	var full error
	g := New(Config{Asker: p, Always: func(key string) error {
		saved = append(saved, key)
		return full
	}})
	want(t, "", check(t.Context(), g, "rm -rf a && git push -f"), "")
	want(t, "", check(t.Context(), g, "git push -f"), "")
	if strings.Join(saved, "|") != "rm -rf a|git push -f" {
		t.Errorf("saved %q", saved)
	}

	full = errors.New("disk full")
	var said []tools.Progress
	env := &tools.Env{Progress: func(p tools.Progress) { said = append(said, p) }}
	v := policy.Command("rm -rf b", policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}})
	for range 2 {
		want(t, "not saved", g.Check(t.Context(), env, tools.Call{ID: "7"}, tools.KindExecute, "rm -rf b", v), "")
	}
	if len(said) != 1 || said[0].CallID != "7" || !strings.Contains(said[0].Message, "this session only") || !strings.Contains(said[0].Message, "disk full") {
		t.Errorf("said %+v", said)
	}
	if len(p.Asked) != 2 {
		t.Errorf("asked %d times", len(p.Asked))
	}
}

func TestGateError(t *testing.T) {
	t.Parallel()
	p := toolstest.UserAnswering()
	g := New(Config{Asker: p})
	p.Err = errors.New("the client is gone")
	want(t, "", check(t.Context(), g, "rm -rf a"), "asking failed, so that it has changed nothing (the client is gone)")
	p.Err = fmt.Errorf("session/request_permission: %w", tools.ErrClosing)
	want(t, "", check(t.Context(), g, "rm -rf a"), "the editor was closed, or the server was stopped while it waited for approval. It has changed nothing. Run it again")
	p.Err = &Unanswered{Why: "this editor is mute", How: "write it into a file"}
	err := check(t.Context(), g, "rm -rf a")
	want(t, "", err, "requires approval, and this editor is mute. ")
	want(t, "", err, "To allow it, the user can write it into a file.")
}

func TestGateMode(t *testing.T) {
	t.Parallel()
	g := New(Config{Mode: "ask"})
	want(t, "ask", check(t.Context(), g, "rm -rf a"), "no user is present to approve it")
	g.SetMode("off")
	want(t, "off", check(t.Context(), g, "rm -rf a"), "")
	g.SetMode("ask")
	want(t, "ask again", check(t.Context(), g, "rm -rf a"), "no user is present to approve it")
}

func TestGateWrite(t *testing.T) {
	t.Parallel()
	p := toolstest.UserAnswering(tools.DecisionSession)
	g := New(Config{Mode: "off", Asker: p, Deny: []string{"write */secret/*"}})
	for path, text := range map[string]string{"/ws/a": "", "/ws/AGENTS.md": "", "/ws/secret/a": "approvals.deny", "/ws/.git/hooks/x": "git hooks"} {
		v := policy.Write(path, []string{"/ws"}, "/h", nil)
		want(t, path, g.Check(t.Context(), &tools.Env{}, tools.Call{}, tools.KindEdit, "Edit "+path, v), text)
	}
	if len(p.Asked) != 1 || p.Asked[0].Remember != "write /ws/AGENTS.md" {
		t.Errorf("asked %+v", p.Asked)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "a b/c", true},
		{"a*c", "abbc", true}, {"a*c", "abcd", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"a?c", "aéc", true}, {"a??c", "aéc", false}, {"?*c", "éc", true}, {"*?c", "éc", true}, {"*??c", "éc", false},
		{"*a*b*", "xxaxxbxx", true}, {"*a*b", "xxaxxbxx", false}, {"**", "x", true}, {"a*", "a", true},
		{"*aaaaaaaaaaaaab", strings.Repeat("a", 2000), false},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

func TestGateRulesChange(t *testing.T) {
	t.Parallel()
	g := New(Config{Mode: "ask", Allow: []string{"rm -rf build"}})
	check := func(want bool) {
		t.Helper()
		v := policy.Verdict{Level: policy.Asks, Reason: "deletes", Keys: []string{"rm -rf build"}}
		err := g.Check(t.Context(), &tools.Env{}, tools.Call{}, tools.KindExecute, "rm -rf build", v)
		if (err == nil) != want {
			t.Errorf("err = %v, want allowed = %v", err, want)
		}
	}
	check(true)
	g.SetRules([]string{"rm*"}, []string{"rm -rf build"})
	check(false) // a deny rule has priority over the allowlist
	g.SetRules(nil, nil)
	check(false) // removed from the allowlist: there is no user to ask
	g.SetRules(nil, []string{"rm -rf build"})
	check(true)
}
