//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMCPConformance runs the official conformance suite of the Model Context Protocol against the
// MCP client: every scenario without a login, if the client's own model can play it. Expected
// failures are listed in node/expected-failures.yaml.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	node, folder := newNode(t), filepath.Join(root(t), "e2e", "node")
	for _, scenario := range []string{
		"initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults", // revision 2025-11-25
		"request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers",
		"http-invalid-tool-headers", "json-schema-ref-no-deref", // revision 2026-07-28
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": ""})
			out := b.output(t, node, filepath.Join(nodeModules(t), "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"client", "--scenario", scenario, "--command", node+" "+filepath.Join(folder, "mcpclient.mjs"),
				"--expected-failures", filepath.Join(folder, "expected-failures.yaml"), "--timeout", "60000", "-o", t.TempDir())
			if !strings.Contains(out, "Baseline check passed") || strings.Contains(out, "Passed: 0/0") {
				t.Errorf("the suite says\n%s", out)
			}
		})
	}
}
