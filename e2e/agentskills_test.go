//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAgentSkills checks the skills in the binary with the validator of agentskills.io. It compares
// the validator with `skills validate --strict` on an invalid skill.
func TestAgentSkills(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	python := pythonClient(t)
	validate := func(dir string) ([]byte, error) {
		return exec.CommandContext(t.Context(), python, filepath.Join(filepath.Dir(python), "agentskills"), "validate", dir).CombinedOutput()
	}
	hermes := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), b.binary, args...)
		cmd.Dir, cmd.Env = b.workspace, b.environ()
		return cmd.Output()
	}
	out, err := hermes("skills", "list", "--json")
	var list struct {
		Skills []struct{ Name, Path string }
	}
	if err != nil || json.Unmarshal(out, &list) != nil || len(list.Skills) < 8 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range list.Skills {
		dir := filepath.Join(root(t), "extensions", "skills", filepath.Dir(s.Path))
		if out, err := validate(dir); err != nil {
			t.Errorf("%s: %s", s.Name, out)
		}
	}
	dir := filepath.Join(b.workspace, "wrong")
	write(t, filepath.Join(dir, "SKILL.md"), "---\nname: Other_Name\ndescription: x\n---\nText.\n")
	_, theirs := validate(dir)
	if out, ours := hermes("skills", "validate", dir, "--strict"); theirs == nil || ours == nil {
		t.Errorf("a wrong skill: %v, %v: %s", theirs, ours, out)
	}
}
