package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// If a backend is not available, no command runs here in its place. Tools are not offered if they
// would use other files than commands.
func TestBackendThatIsNotThere(t *testing.T) {
	t.Parallel()
	for backend, tt := range map[string]struct {
		config, says string
		files        bool
	}{
		"ssh":    {"terminal: {backend: ssh, ssh_host: \"-oProxyCommand=touch x\"}", "is no name of a machine", false},
		"dockr":  {"terminal: {backend: dockr}", "is not known; there are local, ssh", true},
		"a list": {"terminal: {backend: [docker]}", "is not known; there are local, ssh", true},
		"docker": {"terminal: {backend: docker, docker_image: \"\"}", "terminal.docker_image", true},
	} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(tt.config+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			m := fakemodel.Script(
				func(x *fakemodel.Exchange) { x.Call("1", "terminal", `{"command":"touch ran"}`); x.End() },
				func(x *fakemodel.Exchange) {
					x.Call("2", "terminal", `{"command":"touch ran","background":true}`)
					x.End()
				},
				answer("Done."),
			)
			x, g := session(t, open(t, Options{Home: home, Model: m, Static: true}), dir)
			prompt1(t, x, "go")
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("something ran here: %v", left)
			}
			last := m.Requests()[2]
			for _, i := range []int{len(last.Messages) - 1, len(last.Messages) - 3} {
				if text := last.Messages[i].Text(); !strings.Contains(text, tt.says) {
					t.Errorf("result %q", text)
				}
			}
			if all := strings.Join(g.notices(), "\n"); !strings.Contains(all, tt.says) {
				t.Errorf("told %q", all)
			}
			var names []string
			for _, tool := range last.Tools {
				names = append(names, tool.Name)
			}
			if slices.Contains(names, "read_file") != tt.files || !slices.Contains(names, "terminal") ||
				slices.Contains(names, "execute_code") != (backend == "docker") {
				t.Errorf("offered %q", names)
			}
		})
	}
}
