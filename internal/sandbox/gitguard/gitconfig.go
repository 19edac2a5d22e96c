package gitguard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// running are git settings whose value is run as a program, or names a file in
// which such settings are; * is any text. Git lists names in lower case, but for
// the part between the dots.
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
	"annex.*-command", "tig.*",
}

// plainAliases are commands of git that an alias may stand for, and runInAliases options by
// which they run a program after all.
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
			if strings.HasPrefix(runs, "--") { // git takes options that are cut short
				return len(option) > 3 && strings.HasPrefix(runs, option)
			}
			return strings.HasPrefix(option, runs) || !strings.HasPrefix(option, "--") && strings.HasPrefix(option, "-") && strings.Contains(option, runs[1:])
		})
	})
}

type setting struct{ name, value string }

// runs reports whether git would run something because of the setting.
func (s setting) runs() bool {
	name := strings.ToLower(s.name)
	switch {
	case strings.HasPrefix(name, "alias."):
		return aliasRuns(s.value)
	case strings.HasPrefix(name, "submodule.") && strings.HasSuffix(name, ".update"):
		return strings.HasPrefix(strings.TrimSpace(s.value), "!")
	case strings.HasPrefix(name, "remote.") && strings.Contains(name, ".annex-"):
		return true
	case name == "core.fsmonitor" || strings.HasPrefix(name, "pager."):
		return !slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(s.value))
	case strings.HasPrefix(name, "url."): // to a protocol that is a program
		return strings.Contains(name, "::")
	case matches("remote.*.url", name), matches("remote.*.pushurl", name), matches("branch.*.remote", name),
		matches("branch.*.pushremote", name), name == "remote.pushdefault", matches("submodule.*.url", name):
		return strings.Contains(s.value, "::") // another transport, such as ext::
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

// known are the settings of a file as it was.
type known struct {
	info fs.FileInfo
	all  []setting
	err  error
}

// settings returns the settings of a file that git reads. It has git itself read the file,
// so that nothing is read otherwise than git will.
func (g *Guard) settings(path string) ([]setting, error) {
	g.readSettings([]string{path})
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.configs[path]
	if !ok {
		return nil, fmt.Errorf("%s could not be read", path)
	}
	return k.all, k.err
}

// readSettings reads those files that have changed since they were read last.
func (g *Guard) readSettings(paths []string) {
	var stale []string
	infos := map[string]fs.FileInfo{}
	for _, path := range paths {
		info, err := os.Lstat(path)
		g.mu.Lock()
		k, ok := g.configs[path]
		switch {
		case err != nil:
			delete(g.configs, path)
		case ok && (marked{info: k.info}).same(info):
		case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0, info.Size() > safefile.Settings:
			g.configs[path] = known{info: info, err: fmt.Errorf("it is not a file of settings (%v, %d bytes)", info.Mode(), info.Size())}
		default:
			stale, infos[path] = append(stale, path), info
		}
		g.mu.Unlock()
	}
	if len(stale) == 0 {
		return
	}
	read := g.list(stale)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, path := range stale {
		k := read[i]
		k.info = infos[path]
		if !settled(k.info) {
			k.info = unsettled{k.info}
		}
		g.configs[path] = k
	}
}

// unsettled is the information of a file that may change again without a new stamp. It equals
// no other.
type unsettled struct{ fs.FileInfo }

func (unsettled) Size() int64 { return -1 }

// listing has git list the settings of files, each after a mark with its number that no
// setting's name can be.
const listing = `git=$1; shift; i=0
for f do
	printf '\001%d\000' $i; "$git" config --file "$f" --no-includes --null --list 2>/dev/null; printf '\002%d\000' $?
	i=$((i+1))
done`

// list reads files in the sandbox.
func (g *Guard) list(paths []string) []known {
	all := make([]known, len(paths))
	for i := range all {
		all[i].err = errors.New("git could not read it")
	}
	git, err := g.git()
	if err != nil {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	out, err := g.cfg.Inside(context.Background(), listing, nil, append([]string{git}, paths...)...)
	if err != nil {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	at := -1
	var read []setting
	for _, text := range strings.Split(out, "\x00") {
		switch {
		case strings.HasPrefix(text, "\x01"):
			at, read = at+1, nil
		case strings.HasPrefix(text, "\x02"):
			if at >= 0 && at < len(all) && text == "\x020" {
				all[at] = known{all: read}
			}
		case text != "":
			name, value, _ := strings.Cut(text, "\n")
			read = append(read, setting{name, value})
		}
	}
	return all
}

// git is the program, not one that a command could have made.
func (g *Guard) git() (string, error) { return program.Find("git", g.cfg.Roots()) }
