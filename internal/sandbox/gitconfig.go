package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// running are git settings whose value is run as a program, or names a file in
// which such settings are; * is any text. Git lists names in lower case, but for
// what stands between the dots.
var running = []string{
	"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.editor", "core.pager", "core.askpass",
	"core.gitproxy", "core.alternaterefscommand", "core.attributesfile", "sequence.editor", "init.templatedir",
	"diff.external", "diff.*.command", "diff.*.textconv", "merge.*.driver",
	"filter.*.clean", "filter.*.smudge", "filter.*.process",
	"credential.helper", "credential.*.helper", "gpg.program", "gpg.*.program", "gpg.ssh.defaultkeycommand",
	"pager.*", "interactive.difffilter", "mergetool.*.cmd", "mergetool.*.path", "difftool.*.cmd", "difftool.*.path",
	"browser.*.cmd", "browser.*.path", "man.*.cmd", "man.*.path", "web.browser", "instaweb.httpd",
	"remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "uploadpack.packobjectshook",
	"protocol.allow", "protocol.*.allow", "include.path", "includeif.*.path", "hook.*.command", "trailer.*.command", "trailer.*.cmd",
	"sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "sendemail.smtpserver", "sendemail.sendmailcmd",
	"tar.*.command", "gc.recentobjectshook",
}

type setting struct{ name, value string }

// runs reports whether git would run something because of the setting.
func (s setting) runs() bool {
	name := strings.ToLower(s.name)
	switch {
	case strings.HasPrefix(name, "alias."), strings.HasPrefix(name, "submodule.") && strings.HasSuffix(name, ".update"):
		return strings.HasPrefix(strings.TrimSpace(s.value), "!")
	case name == "core.fsmonitor" || strings.HasPrefix(name, "pager."):
		return !slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(s.value))
	case strings.HasPrefix(name, "url."): // to a protocol that is a program
		return strings.Contains(name, "::")
	case strings.HasPrefix(name, "remote.") && strings.HasSuffix(name, ".url"):
		return strings.HasPrefix(s.value, "ext::")
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

// gitLimit is how long reading a file of settings may take.
const gitLimit = 10 * time.Second

// gitChanges are the settings in a file that run something and were not there, or
// not so, before.
func (w *Watch) gitChanges(path string, old content, had bool) (all []Change) {
	whole := Change{
		Path: path, What: "the git settings in " + w.name(path) + ", which could not be read", Asks: true, Key: "write " + w.name(path),
		undo: func() error { return w.restore(path, old, had, true) },
	}
	before, err := w.settingsOf(old)
	if err != nil {
		return []Change{whole}
	}
	after, err := readSettings(path)
	if err != nil {
		return []Change{whole}
	}
	for _, s := range after {
		if s.runs() && !slices.Contains(before, s) && !w.box.opening.approves(s) {
			all = append(all, Change{
				Path: path, Asks: true, Key: "git config " + s.name + " " + s.value,
				What: fmt.Sprintf("the git setting %s = %s, which runs a program", s.name, s.value),
				undo: func() error { return takeBack(path, s, before) },
			})
		}
	}
	return all
}

// settingsOf reads settings from a file's content as it was.
func (w *Watch) settingsOf(c content) ([]setting, error) {
	if c.info == nil {
		return nil, nil
	}
	temp, err := w.box.tempFolder()
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(temp.dir.Path(), "config-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a temp file
	_, err = f.Write(c.text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return readSettings(f.Name())
}

// readSettings has git itself read a file, so that nothing is read otherwise than
// git will.
func readSettings(path string) (all []setting, err error) {
	f, info, err := safefile.Open(path) // git would wait for a named pipe
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	f.Close() //nolint:errcheck // only looked at
	if info.Size() > safefile.Settings {
		return nil, fmt.Errorf("reading %s: %w", path, safefile.ErrTooLarge)
	}
	out, code, err := git("config", "--file", path, "--no-includes", "--null", "--list")
	if err != nil || code != 0 {
		return nil, fmt.Errorf("reading %s: exit code %d, %w", path, code, err)
	}
	for _, entry := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name, value, _ := strings.Cut(entry, "\n"); name != "" {
			all = append(all, setting{name, value})
		}
	}
	return all, nil
}

// takeBack removes a setting, and sets what it was before, if it was.
func takeBack(path string, s setting, before []setting) error {
	if _, code, err := git("config", "--file", path, "--unset-all", s.name); err != nil || code != 0 && code != 5 { // 5: it is gone
		return fmt.Errorf("taking back %s in %s: exit code %d, %w", s.name, path, code, err)
	}
	for _, b := range before {
		if b.name != s.name {
			continue
		}
		if _, code, err := git("config", "--file", path, "--add", b.name, b.value); err != nil || code != 0 {
			return fmt.Errorf("putting back %s in %s: exit code %d, %w", b.name, path, code, err)
		}
	}
	return nil
}

// git runs git on a file alone: away from every repository and without the user's
// settings, so that it runs nothing that they name.
func git(args ...string) (out string, code int, err error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	var text bytes.Buffer
	exit, err := proc.Run(ctx, proc.Cmd{
		Args: append([]string{program}, args...), Dir: "/", Stdout: &text,
		Env: []string{
			"PATH=" + filepath.Dir(program), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_DIR=" + os.DevNull, "LC_ALL=C",
		},
	})
	return text.String(), exit.Code, err
}
