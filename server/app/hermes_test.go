package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
)

// The whole default configuration of Hermes Agent causes no notice. In a file written by it, keys
// of newer versions cause none either, but mistakes in our keys do.
func TestHermesConfiguration(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile("testdata/hermes-0.19.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"0.19": {string(whole), ""},
		"newer": {"_config_version: 50\ndatabase: {journal_mode: wal}\nruntime: {nofile_soft_limit: 4096}\nsession: {terminal_continue: true}\nattachments: {storage: x}\nbrand_new: {a: 1}\n" +
			"agent: {budget_warning_ratio: null, run_budget_seconds: 3, agent_cache: {max_size: 128}, empty_response_guard: {enabled: true}}\nskills: {some_new_thing: 1}\nplugins: {clone_timeout_seconds: 300}\nauxiliary: {transient_retries: 2}\n", ""},
		"a mistake": {"_config_version: 50\nmodel: {defualt: x}\n", "model.defualt is an unknown key (did you mean default?)"},
		"not of it": {"brand_new: 1\n", "brand_new is an unknown key"},
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := Config().Load(home, config.Options{})
		all := ""
		for _, p := range l.Problems {
			all += p.String() + "\n"
		}
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: %s", name, all)
		}
	}
}
