//go:build e2e

package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMCPRequirements runs the scenarios required by the official conformance suite for clients of
// the revision 2026-07-28, against `hermes-ls mcp`: logins, and calls of tools.
func TestMCPRequirements(t *testing.T) {
	t.Parallel()
	node, folder := newNode(t), filepath.Join(root(t), "e2e", "node")
	suite := filepath.Join(nodeModules(t), "@modelcontextprotocol", "conformance")
	for _, scenario := range required(t, filepath.Join(suite, "requirements", "2026-07-28.yaml")) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": ""})
			results := t.TempDir()
			out := b.output(t, node, filepath.Join(suite, "dist", "index.js"),
				"client", "--scenario", scenario, "--spec-version", "2026-07-28", "--timeout", "80000", "-o", results,
				"--command", node+" "+filepath.Join(folder, "mcpcli.mjs"))
			checks, passed := checksBelow(t, results), 0
			for _, c := range checks {
				if c.Status == "SUCCESS" {
					passed++
				}
				if c.Status == "FAILURE" || c.Status == "WARNING" {
					t.Errorf("%s: %s %s", c.ID, c.Description, c.ErrorMessage)
				}
			}
			if passed == 0 {
				t.Errorf("nothing was checked: %+v\n%s", checks, out)
			}
		})
	}
}

type conformanceCheck struct{ ID, Status, Description, ErrorMessage string }

// checksBelow returns the suite's checks below a folder.
func checksBelow(t *testing.T, folder string) (all []conformanceCheck) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &all)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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
