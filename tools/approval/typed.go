package approval

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Typed judges text that is typed into a command that runs. Each program of the command may
// be the one that reads it: a shell takes it as commands, Python as Python, an editor runs
// what follows "!". Other programs take answers, of which only those count that would be
// commands.
func Typed(command, text string, p Place) Verdict {
	text = strings.TrimRight(text, "\x00\x03\x04\r\n")
	key := "type into " + Escape(command)
	worst := Verdict{}
	for i, name := range readers(command, p) {
		if v := typedInto(name, text, key, p); i == 0 || v.Level > worst.Level {
			worst = v
		}
	}
	worst.Once = worst.Once || len(worst.KeyFiles) > 0 // their content is not looked at
	return worst
}

// readers returns the names of all programs in a command, and "" if one is not known.
func readers(command string, p Place) (names []string) {
	v := Command(command, p)
	if v.Syntax != "" {
		return []string{""}
	}
	for _, c := range v.Commands {
		word, _, _ := strings.Cut(c, " ")
		if word == "write" {
			continue
		}
		name := programName(strings.Trim(word, "'"))
		if strings.Contains(word, "$…") {
			name = ""
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// typedAsCode is how a program is given code that it would otherwise read.
var typedAsCode = map[string]string{
	"node": "node -e", "nodejs": "node -e", "deno": "deno eval", "bun": "bun -e", "tsx": "tsx -e", "ts-node": "ts-node -e", "ruby": "ruby -e", "irb": "ruby -e", "pry": "ruby -e", "rails": "ruby -e",
	"perl": "perl -e", "re.pl": "perl -e", "php": "php -r", "psysh": "php -r", "lua": "lua -e", "luajit": "lua -e", "tclsh": "tclsh -c", "julia": "julia -e", "r": "Rscript -e", "rscript": "Rscript -e",
	"psql": "psql -c", "pgcli": "psql -c", "mysql": "mysql -e", "mariadb": "mysql -e", "mycli": "mysql -e", "sqlite3": "sqlite3 db", "sqlite": "sqlite3 db", "litecli": "sqlite3 db", "duckdb": "duckdb db",
	"mongosh": "mongosh --eval", "mongo": "mongosh --eval", "redis-cli": "redis-cli", "awk": "awk", "gawk": "awk", "sed": "sed", "guile": "guile -c", "racket": "racket -e", "ocaml": "ocaml -e", "utop": "ocaml -e",
	"ghci": "ghc -e", "ghc": "ghc -e", "scala": "scala -e", "groovy": "groovy -e", "groovysh": "groovy -e", "jshell": "jshell -e", "kotlin": "kotlin -e", "kotlinc": "kotlin -e", "clojure": "clojure -e", "clj": "clojure -e",
	"iex": "elixir -e", "elixir": "elixir -e", "erl": "erl -eval", "sbcl": "sbcl --eval", "clisp": "sbcl --eval", "octave": "octave --eval", "gnuplot": "gnuplot -e", "dc": "dc -e", "m4": "m4 -e", "swift": "swift -e",
	"lftp": "lftp -e", "sqlplus": "sqlplus x", "cqlsh": "cqlsh -e", "gp": "gp -e", "maxima": "maxima -e", "emacs": "emacs --eval", "xonsh": "xonsh -c", "nu": "nu -c", "bb": "bb -e",
}

// typedShells run what is typed into them as commands.
const typedShells = "sh bash dash zsh fish ksh mksh ash rbash csh tcsh yash elvish osh ysh oil rc es ion su sudo doas ssh mosh sshpass telnet nc ncat netcat socat docker podman nerdctl kubectl oc lxc " +
	"screen tmux script expect xargs parallel watch busybox toybox distrobox toolbox nsenter unshare chroot machinectl systemd-run vagrant adb mysqlsh rlwrap dtach abduco at batch " +
	"xterm poetry pipenv nix-shell nix devbox flatpak firejail bwrap proot fakeroot virsh gcloud aws az heroku fly flyctl zellij byobu ftp sftp make entr eval exec source ."

// typedEditors run a command behind a sign, or delete and write files by commands of their own.
const typedEditors = "vi vim nvim ex view ed red kak hx micro nano emacs emacsclient less more most man gdb lldb cgdb pdb ipdb mutt neomutt tig lazygit fzf sk ranger lf nnn mc vifm top htop btop " +
	"git gh gdbserver rr bpftrace perf delve dlv jdb rdbg radare2 r2 rizin info lynx w3m links elinks crontab visudo bc calc tftp nslookup dig hg svn"

// editorMarks are what in text typed into these runs a command or deletes or writes a file.
var editorMarks = []string{"!", "shell", "system", "python", "pipe ", "delete", "remove", "unlink", "source ", "exec", "lua ", "perl ", "ruby ", "writefile", "make ", "| ", "|", "call ", "call(",
	"os.", "terminal", ":w ", ":r ", "w ", "e ", "q: ", "%sh", "rm ", "popen", "spawn", "script ", "eval", "norm", "autocmd"}

func typedInto(name, text, key string, p Place) Verdict {
	asks := func(why string) Verdict {
		return Verdict{Level: Asks, Reason: why, Keys: []string{key + ": " + Escape(text)}, Commands: []string{visible(Escape(text))}}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F }) && !contains(namesOnly, name) {
		return asks("types control characters, which edit what was typed before")
	}
	switch {
	case name == "python", name == "pypy", name == "ipython", name == "bpython", name == "ptpython":
		return Python(text, p)
	case typedAsCode[name] != "":
		if quoted, err := syntax.Quote(text, syntax.LangBash); err == nil {
			return Command(typedAsCode[name]+" "+quoted, p)
		}
		return asks("types what cannot be judged")
	case contains(typedEditors, name):
		return typedEditor(text, p, asks)
	}
	v := Command(text, p)
	shell := name == "" || contains(typedShells, name)
	switch {
	case v.Syntax != "" && (shell || startsDangerous(text)):
		return asks("types a part of a command")
	case v.Syntax != "":
		return Verdict{}
	case v.Level == Runs && shell && recalls(text):
		return asks("runs an earlier command again")
	}
	return v
}

// typedEditor judges text for an editor, a pager or a debugger.
func typedEditor(text string, p Place, asks func(string) Verdict) Verdict {
	v := Command(text, p)
	if v.Syntax == "" && (v.Level == Refused || v.Level == Asks && startsDangerous(text)) {
		return v
	}
	for _, mark := range editorMarks {
		if strings.Contains(text, mark) {
			return asks("may run a command or change files in the program that it is typed into")
		}
	}
	return Verdict{}
}

// startsDangerous tells whether a text that does not parse begins a command, at a place
// where one may stand, that destroys or runs others.
func startsDangerous(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";&|(){}`\n", r) }) {
		words := strings.Fields(part)
		for len(words) > 1 && (strings.Contains(words[0], "=") || contains("$ ! then do else if while time command exec env nohup nice", words[0])) {
			words = words[1:]
		}
		if len(words) > 0 && (isDangerous(programName(strings.Trim(words[0], `'"\$`))) || contains("eval exec source .", words[0])) {
			return true
		}
	}
	return false
}

// recalls tells whether an interactive shell would fill in an earlier command.
func recalls(text string) bool {
	if strings.HasPrefix(text, "^") {
		return true
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '!' && (i == 0 || strings.IndexByte(" \t\n;&|(", text[i-1]) >= 0) && strings.IndexByte(" \t\n=(\"[", text[i+1]) < 0 {
			return true
		}
	}
	return false
}
