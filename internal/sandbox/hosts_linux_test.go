package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

func enterHost() { proctest.Enter() }

// hosts are more restricted than the test machine. Each is listed with the working mechanism for an
// ordinary user and for root.
var hosts = []struct {
	name       string
	host       proctest.Host
	user, root Kind
	words      string // of the text there
}{
	{"no Landlock", proctest.Host{NoLandlock: true}, Namespaces, Namespaces, "enforced by mount and process namespaces"},
	{"no user namespaces", proctest.Host{NoUserNamespaces: true}, Landlock, Landlock, "modes, times"},
	{"no user namespaces, set-uid bubblewrap", proctest.Host{NoUserNamespaces: true, SetUIDBubblewrap: true}, Bubblewrap, Landlock, "enforced by"},
	{"set-uid bubblewrap alone", proctest.Host{NoUserNamespaces: true, NoLandlock: true, SetUIDBubblewrap: true}, Bubblewrap, None, ""},
	{
		"nothing", proctest.Host{NoUserNamespaces: true, NoLandlock: true, NoBubblewrap: true}, None, None,
		"User namespaces are off (user.max_user_namespaces=0) and Landlock is missing. Install bubblewrap",
	},
	{
		"bubblewrap that cannot do more", proctest.Host{NoUserNamespaces: true, NoLandlock: true}, None, None,
		"User namespaces are off (user.max_user_namespaces=0) and Landlock is missing. Bubblewrap is installed, but does not work either",
	},
	{"Docker", proctest.Host{Docker: true, NoBubblewrap: true}, Landlock, Landlock, "enforced by Landlock"},
	{
		"Docker without Landlock", proctest.Host{Docker: true, NoLandlock: true}, None, None,
		"User namespaces are blocked by a seccomp filter, as in a container, and Landlock is missing",
	},
}

// hostKind and hostWords name the expected mechanism and words for a test on a host.
const (
	hostKind  = "HERMES_LS_TEST_KIND"
	hostWords = "HERMES_LS_TEST_WORDS"
)

func TestHosts(t *testing.T) {
	testneed.Long(t)
	if proctest.Again() {
		t.Skip("only root can make another host: root runs this test, too")
	}
	testneed.Root(t)
	for _, tt := range hosts {
		for name, kind := range map[string]Kind{"user": tt.user, "root": tt.root} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				h := tt.host
				h.Root = name == "root"
				h.Tests(t, "^(TestOnHost|TestReadOnlyMode|TestDailyWork)$", hostKind+"="+string(kind), hostWords+"="+tt.words)
			})
		}
	}
}

// TestOnHost runs on each of them: the mechanism works, and its text is true.
func TestOnHost(t *testing.T) {
	kind := Kind(os.Getenv(hostKind))
	if kind == "" {
		t.Skip("TestHosts runs it")
	}
	m := Detect(t.Context())
	p := Policy{Mode: WorkspaceWrite, Network: true}
	said := strings.Join(append([]string{m.Says(p)}, m.Gaps(p)...), ". ")
	t.Logf("%s: %s", m.Kind, said)
	if m.Kind != kind || !strings.Contains(said, os.Getenv(hostWords)) {
		t.Errorf("%s, want %s: %s", m.Kind, kind, said)
	}
	mode := WorkspaceWrite
	if m.Kind == None {
		mode = Off
	}
	v := newVictim(t, m, mode, true)
	v.run(`echo x > in; echo x > $OUT/new; cat ~/.ssh/id_ed25519 > got`)
	if v.lacks("ws/in") {
		t.Error("the workspace could not be written")
	}
	if held := v.lacks("out/new") && !v.has("ws/got", canary); held != (m.Kind != None) {
		t.Errorf("held: %v with %s", held, m.Kind)
	}
}
