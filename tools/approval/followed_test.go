package approval_test

import (
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// Files whose content a command runs in roundabout ways are bound to a yes.
func TestRunsFilesInRoundaboutWays(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/x.sh": "echo x\n", "/w/lib/l.sh": "echo l\n", "/w/m.py": "print(1)\n", "/w/p/__init__.py": "", "/w/s.py": "import os, m as n\nfrom p.q import r\n",
		"/w/a.sh": `. "$(dirname "$0")/lib/l.sh"`, "/w/b.sh": `. "$(dirname "${BASH_SOURCE[0]}")/lib/l.sh"`,
		"/w/c.sh": `here=$(cd "$(dirname "$0")" && pwd); source "$here/lib/l.sh"`, "/w/d.sh": `cd "$(dirname -- "$0")"; sh ./x.sh`,
	}
	place := approval.Place{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u", Read: func(path string) (string, bool) { text, ok := files[path]; return text, ok }}
	for command, file := range map[string]string{
		"sh a.sh": "/w/lib/l.sh", "sh b.sh": "/w/lib/l.sh", "sh c.sh": "/w/lib/l.sh",
		"sh d.sh": "/w/x.sh", "python3 s.py": "/w/m.py", "python3 ./s.py": "/w/p/__init__.py",
		"BASH_ENV=x.sh bash -c :": "/w/x.sh", "export ENV=x.sh; sh -i": "/w/x.sh",
		"while read l; do $l; done < x.sh": "/w/x.sh", `while read l; do eval "$l"; done < x.sh`: "/w/x.sh",
		`mapfile -t L < x.sh; eval "${L[0]}"`: "/w/x.sh", "ls x.sh | xargs sh": "/w/x.sh",
	} {
		if v := approval.Command("rm -rf y; "+command, place); !slices.Contains(v.Files, file) {
			t.Errorf("%s: runs %q", command, v.Files)
		}
	}
}
