package approval

import "strings"

// program judges a call by what its program is known to do; programs that are
// not named here run.
func (j *judge) program(c *call) {
	if asksForHelp(c.args) {
		return
	}
	j.remote(c)
	if j.apply(c, rulesOf(c.name)) {
		return
	}
	switch c.name {
	// what runs another command
	case "sudo", "doas", "env", "nice", "ionice", "timeout", "gtimeout", "nohup", "setsid", "stdbuf", "time", "chrt", "taskset",
		"command", "exec", "builtin", "strace", "ltrace", "unbuffer", "chronic", "caffeinate", "setarch", "cgexec", "systemd-run",
		"run0", "pkexec", "proxychains", "proxychains4", "torsocks", "firejail", "bwrap", "unshare", "nsenter", "chroot", "fakeroot",
		"runuser", "setpriv", "gosu", "su-exec", "coproc", "noglob", "nocorrect", "ts", "cross-env", "dotenv", "aws-vault",
		"faketime", "xvfb-run", "dbus-run-session", "numactl", "eatmydata", "catchsegv", "rlwrap", "hyperfine",
		"linux64", "linux32", "i386", "x86_64", "systemd-cat", "torify", "valgrind", "sshpass", "uname26",
		"prlimit", "cpulimit", "choom", "uclampset", "logsave", "daemonize", "abduco", "dtach":
		j.wrapper(c)
	case "busybox", "toybox", "shx":
		if len(c.args) > 0 {
			j.call(c.with(c.args))
		}
	case "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "poetry", "pipenv", "bundle", "conda", "mamba", "hatch", "rye", "pdm", "direnv", "mise", "asdf", "rbenv", "pyenv", "nodenv", "opam", "stack", "cabal":
		j.runner(c)
	case "xargs", "parallel":
		j.xargs(c)
	case "watch":
		j.watch(c)
	case "flock":
		j.flock(c)
	case "script", "sg":
		j.codeOption(c, "c", "command", "")
	case "capsh", "start-stop-daemon":
		if hasWord(c.args, "--") {
			j.ask(c, "runs a command that cannot be judged")
		}
	case "nc", "ncat", "netcat", "socat":
		j.connects(c)
	case "su":
		j.su(c)
	case "ssh":
		j.ssh(c)
	case "scp", "sftp", "rsync":
		j.copyRemote(c)
	case "schtasks":
		if !hasWord(c.args, "/query") && !hasWord(c.args, "/Query") {
			j.ask(c, startsAlone)
		}
	case "nix-shell", "nix", "entr", "screen", "tmux", "at", "batch", "expect":
		j.opaqueRunner(c)
	// shells and code
	case "bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh":
		j.shell(c)
	case "history":
		j.history(c)
	case "eval":
		j.eval(c)
	case "source", ".":
		j.sourceFile(c)
	case "trap":
		j.trap(c)
	case "alias":
		j.alias(c)
	case "export", "declare", "typeset", "readonly", "local", "read", "mapfile", "readarray", "printf", "getopts", "unset", "set", "shift",
		"cd", "pushd", "popd", "let", "enable", "hash", "bind", "complete", "compgen", "shopt":
		j.builtin(c)
	case "python", "pypy", "ipython", "py":
		j.pythonProgram(c)
	case "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "deno", "tclsh", "rscript", "osascript", "groovy", "elixir", "julia", "swift", "irb", "ghc", "r", "octave", "scala", "erl", "tsx", "ts-node", "jshell", "kotlin", "zx", "electron":
		j.interpreter(c)
	case "guile", "racket", "clojure", "clj", "bb", "sbcl", "clisp", "ecl", "ocaml", "matlab", "maxima", "gp", "sage", "crystal", "nim", "v", "qjs", "phantomjs", "escript",
		"gauche", "gosh", "chez", "csi", "janet", "fennel", "raku", "dart", "zig", "gforth", "rexx", "regina", "pike", "io", "rakudo", "spidermonkey", "js", "d8", "xs", "mujs", "duk":
		j.foreign = true
		j.otherCode(c)
	case "nu", "xonsh", "elvish", "oil", "osh", "ysh", "yash", "rc", "es", "ion", "mrsh", "murex", "hush":
		j.shell(c)
	case "awk", "gawk", "mawk", "nawk":
		j.awk(c)
	case "powershell", "pwsh", "cmd", "wsl", "wscript", "cscript", "mshta", "rundll32":
		j.ask(c, "runs code for another shell, which cannot be judged")
	case "vi", "vim", "nvim", "ex", "view", "emacs", "emacsclient", "ed":
		j.editor(c)
	case "gdb", "lldb":
		j.debugger(c)
		j.handsOn(c)
	case "make", "gmake", "ninja", "just":
		j.make(c)
	case "go":
		j.goTool(c)
	// files
	case "rm", "unlink", "rmdir", "shred", "srm", "trash", "rimraf", "del-cli", "trash-cli", "trash-put", "del", "rd", "erase":
		j.remove(c)
	case "find", "gfind", "fd", "fdfind", "bfs":
		j.find(c)
	case "cp", "mv", "install", "ln", "gcp", "gmv", "link":
		j.copy(c)
	case "touch", "mkdir", "tee", "truncate", "mkfifo", "mknod", "mktemp", "sponge", "split", "csplit":
		j.create(c)
	case "chmod", "chown", "chgrp", "setfacl", "chattr", "chflags", "xattr":
		j.mode(c)
	case "dd":
		j.dd(c)
	case "wipefs", "blkdiscard", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "hdparm", "mkswap", "cryptsetup", "badblocks",
		"pvcreate", "pvremove", "vgremove", "lvremove", "zpool", "zfs", "mdadm", "diskutil", "format", "nvme", "tune2fs", "resize2fs", "debugfs", "flashrom":
		j.disk(c)
	case "sed", "gsed":
		j.sed(c)
	case "sort", "gsort":
		j.sort(c)
	case "rg", "ag", "ack", "bat", "batcat", "man", "less", "more", "tcpdump", "journalctl":
		j.reader(c)
	case "tar", "gtar", "bsdtar", "zip", "unzip", "7z", "7za", "cpio":
		j.archive(c)
	case "curl", "wget", "aria2c":
		j.download(c)
	case "patch":
		j.patch(c)
	case "crontab":
		j.crontab(c)
	case "sqlite3", "sqlite", "psql", "mysql", "mariadb", "duckdb", "sqlcmd", "clickhouse-client", "clickhouse", "cockroach", "mongosh", "mongo",
		"mysqladmin", "dropdb", "dropuser", "redis-cli", "usql", "pgcli", "mycli", "litecli", "bq", "wrangler":
		j.database(c)
	case "git":
		j.git(c)
	// the machine
	case "shutdown", "reboot", "halt", "poweroff", "kexec", "init", "telinit":
		j.power(c)
	case "systemctl", "service", "rc-service", "launchctl", "loginctl", "initctl", "sv", "supervisorctl", "rc-update", "update-rc.d", "chkconfig":
		j.service(c)
	case "kill", "pkill", "killall", "killall5", "skill", "fuser", "xkill", "taskkill":
		j.kill(c)
	case "useradd", "userdel", "usermod", "groupadd", "groupdel", "groupmod", "adduser", "deluser", "passwd", "chpasswd", "visudo", "vipw",
		"vigr", "chsh", "chfn", "gpasswd", "update-alternatives", "hostnamectl", "timedatectl", "localectl", "ldconfig", "authconfig":
		j.ask(c, "changes the users or the settings of this machine")
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "modprobe", "insmod", "rmmod", "kextload", "kextunload", "csrutil", "spctl", "pmset",
		"sysctl", "defaults", "scutil", "networksetup", "mount", "umount", "swapoff", "swapon", "setenforce", "auditctl":
		j.machine(c)
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "finch", "singularity", "apptainer", "lxc", "kubectl", "oc", "k3s", "helm", "terraform", "tofu", "pulumi", "aws", "gsutil", "gcloud", "az", "gh", "vagrant", "heroku", "flyctl", "fly":
		j.container(c)
	case "hermes-ls":
		j.ourselves(c)
	case "apt", "apt-get", "aptitude", "dpkg":
		j.apt(c)
	case "brew":
		if hasWord(c.args, "services") {
			j.service(c)
		}
	default:
		j.handsOn(c)
		if strings.HasPrefix(c.name, "ld-linux") || strings.HasPrefix(c.name, "ld-musl") {
			j.wrapper(c)
		}
		if len(c.name) >= 4 && (c.name[:4] == "mkfs" || c.name == "mke2fs" || c.name == "newfs" || c.name == "mkdosfs" || c.name == "mkntfs") {
			j.disk(c)
		}
	}
}

// asksForHelp tells whether a program is started for nothing but its help or version.
func asksForHelp(args []field) bool {
	return len(args) == 1 && contains("--help --version", args[0].text)
}
