//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMCPRequirements runs the scenarios that the official conformance suite requires of clients
// of the revision 2026-07-28, against `hermes-ls mcp`: logins, and calls of tools.
func TestMCPRequirements(t *testing.T) {
	t.Parallel()
	node, folder := newNode(t), filepath.Join(root(t), "e2e", "node")
	suite := filepath.Join(nodeModules(t), "@modelcontextprotocol", "conformance")
	for _, scenario := range required(t, filepath.Join(suite, "requirements", "2026-07-28.yaml")) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": ""})
			out := b.output(t, node, filepath.Join(suite, "dist", "index.js"),
				"client", "--scenario", scenario, "--spec-version", "2026-07-28", "--timeout", "100000", "-o", t.TempDir(),
				"--command", node+" "+filepath.Join(folder, "mcpcli.mjs"))
			if !strings.Contains(out, "0 failed, 0 warnings") || strings.Contains(out, "Passed: 0/0") {
				t.Errorf("the suite says\n%s", out)
			}
		})
	}
}

// required returns the client scenarios of a list of requirements.
func required(t *testing.T, file string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, clients, _ := strings.Cut(string(data), "\nclient:\n")
	clients, _, _ = strings.Cut(clients, "\nnot_scored:")
	for _, m := range regexp.MustCompile(`(?m)^  - (\S+)$`).FindAllStringSubmatch(clients, -1) {
		names = append(names, m[1])
	}
	if len(names) != 32 {
		t.Fatalf("%d scenarios are required, and not 32: %v", len(names), names)
	}
	return names
}
