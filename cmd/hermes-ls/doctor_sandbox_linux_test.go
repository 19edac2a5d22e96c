package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// init enters a process of another host before other code of the test binary runs.
func init() { proctest.Enter() }

// doctorSays is the variable with the doctor's text for TestDoctorOnHost.
const doctorSays = "HERMES_LS_TEST_DOCTOR"

// TestDoctorOnHosts checks the doctor's explanation of a missing sandbox, the steps to get one, and
// the gaps of a weak sandbox.
func TestDoctorOnHosts(t *testing.T) {
	if proctest.Again() {
		t.Skip("only root can make another host: root runs this test, too")
	}
	testneed.Root(t)
	for _, tt := range []struct {
		name string
		host proctest.Host
		temp string
		want string
	}{
		{"all of it", proctest.Host{}, "/tmp", "ok: workspace-write, enforced by mount and process namespaces"},
		{"no temporary folder", proctest.Host{}, "/no/such/folder", "fail: commands are rejected, because the sandbox cannot be tried: making the session's temporary folder"},
		{
			"nothing", proctest.Host{NoUserNamespaces: true, NoLandlock: true, NoBubblewrap: true}, "/tmp",
			"note: workspace-write. Not enforced: commands run with your own rights, because no sandbox works on this host. " +
				"User namespaces are off (user.max_user_namespaces=0) and Landlock is missing. Install bubblewrap",
		},
		{"Landlock", proctest.Host{Docker: true, NoBubblewrap: true}, "/tmp", "modes, times and other attributes of files everywhere"},
	} {
		for _, root := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				h := tt.host
				h.Root = root
				h.Tests(t, "^TestDoctorOnHost$", doctorSays+"="+tt.want, "TMPDIR="+tt.temp)
			})
		}
	}
}

func TestDoctorOnHost(t *testing.T) {
	want := os.Getenv(doctorSays)
	if want == "" {
		t.Skip("TestDoctorOnHosts runs it")
	}
	home := filepath.Join(os.Getenv("HOME"), ".hermes") // not a temporary directory, which may be missing
	f := sandboxFinding(t.Context(), app.Config().Load(home, config.Options{}))
	if got := string(f.State) + ": " + f.Text; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %q in it", got, want)
	}
}
