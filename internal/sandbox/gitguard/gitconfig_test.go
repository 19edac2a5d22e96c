package gitguard

import "testing"

func TestGitSettingsThatRun(t *testing.T) {
	t.Parallel()
	for s, want := range map[setting]bool{
		{"core.fsmonitor", "./x"}: true, {"core.fsmonitor", "true"}: false, {"core.hookspath", "h"}: true,
		{"filter.lfs.clean", "git-lfs clean"}: true, {"filter.a.b.process", "x"}: true, {"filter.lfs.required", "true"}: false,
		{"alias.co", "checkout"}: false, {"alias.x", " !sh"}: true, {"submodule.a.update", "!sh"}: true, {"submodule.a.update", "rebase"}: false,
		{"user.name", "core.pager"}: false, {"branch.main.remote", "origin"}: false, {"remote.origin.url", "git@x:y"}: false,
		{"remote.origin.url", "ext::sh -c x"}: true, {"remote.o.uploadpack", "x"}: true, {"url.ext::sh.insteadof", "x"}: true,
		{"url.https://x/.insteadof", "gh:"}: false, {"pager.log", "false"}: false, {"pager.log", "less"}: true,
		{"includeif.gitdir:/x.path", "y"}: true, {"credential.https://x.helper", "y"}: true, {"diff.A.textconv", "y"}: true,
		{"alias.st", "grep --open-files-in-pager=./m.sh x"}: true, {"alias.a", "ls-remote --upload-pack=./m.sh ."}: true, {"alias.b", "difftool --extcmd ./m"}: true,
		{"alias.c", "bisect run ./m.sh"}: true, {"alias.d", "submodule foreach ./m.sh"}: true, {"alias.e", "rebase --exe ./m.sh x"}: true, {"alias.f", "log --oneline --graph"}: false, {"alias.g", "grep -nO./m.sh x"}: true,
		{"guitool.x.cmd", "y"}: true, {"imap.tunnel", "y"}: true, {"sendemail.id.smtpserver", "./m"}: true, {"sendemail.id.tocmd", "./m"}: true, {"svn.authorsprog", "y"}: true,
		{"remote.o.pushurl", "ext::sh"}: true, {"branch.main.remote", "ext::sh -c x"}: true, {"branch.main.pushremote", "ext::x"}: true, {"remote.pushdefault", "ext::x"}: true,
		{"merge.conflictstyle", "diff3"}: false, {"CORE.SSHCommand", "x"}: true,
	} {
		if got := s.runs(); got != want {
			t.Errorf("%v: %v", s, got)
		}
	}
}
