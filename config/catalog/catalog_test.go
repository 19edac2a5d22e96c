package catalog_test

import (
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/config/catalog"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, id string
		known        bool
		input        float64
	}{
		{"anthropic", "claude-haiku-4-5-20251001", true, 1},
		{"anthropic", "claude-haiku-4-5", true, 1},
		{"anthropic", "claude-haiku-4-5-20990101", true, 1},
		{"anthropic", "claude-haiku", false, 0},
		{"openai", "gpt-5.5", true, 5},
		{"openai", "gpt-5.5-2026-04-23", true, 5},
		{"openai", "gpt-5.5-mini", false, 0},
		{"custom", "gpt-5.5", false, 0},
	} {
		m, known := catalog.Lookup(c.provider, c.id)
		if known != c.known || known && (m.Price == nil || m.Price.Input != c.input || m.Window < 100_000) {
			t.Errorf("%s %s: %+v, %v", c.provider, c.id, m, known)
		}
	}
	if m, _ := catalog.Lookup("anthropic", "claude-haiku-4-5"); m.Price.CacheRead != 0.1 || m.Price.CacheWrite != 1.25 {
		t.Errorf("prices of cached tokens: %+v", m.Price)
	}
}

// The table is small, and each provider with models is in the list.
func TestTable(t *testing.T) {
	t.Parallel()
	info, err := os.Stat("models.json")
	if err != nil || info.Size() > 100<<10 {
		t.Errorf("models.json: %v, %v; want at most 100 KB", info.Size(), err)
	}
	if len(catalog.Date()) != len("2026-01-01") {
		t.Errorf("date %q", catalog.Date())
	}
	seen := map[string]bool{}
	for _, p := range catalog.Providers() {
		if seen[p.Name] || p.API == "" || len(p.Keys) == 0 && !p.NoKey {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		for _, m := range catalog.Models(p.Name) {
			if m.ID == "" || m.Window < 0 || m.Price != nil && m.Price.Input < 0 {
				t.Errorf("%s: %+v", p.Name, m)
			}
		}
	}
	if len(catalog.Models("openrouter")) < 100 || len(catalog.Models("openai")) < 10 {
		t.Error("models are missing")
	}
}
