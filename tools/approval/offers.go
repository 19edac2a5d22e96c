package approval

import (
	"slices"
	"strings"
)

// What programs offer beside their work: to run a command, or to delete something. The
// tables name it; the functions only look things up.

const (
	runsOption  = "runs a program given as an option"
	runsWithin  = "runs a command from within the program"
	deletesMore = "deletes what the program keeps or does not know"
)

// offer is what a program can be told to do besides its work.
type offer struct {
	code   string // options whose value is shell code, separated by spaces
	asks   string // options that have it run something that is given
	verbs  string // first words with which it deletes or throws away, separated by |, as in [remoteChange]
	marks  string // texts within arguments or input that run a command, separated by spaces; ␠ is a space
	always string // why it asks, whatever it is told,
	unless string // but with one of these words
}

const (
	texOptions  = "-shell-escape --shell-escape -enable-write18 --enable-write18 -shell-restricted"
	texMarks    = "\\write18 os.execute io.popen |kpse"
	sqlMarks    = "host␠ !"
	terminals   = "-e -x --command -c"
	sshSettings = "ProxyCommand LocalCommand KnownHostsCommand"
)

var offers = map[string]offer{
	// text
	"m4": {marks: "syscmd"}, "gm4": {marks: "syscmd"}, "dc": {marks: "!"},
	"groff": {asks: "-U --unsafe", marks: ".sy .pso .pi"}, "troff": {asks: "-U", marks: ".sy .pso"}, "gtroff": {asks: "-U"},
	"gnuplot": {marks: "system ! '< \"< '| \"|"}, "asymptote": {marks: "system("}, "asy": {marks: "system("}, "maxima": {marks: "system("}, "gp": {marks: "system extern"},
	"tex": {asks: texOptions, marks: texMarks}, "latex": {asks: texOptions, marks: texMarks}, "pdftex": {asks: texOptions, marks: texMarks}, "pdflatex": {asks: texOptions, marks: texMarks},
	"luatex": {asks: texOptions, marks: texMarks}, "lualatex": {asks: texOptions, marks: texMarks}, "xetex": {asks: texOptions}, "xelatex": {asks: texOptions, marks: texMarks},
	"latexmk": {asks: texOptions + " -e -pdflatex -latex -xelatex -lualatex -pdf-previewer -r"}, "pandoc": {asks: "--filter --lua-filter -F -L --pdf-engine-opt"},
	"kak": {marks: "%sh{ nop␠ !"}, "hx": {marks: ":sh :pipe"}, "micro": {marks: "run␠"}, "mutt": {marks: "` !"}, "fc": {asks: "-e -s"},
	"vi": {marks: "!"}, "vim": {marks: "!"}, "nvim": {marks: "!"}, "logrotate": {asks: "-f --force"},
	"fzf": {asks: "--preview --bind --become", marks: "execute become( reload"}, "sk": {asks: "--preview --bind -c --cmd"}, "delta": {asks: "--pager"},
	"lazygit": {asks: "--custom-command"}, "yt-dlp": {code: "--exec --exec-before-download", asks: "--netrc-cmd"}, "youtube-dl": {code: "--exec"},
	"inotifywait": {}, "direnv": {},
	// databases
	"sqlplus": {marks: sqlMarks}, "lftp": {code: "", marks: "! shell␠ rm␠ mrm␠ --delete"}, "ftp": {marks: "!"}, "influx": {marks: "drop␠ delete␠ DROP␠ DELETE␠"},
	"cqlsh": {marks: "drop␠ DROP␠ truncate␠ TRUNCATE␠ delete␠ DELETE␠"}, "isql": {marks: "shell␠"},
	// copies elsewhere
	"restic":    {code: "--password-command", asks: "-o --option", verbs: "forget|prune|repair|key remove|cache"},
	"borg":      {asks: "--rsh", verbs: "delete|prune|compact|recreate|break-lock|key"},
	"rclone":    {code: "--password-command", verbs: "delete|deletefile|purge|sync|rmdir|rmdirs|move|moveto|cleanup|dedupe|bisync"},
	"duplicity": {verbs: "remove-older-than|remove-all-but-n-full|cleanup"}, "rdiff-backup": {asks: "--remote-schema --remove-older-than"}, "unison": {asks: "-sshcmd -rshcmd"},
	"cpio": {asks: "--rsh-command"}, "pax": {asks: "-s"},
	// version control
	"hg":  {asks: "--config --rebase", verbs: "purge|clean|strip|rollback|debugstrip|histedit|revert|update -C|update --clean|prune|uncommit"},
	"svn": {asks: "--config-option --diff-cmd --diff3-cmd --editor-cmd --config-dir", verbs: "revert|cleanup --remove-unversioned|rm|remove|del"},
	"bzr": {verbs: "clean-tree|revert|uncommit"}, "fossil": {verbs: "clean|revert|shell|purge|scrub"}, "darcs": {verbs: "obliterate|unpull|revert|clean"},
	"jj": {asks: "--config --config-toml --config-file", verbs: "abandon|op abandon|restore|util exec"}, "p4": {verbs: "revert|obliterate|clean"},
	"cargo":   {asks: "--config"},
	"nodemon": {code: "--exec -x"}, "concurrently": {}, "watchexec": {},
	// packages of the machine
	"brew": {verbs: "uninstall|remove|rm|autoremove"}, "snap": {verbs: "remove"}, "flatpak": {verbs: "uninstall|remove"}, "dnf": {verbs: "remove|erase|autoremove"}, "yum": {verbs: "remove|erase|autoremove"},
	"zypper": {verbs: "rm|remove"}, "pacman": {verbs: "-R|-Rs|-Rns|-Rsc|-Rn"}, "apk": {verbs: "del"}, "pkg": {verbs: "delete|remove"}, "port": {verbs: "uninstall"}, "rpm": {verbs: "-e|--erase"},
	"btrfs": {verbs: "subvolume delete"}, "ip": {verbs: "link delete|link del|link set|addr flush|address flush|route flush|route del|route delete"}, "nmcli": {verbs: "con delete|connection delete|con down"},
	// machines
	"ansible": {always: "runs modules, which change machines", unless: "ping setup debug stat ansible.builtin.ping --version"}, "ansible-console": {always: "runs modules, which change machines"}, "ansible-pull": {always: "runs modules, which change machines"},
	"salt": {always: "runs modules, which change machines"}, "salt-call": {always: "runs modules, which change machines"}, "salt-ssh": {always: "runs modules, which change machines"},
	"puppet": {verbs: "apply|agent"}, "chef-apply": {always: "runs modules, which change machines"}, "chef-client": {always: "runs modules, which change machines"},
	"bpftrace": {code: "-c", marks: "system("}, "vagrant": {code: "-c --command"},
	"cmake": {verbs: "-E rm|-E remove|-E remove_directory"}, "wine": {}, "bmake": {asks: "-f", marks: "!="},
	"xterm": {code: terminals}, "urxvt": {code: terminals}, "rxvt": {code: terminals}, "konsole": {code: terminals}, "alacritty": {code: terminals}, "st": {code: terminals},
	"kitty": {code: terminals}, "gnome-terminal": {code: terminals}, "xfce4-terminal": {code: terminals}, "lxterminal": {code: terminals}, "terminator": {code: terminals},
}

// offered judges a command by what its program offers.
func (j *judge) offered(c *call) {
	o, ok := offers[c.name]
	if !ok {
		return
	}
	if o.always != "" && !onlyShows(c.args, "--list-hosts") && !hasAny(c.args, o.unless) {
		j.ask(c, o.always)
	}
	for i, a := range c.args {
		name, val, has := strings.Cut(a.text, "=")
		if !has && i+1 < len(c.args) {
			val = c.args[i+1].text
		}
		switch {
		case !a.option():
		case contains(o.code, name):
			j.code(c, field{text: val})
		case contains(o.asks, name) && !(name == "-o" && has):
			j.ask(c, runsOption)
		}
	}
	if o.verbs != "" && (remoteChange{verbs: o.verbs}).made(wordsOf(c.args)) {
		j.ask(c, deletesMore)
	}
	j.marked(c, o.marks)
}

func hasAny(args []field, words string) bool {
	return slices.ContainsFunc(args, func(a field) bool { return words != "" && a.text != "" && contains(words, a.text) })
}

// wordsOf returns all arguments as words, options too.
func wordsOf(args []field) []verb {
	words := make([]verb, len(args))
	for i, a := range args {
		words[i] = verb{text: a.text, value: a.option() && !contains("-E -C", a.text) || i > 0 && args[i-1].option() && args[i-1].text != "-E"}
	}
	return words
}

// marked asks if an argument, or the input as far as it is known, holds one of the marks.
func (j *judge) marked(c *call, marks string) {
	for mark := range strings.FieldsSeq(marks) {
		mark = strings.ReplaceAll(mark, "␠", " ")
		found := j.stdin.known && strings.Contains(j.stdin.text, mark)
		for _, a := range c.args {
			found = found || strings.Contains(a.text, mark)
		}
		if found {
			j.ask(c, runsWithin)
			return
		}
	}
}

// otherCode judges interpreters whose languages are not read: by the words in their code
// that delete files or start programs.
func (j *judge) otherCode(c *call) {
	text := ""
	for i, a := range c.args {
		if i > 0 && c.args[i-1].option() || strings.ContainsAny(a.text, " (\"") || a.option() && strings.ContainsAny(a.text, "=:") {
			text += "\n" + a.text
		}
	}
	if j.stdin.known {
		text += "\n" + j.stdin.text
	} else if j.stdin.some && len(c.args) == 0 {
		j.note(Asks, "runs what comes through a pipe in an interpreter", j.whole())
	}
	lower := strings.ToLower(text)
	for word := range strings.FieldsSeq(deletingWords) {
		if strings.Contains(lower, word) {
			j.ask(c, "may delete files or start programs ("+word+")")
			return
		}
	}
}

const deletingWords = "delete remove unlink rmdir rmtree rm_r rm-r removefile deltree del_dir truncate system( system2 (system shell exec( .exec execv popen spawn run-program runprocess callcommand " +
	"callprocess sys.command process( processbuilder getruntime dlopen eval( do_script os.execute os:cmd cmd( \".! .execute( 'rm "

// handsOn judges what a program that is not known may be given to run: a program among its
// arguments, or code in one of them.
func (j *judge) handsOn(c *call) {
	if contains(namesOnly, c.name) {
		return
	}
	judged := 0
	for i, a := range c.args {
		if judged == 4 {
			return
		}
		name := programName(a.text)
		switch {
		case i+1 < len(c.args) && mayBeRun(name, c.args[i+1:]):
			j.call(c.with(c.args[i:]))
			judged++
		case a.option() && strings.HasPrefix(a.text, "--") && contains(destructive, a.text[strings.IndexByte(a.text, '=')+1:]):
			j.ask(c, runsOption)
		case strings.ContainsAny(a.text, " \t"):
			text := a.text
			if _, val, ok := strings.Cut(text, "="); ok && a.option() {
				text = val
			}
			if words := strings.Fields(text); len(words) > 1 && isDangerous(programName(words[0])) {
				j.code(c, field{text: text})
				judged++
			}
		}
	}
}

func isDangerous(name string) bool {
	return contains(destructive, name) || contains("sh bash zsh dash ksh fish git python perl ruby node", name) || strings.HasPrefix(name, "mkfs")
}

// mayBeRun tells whether a word names a program that destroys, or one that is given code.
func mayBeRun(name string, rest []field) bool {
	switch {
	case contains(destructive, name), strings.HasPrefix(name, "mkfs"):
		return true
	case name == "git":
		return contains("push reset clean checkout restore branch tag stash rm reflog gc update-ref filter-branch", rest[0].text)
	case contains("sh bash zsh dash ksh fish python perl ruby node php lua", name):
		for _, a := range rest {
			if !a.option() {
				return false
			}
			if !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "ce") {
				return true
			}
		}
	}
	return false
}
