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

// TestAbout checks facts about models missing from a provider's table.
func TestAbout(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int{"gpt-5": 400000, "gpt-5-chat-latest": 128000, "anthropic/claude-sonnet-4.5": 200000, "Qwen3-Coder:30b": 262144, "unheard-of": 0} {
		if got := catalog.About("custom", id); got.Window != want || got.Price != nil {
			t.Errorf("%s: %+v, want the window %d", id, got, want)
		}
	}
	for id, want := range map[string]bool{
		"gpt-5": true, "openai/gpt-4o-mini": true, "anthropic/claude-sonnet-4.5": true, "llama3.2-vision:11b": true, "qwen/qwen2.5-vl-72b": true,
		"o1-mini": false, "x/o3-mini": false, "gemma3:1b": false,
	} {
		if got := catalog.About("custom", id).Images; got == nil || *got != want {
			t.Errorf("%q accepts images: %v", id, got)
		}
	}
	for _, id := range []string{"hermes-4", ""} {
		if got := catalog.About("custom", id).Images; got != nil {
			t.Errorf("%q accepts images: %v", id, *got)
		}
	}
	if got := catalog.About("openai", "gpt-5-2025-08-07"); got.Price == nil || got.Price.Input != 1.25 || got.Window != 400000 {
		t.Errorf("of the provider's table: %+v", got)
	}
}
