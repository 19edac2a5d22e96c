package policy

import (
	"path"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// gitCommand judges git by its own options and its verb.
func (t *terms) gitCommand() {
	j, c, o := t.j, t.c, t.o
	st := c.st.clone()
	for _, folder := range o.values("-C", "--work-tree") {
		st.chdir(folder.text)
	}
	for _, folder := range o.values("--git-dir") {
		st.chdir(strings.TrimSuffix(strings.TrimSuffix(folder.text, "/"), ".git"))
	}
	j.foreign = j.foreign || !opensWith(t.p, c.args)
	if len(o.rest) == 0 {
		return
	}
	g := &call{name: o.rest[0].text, args: o.rest[1:], words: c.words, st: st}
	p := rules.Of("git " + g.name)
	j.hooked = j.hooked || rules.In("git-hooked", g.name) || rules.In("git-hooked", strings.TrimSpace(g.name+" "+append(g.args, field{})[0].text))
	j.rewrites = j.rewrites || rules.In("git-rewrites", g.name)
	// An option, an alias, or the settings of another repository may run something.
	ours := contains("init clone help version --version --help", g.name) || len(j.repository(st.cwd)) > 0
	j.foreign = j.foreign || !ours || !opensWith(p, g.args) || len(newTerms(j, g, p).selects("@foreach")) > 0
	if cwd := paths.Clean(st.cwd); !rules.In("git-harmless-outside", g.name) && len(j.scope.Roots) > 0 && st.cwd != "" && !strings.HasPrefix(cwd, unknown) && !j.scope.places().Inside(cwd) && !j.scope.places().OwnTemp(cwd) {
		j.ask(g, "changes a repository outside the workspace")
	}
	if rules.In("git-signs", g.name) {
		j.signs(g)
	}
	j.apply(g, p)
}

// settingsElsewhere finds, in code of other languages, the names of variables by which git reads other settings.
var settingsElsewhere = lazyregexp.New(`\bGIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)\b|\bXDG_CONFIG_HOME\b|["'\\]HOME["'\\]`)

// signs judges a command that signs if the settings require it: with other settings it would omit
// the signature.
func (j *analyzer) signs(c *call) {
	name := j.noConfig
	if found := settingsElsewhere.FindStringSubmatch(j.src); name == "" && found != nil {
		name = found[0]
	}
	for set := range rules.List("git-settings-from") {
		if _, ok := c.st.vars[set]; ok {
			name = set
		}
	}
	for i, w := range c.words {
		if w.text == c.name || path.Base(w.text) == "git" {
			break
		}
		option := w.text
		switch after := append(c.words[i+1:], field{})[0].text; {
		case path.Base(c.words[0].text) != "env":
		case option == "-i", option == "-", strings.HasPrefix(option, "--ig"):
			name = "env " + option
		case option == "-u" && rules.In("git-settings-from", after):
			name = after
		default:
			_, unset, _ := strings.Cut(option, "=")
			if short, ok := strings.CutPrefix(option, "-u"); ok {
				unset = short
			}
			if strings.HasPrefix(option, "-") && rules.In("git-settings-from", unset) {
				name = unset
			}
		}
	}
	if name != "" {
		j.ask(c, "may leave out the signature, because git does not read your settings ("+paths.Visible(name)+")")
	}
}

// gitSetting judges a setting of a single command, as given with -c.
func (j *tracks) gitSetting(c *call, setting string) {
	key, val, _ := strings.Cut(setting, "=")
	j.foreign = j.foreign || !rules.In("git-opens-setting", strings.ToLower(key))
	if j.gitRuns(c, key, val) {
		j.ranValue(c, strings.TrimPrefix(val, "!"))
	}
}

// gitRuns judges an unknown setting or a setting with which git runs a program, and reports whether
// it is either. A setting that omits signatures or hooks requires approval, too.
func (j *tracks) gitRuns(c *call, key, val string) bool {
	if matches("UNSIGNED", "--key="+strings.ToLower(key), "--value="+val) {
		j.ask(c, "leaves out the signature ("+paths.Visible(key)+")")
	}
	if matches("UNHOOKED", "--key="+strings.ToLower(key), "--value="+val) {
		j.ask(c, "leaves out the hooks of the repository ("+paths.Visible(key)+")")
	}
	runs := matches("git -c", "--key="+strings.ToLower(key), "--value="+val)
	if runs {
		j.ask(c, "has a git setting that runs programs ("+paths.Visible(key)+")")
	}
	return runs
}

// gitConfig judges a change of settings.
func (t *terms) gitConfig() {
	j, rest := t.j, t.o.rest
	if len(rest) > 0 && contains("set unset rename-section remove-section edit", rest[0].text) {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return
	}
	if rest[0].seen() && rest[1].seen() {
		j.settings = union(j.settings, []string{strings.ToLower(rest[0].text) + "=" + rest[1].text})
	}
	if j.gitRuns(t.c, rest[0].text, rest[1].text) {
		j.findings[len(j.findings)-1].settings = true
	}
}
