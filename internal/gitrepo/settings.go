package gitrepo

import (
	"slices"
	"strings"
)

// running are git settings whose value is run as a program, or names a file with such settings; *
// is any text. Git lists names in lower case, except for the text between the dots.
var running = []string{
	"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.editor", "core.pager", "core.askpass",
	"core.gitproxy", "core.alternaterefscommand", "core.attributesfile", "sequence.editor", "init.templatedir",
	"diff.external", "diff.*.command", "diff.*.textconv", "merge.*.driver",
	"filter.*.clean", "filter.*.smudge", "filter.*.process",
	"credential.helper", "credential.*.helper", "gpg.program", "gpg.*.program", "gpg.ssh.defaultkeycommand",
	"interactive.difffilter", "mergetool.*.cmd", "mergetool.*.path", "difftool.*.cmd", "difftool.*.path", "guitool.*.cmd",
	"browser.*.cmd", "browser.*.path", "man.*.cmd", "man.*.path", "web.browser", "help.browser", "instaweb.httpd", "instaweb.browser", "instaweb.modulepath",
	"remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "remote.*.proxy", "uploadpack.packobjectshook", "uploadarchive.*",
	"protocol.allow", "protocol.*.allow", "include.path", "includeif.*.path", "hook.*.command", "trailer.*.command", "trailer.*.cmd",
	"sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "sendemail.smtpserver", "sendemail.sendmailcmd",
	"sendemail.*.tocmd", "sendemail.*.cccmd", "sendemail.*.headercmd", "sendemail.*.smtpserver", "sendemail.*.sendmailcmd",
	"imap.tunnel", "imap.*.tunnel", "svn.authorsprog", "svn-remote.*.authorsprog",
	"tar.*.command", "gc.recentobjectshook", "receive.procreceiverefs", "http.sslengine", "maintenance.*.command",
	"lfs.customtransfer.*.path", "lfs.standalonetransferagent", "lfs.*.standalonetransferagent", "lfs.extension.*.clean", "lfs.extension.*.smudge",
	"annex.*-command", "tig.*", "delta.pager", "delta.*.pager", "gitflow.path.hooks",
}

// plainAliases are git commands allowed as the target of an alias, and runInAliases options that
// make them run a program after all.
var (
	plainAliases = []string{
		"status", "checkout", "switch", "commit", "log", "branch", "diff", "add", "show", "stash", "fetch", "pull", "push", "merge", "rebase", "restore",
		"reset", "tag", "blame", "reflog", "rev-parse", "rev-list", "remote", "shortlog", "describe", "cherry-pick", "revert", "grep", "clean", "ls-files", "worktree", "rm", "mv",
	}
	runInAliases = []string{"--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--extcmd", "--ext-diff", "--textconv", "-O", "-x", "-c", "--tool"}
)

// aliasRuns reports whether an alias runs a program other than git.
func aliasRuns(value string) bool {
	words := strings.Fields(value)
	if len(words) == 0 {
		return false
	}
	if !slices.Contains(plainAliases, words[0]) || strings.ContainsAny(value, "'\"\\") {
		return true
	}
	return slices.ContainsFunc(words[1:], func(word string) bool {
		option, _, _ := strings.Cut(word, "=")
		return slices.ContainsFunc(runInAliases, func(runs string) bool {
			if strings.HasPrefix(runs, "--") { // git accepts abbreviated options
				return len(option) > 3 && strings.HasPrefix(runs, option)
			}
			return strings.HasPrefix(option, runs) || !strings.HasPrefix(option, "--") && strings.HasPrefix(option, "-") && strings.Contains(option, runs[1:])
		})
	})
}

// Runs reports whether git would run something because of a setting.
func Runs(name, value string) bool {
	name = strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, "alias."):
		return aliasRuns(value)
	case strings.HasPrefix(name, "submodule.") && strings.HasSuffix(name, ".update"):
		return strings.HasPrefix(strings.TrimSpace(value), "!")
	case strings.HasPrefix(name, "remote.") && strings.Contains(name, ".annex-"):
		return true
	case name == "core.fsmonitor" || strings.HasPrefix(name, "pager."):
		return !slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(value))
	case strings.HasPrefix(name, "url."): // to a protocol implemented by a program
		return strings.Contains(name, "::")
	case matches("remote.*.url", name), matches("remote.*.pushurl", name), matches("branch.*.remote", name),
		matches("branch.*.pushremote", name), name == "remote.pushdefault", matches("submodule.*.url", name):
		return strings.Contains(value, "::") // another transport, such as ext::
	}
	return slices.ContainsFunc(running, func(pattern string) bool { return matches(pattern, name) })
}

func matches(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
