package config

import (
	"maps"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home+"/.env", "A_TOKEN=from-file\nB_TOKEN=file-too\n")
	write(t, Path(home), "model: {api_key: [k1, k2]}\nweb: {search: {api_key: s}}\ndelegation: {api_key: d, routes: {fast: {api_key: r}}}\n")
	got := Load(home, Options{Environ: []string{"A_TOKEN=from-process", "PATH=/bin"}}).Secrets(func(name string) bool { return strings.Contains(name, "TOKEN") })
	want := map[string]string{
		"A_TOKEN": "from-process", "B_TOKEN": "file-too", "model.api_key": "k1", "model.api_key 2": "k2",
		"web.search.api_key": "s", "delegation.api_key": "d", "delegation.routes.fast.api_key": "r",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
