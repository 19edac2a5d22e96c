package policy_test

import (
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// An approval covers files that a command runs indirectly.
func TestRunsFilesInRoundaboutWays(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/x.sh": "echo x\n", "/w/lib/l.sh": "echo l\n", "/w/m.py": "print(1)\n", "/w/p/__init__.py": "", "/w/s.py": "import os, m as n\nfrom p.q import r\n",
		"/w/a.sh": `. "$(dirname "$0")/lib/l.sh"`, "/w/b.sh": `. "$(dirname "${BASH_SOURCE[0]}")/lib/l.sh"`,
		"/w/c.sh": `here=$(cd "$(dirname "$0")" && pwd); source "$here/lib/l.sh"`, "/w/d.sh": `cd "$(dirname -- "$0")"; sh ./x.sh`,
	}
	place := policy.Scope{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u", Read: func(path string) (string, bool) { text, ok := files[path]; return text, ok }}
	for command, file := range map[string]string{
		"sh a.sh": "/w/lib/l.sh", "sh b.sh": "/w/lib/l.sh", "sh c.sh": "/w/lib/l.sh",
		"sh d.sh": "/w/x.sh", "python3 s.py": "/w/m.py", "python3 ./s.py": "/w/p/__init__.py",
		"BASH_ENV=x.sh bash -c :": "/w/x.sh", "export ENV=x.sh; sh -i": "/w/x.sh",
		"while read l; do $l; done < x.sh": "/w/x.sh", `while read l; do eval "$l"; done < x.sh`: "/w/x.sh",
		`mapfile -t L < x.sh; eval "${L[0]}"`: "/w/x.sh", "ls x.sh | xargs sh": "/w/x.sh",
		"cp x.sh /tmp/g; sh /tmp/g": "/w/x.sh", "mv x.sh g; ./g": "/w/x.sh", "ln -s x.sh g && . ./g": "/w/x.sh", "install -m 755 x.sh /tmp/d; /tmp/d/x.sh": "/w/x.sh",
		"cp -r lib /tmp/l; sh /tmp/l/l.sh": "/w/lib/l.sh", "cp -r lib /tmp/l; cd /tmp/l/lib; sh l.sh": "/w/lib/l.sh", "cp -t /tmp x.sh; sh /tmp/x.sh": "/w/x.sh",
		"cp *.sh /tmp/d; sh /tmp/d/x.sh": "/w/*.sh", "cat x.sh > g; sh g": "/w/x.sh", "sed s/a/b/ x.sh >> g; bash g": "/w/x.sh", "tee g < x.sh; sh g": "/w/x.sh",
		"cat x.sh | tee g; sh g": "/w/x.sh", "dd if=x.sh of=g; sh g": "/w/x.sh", "rsync -a lib/ /tmp/l; sh /tmp/l/l.sh": "/w/lib/l.sh",
		"cp x.sh a1; cp a1 b1; sh b1": "/w/x.sh", "cp m.py /tmp/m; python3 /tmp/m": "/w/m.py", "cp x.sh g; cat g | sh": "/w/x.sh",
	} {
		if v := policy.Command("rm -rf y; "+command, place); !slices.Contains(v.Files, file) {
			t.Errorf("%s: runs %q", command, v.Files)
		}
	}
}

// A remembered approval covers the files whose content the approved command runs. If they cannot be
// named, it is valid only once.
func TestKeysCoverFiles(t *testing.T) {
	t.Parallel()
	place := policy.Scope{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u", Read: func(path string) (string, bool) {
		text, ok := map[string]string{"/w/Makefile": "x:\n\tgit push -f\n", "/w/a.sh": ". ./b.sh\n"}[path]
		return text, ok
	}}
	for command, want := range map[string]struct {
		key   string
		files []string
		once  bool
	}{
		"sudo -s sh x.sh":                                   {"sudo -s sh x.sh", nil, false}, // the program it runs is unknown
		"sudo make x":                                       {"sudo make x", []string{"/w/GNUmakefile", "/w/makefile", "/w/Makefile"}, false},
		"GIT_EDITOR=./e sh a.sh":                            {"GIT_EDITOR=./e sh a.sh", []string{"/w/a.sh", "/w/b.sh", "/w/e"}, false},
		"PAGER=./p sh a.sh; rm -rf y":                       {"rm -rf y", nil, false},
		"make x; rm -rf y":                                  {"rm -rf y", nil, false},
		"sudo sh < a.sh":                                    {"sudo sh", []string{"/w/a.sh", "/w/b.sh"}, false},
		"while read l; do $l; done < x.sh":                  {"while read l; do $l; done < x.sh", []string{"/w/x.sh"}, false},
		"find . -name '*.sh' -exec sh {} +":                 {"find . -name '*.sh' -exec sh '{}' +", nil, true},
		"find . -name '*.sh' -exec sudo sh {} ';'":          {"find . -name '*.sh' -exec sudo sh '{}' ';'", nil, true},
		"ls | xargs sh":                                     {"xargs sh", nil, true},
		"ls | xargs -I{} bash -e {}":                        {"xargs '-I{}' bash -e '{}'", nil, true},
		"fd -e py -x python3":                               {"fd -e py -x python3", nil, true},
		"GIT_SSH=./x.sh git fetch":                          {"GIT_SSH=./x.sh git fetch", []string{"/w/x.sh"}, false},
		"export PAGER='./x.sh -a'":                          {"'PAGER=./x.sh -a'", []string{"/w/x.sh"}, false},
		"git -c core.fsmonitor=./x.sh status":               {"git -c core.fsmonitor=./x.sh status", []string{"/w/x.sh"}, false},
		"rm -rf y; for f in *.sh; do sh $f; done":           {"rm -rf y", nil, false},
		"PERL5OPT=-x find . -name '*.pl' -exec perl {} ';'": {"PERL5OPT=-x find . -name '*.pl' -exec perl '{}' ';'", nil, true},
	} {
		v := policy.Command(command, place)
		got := slices.Clone(v.KeyFiles[want.key])
		slices.Sort(got)
		slices.Sort(want.files)
		if v.Level != policy.Asks || !slices.Contains(v.Keys, want.key) || !slices.Equal(got, want.files) || v.Once != want.once {
			t.Errorf("%s: %s, keys %q, files %q, once %v", command, v.Level, v.Keys, v.KeyFiles, v.Once)
		}
	}
}
