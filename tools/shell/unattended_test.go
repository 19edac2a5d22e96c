//go:build unix

package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// No command waits for an editor: Git continues with a prepared message. Without a message, it
// fails and explains the fix. The user's variables and settings that name an editor change nothing.
// An editor set by the command itself is used.
func TestCommandsWithoutEditor(t *testing.T) {
	t.Parallel()
	const begin = `git init -q -b main . && git config user.name A && git config user.email a@b && git config core.editor "sleep 100" && git config sequence.editor "sleep 100" &&
git config commit.gpgsign false && echo 1 >f && git add f && git commit -qm first && `
	const conflict = begin + `git checkout -qb side && echo 2 >f && git commit -qam second && git checkout -q main && echo 3 >f && git commit -qam third && `
	const last = ` && git log -1 --format=%s`
	for name, c := range map[string]struct{ run, want string }{
		"commit":                 {begin + "git commit --allow-empty", "give the text with -m or -F, or keep the present one with --no-edit."},
		"commit verbose":         {begin + "echo 2 >f; git commit -av", "give the text with -m or -F"},
		"commit edited":          {begin + "git commit -q --allow-empty -em 'a message'" + last, "a message\n"},
		"amend":                  {begin + "echo 2 >f; git commit -qa --amend" + last, "first\n"},
		"merge":                  {begin + "git checkout -qb side; git commit -q --allow-empty -m x; git checkout -q main; git merge -q --no-ff side" + last, "Merge branch 'side'\n"},
		"merge --continue":       {conflict + "! git merge -q side >/dev/null && echo 4 >f && git add f && git merge --continue >/dev/null" + last, "Merge branch 'side'\n"},
		"rebase --continue":      {conflict + "git checkout -q side && ! git rebase main >/dev/null 2>&1 && echo 4 >f && git add f && git rebase --continue >/dev/null 2>&1" + last, "second\n"},
		"cherry-pick":            {conflict + "! git cherry-pick side >/dev/null 2>&1 && echo 4 >f && git add f && git cherry-pick --continue >/dev/null" + last, "second\n"},
		"revert":                 {begin + "echo 2 >f; git commit -qam second; git revert HEAD >/dev/null" + last, "Revert \"second\"\n"},
		"rebase -i":              {begin + "git commit -q --allow-empty -m second; git rebase -i HEAD^", "set GIT_SEQUENCE_EDITOR for this command"},
		"rebase --autosquash":    {begin + "echo 2 >f; git commit -qa --fixup HEAD; git rebase -q -i --autosquash --root 2>&1 && git log --format=%s", "first\n"},
		"rebase -i with its own": {begin + "git commit -q --allow-empty -m second; GIT_SEQUENCE_EDITOR='sed -i -e s/^pick/drop/' git rebase -q -i HEAD^" + last, "first\n"},
		"tag":                    {begin + "git tag -a v1", "give the text with -m or -F"},
		"notes":                  {begin + "git notes add", "give the text with -m or -F"},
		"patch":                  {begin + "echo 2 >f; git add -e", "No editor can open here, and ADD_EDIT.patch"},
		"config":                 {begin + "git config -e", "No editor can open here, and config"},
		"own editor":             {begin + "GIT_EDITOR='f() { echo mine >$1; }; f' git commit -q --allow-empty" + last, "mine\n"},
		"EDITOR of a program":    {"sh -c \"$EDITOR /tmp/crontab.1\"; sh -c \"$VISUAL a\"", "No editor can open here, and crontab.1"},
		"another program's":      {"sh -c \"$OTHER_EDITOR x.yaml\"", "No editor can open here, and x.yaml"},
		"a user's pager":         {"echo $MANPAGER $AWS_PAGER", "cat cat\n"},
		"password in a window":   {"git -c credential.helper= -c core.askpass='sleep 100' credential fill <<X\nprotocol=https\nhost=a.example\n\nX", "terminal prompts disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := New(dir, nil)
			s.state.env = override(s.state.env, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"})
			began := time.Now()
			got, _ := do(t, s, c.run)
			if !strings.Contains(got, c.want) || strings.HasSuffix(c.want, "\n") && got != c.want {
				t.Errorf("it printed %q", got)
			}
			if time.Since(began) > 50*time.Second {
				t.Error("it waited")
			}
			if _, err := os.Stat(filepath.Join(dir, ".git/rebase-merge")); err == nil {
				t.Error("the rebase is half done")
			}
		})
	}
}

// Other programs with settings for an editor or a merge tool do not wait either. Each setting here would
// wait.
func TestOtherProgramsWithoutEditor(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for program, debian := range map[string]string{"hg": "mercurial", "svn": "subversion", "nano": "", "npm": "", "emacs": "emacs-nox"} {
		testneed.Program(t, program, debian)
	}
	const hg = `printf '[ui]\nusername=a\neditor=sleep 100\nmerge=sleep\n[extensions]\nhistedit=\nrebase=\n' >.hgrc; hg init r; cd r; echo 1 >f; hg add f; hg commit -qm first; `
	const hgConflict = hg + `echo 2 >f; hg commit -qm second; hg up -q 0; echo 3 >f; hg commit -qm third; `
	const last = `; hg log -r . -T '{desc}\n'`
	const svn = `svnadmin create r && svn checkout -q "file://$PWD/r" w && cd w && printf '[helpers]\neditor-cmd=sleep 100\n' >>"$HOME/.subversion/config" && echo 1 >f && svn add -q f; `
	for name, c := range map[string]struct{ run, want string }{
		"hg commit":           {hg + "echo 2 >f; hg commit", "has no text to go on with: give the text with -m."},
		"hg commit edited":    {hg + "echo 2 >f; hg commit -qem 'a message'" + last, "a message\n"},
		"hg amend":            {hg + "echo 2 >f; hg commit -q --amend 2>/dev/null" + last, "first\n"},
		"hg histedit":         {hg + "echo 2 >f; hg commit -qm second; hg histedit 0", "give the changed list in a file with --commands."},
		"hg merge":            {hgConflict + "hg merge -q; cat f", "<<<<<<< working copy"},
		"hg rebase":           {hgConflict + "hg rebase -q -d 1; hg resolve -l", "\nU f"},
		"hg config":           {"printf '[ui]\neditor=sleep 100\n' >.hgrc; hg config --edit", "No editor can open here, and .hgrc"},
		"hg with its own":     {hg + "echo 2 >f; HGEDITOR='echo mine >' hg commit -q" + last, "mine\n"},
		"svn commit":          {svn + "svn commit --force-interactive", "No editor can open here, and svn-commit.tmp"},
		"svn property":        {svn + "svn propedit svn:ignore .", "No editor can open here, and svn-prop.tmp"},
		"npm":                 {"npm config set editor 'sleep 100' && npm config edit", "No editor can open here, and .npmrc"},
		"nano":                {"nano f", "Standard input is not a terminal"},
		"emacs":               {"emacs f", "standard input is not a tty"},
		"pager of the editor": {"git init -q && git config core.pager 'sleep 100' && git config pager.status 'sleep 100' && git -p status | head -n 1", "On branch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := New(dir, nil)
			s.state.env = override(s.state.env, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"})
			got, o := do(t, s, c.run)
			if !strings.Contains(got, c.want) || strings.HasSuffix(c.want, "\n") && got != c.want || o.TimedOut {
				t.Errorf("it printed %q, and ended with %+v", got, o)
			}
		})
	}
}

// Programs that need a terminal end at once. They cannot open a terminal by its name either.
func TestProgramsWithoutTerminal(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "vim", "")
	for name, c := range map[string]struct{ run, want string }{
		"vim":               {"echo one >f; vim f", "Vim has no terminal here, and was ended."},
		"vim on a pipe":     {"echo one | vim -", "Vim has no terminal here, and was ended."},
		"vim with commands": {"echo one >f; vim -c %s/one/two/ -c wq f >/dev/null 2>&1; cat f", "two\n"},
		"vim -es":           {"echo one >f; vim -es -c %s/one/two/ -c wq f; cat f", "two\n"},
		"pager":             {"echo one >f; less f; more f | tail -n 1", "one\none\n"},
		"top":               {"top", "failed tty get"},
		"chosen parts":      {"git init -q; git config user.name A; git config user.email a@b; echo 1 >f; git add f; git commit -qm x; echo 2 >f; git add -p", "Stage this hunk"},
		"python":            {"python3; echo $?", "0\n"},
		"terminal":          {"echo x >/dev/tty", "/dev/tty"},
		"password":          {"ssh -o BatchMode=no -o ConnectTimeout=1 -p 1 127.0.0.1", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(t.TempDir(), nil)
			s.state.env = override(s.state.env, []string{"HOME=" + s.first, "GIT_CONFIG_NOSYSTEM=1"})
			got, err := do(t, s, c.run)
			if !strings.Contains(got, c.want) || strings.HasSuffix(c.want, "\n") && got != c.want {
				t.Errorf("it printed %q, %v", got, err)
			}
		})
	}
}

// A variable passed to commands by the user stays unchanged.
func TestPassedEditor(t *testing.T) {
	t.Setenv("EDITOR", "mine")
	t.Setenv("GIT_ASKPASS", "token.sh")
	t.Setenv("PSQL_EDITOR", "vim")
	s := New(t.TempDir(), []string{"EDITOR", "GIT_ASKPASS"})
	got, _ := do(t, s, `echo "$EDITOR $GIT_ASKPASS $PSQL_EDITOR"`)
	if !strings.HasPrefix(got, "mine token.sh sh -c ") {
		t.Errorf("it printed %q", got)
	}
}
