package config

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestRemovedEntry removes each entry of sections in both styles. The others and the rest of the file stay.
func TestRemovedEntry(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"lines":         "a: 1\nmcp_servers:\n  one:\n    command: x\n  two: {url: 'https://x'}\nz: 2\n",
		"braces":        "a: 1\nmcp_servers: {one: {command: x, args: [a, b]}, two: {url: 'https://x'}, three: {}} # mine\nz: 2\n",
		"one":           "mcp_servers: {one: {command: x}}\nz: 2\n",
		"quoted":        "mcp_servers: {\"o, n}e\": {command: \"x, }\"}, 'two': {env: {ä: 'ö, }'}} }\n",
		"several lines": "mcp_servers: {\n  one: {command: x},\n  two: {\n    url: y\n  },\n  three: {command: z}\n}\nz: 2\n",
		"last comma":    "mcp_servers: {one: {command: x}, two: {command: y},}\nz: 2\n",
	} {
		var before map[string]any
		if err := yaml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatal(err)
		}
		for _, entry := range slices.Sorted(maps.Keys(before["mcp_servers"].(map[string]any))) {
			t.Run(name+"/"+entry, func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				if err := os.WriteFile(Path(home), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if removed, err := RemoveEntry(home, "mcp_servers", entry); !removed || err != nil {
					t.Fatalf("removed %v, error %v", removed, err)
				}
				data, err := os.ReadFile(Path(home))
				if err != nil {
					t.Fatal(err)
				}
				var got, want map[string]any
				_ = yaml.Unmarshal([]byte(text), &want)
				delete(want["mcp_servers"].(map[string]any), entry)
				if err := yaml.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("error %v; the file is\n%s", err, data)
				}
			})
		}
	}
}

// TestEntryBesideAComment: an edit that could take a comment for a part of the entry is left to the user.
func TestEntryBesideAComment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	text := "mcp_servers: {\n  one: {command: x} # the first\n  , two: {command: y}\n}\n"
	if err := os.WriteFile(Path(home), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := RemoveEntry(home, "mcp_servers", "one")
	data, _ := os.ReadFile(Path(home))
	if removed || err == nil || string(data) != text {
		t.Errorf("removed %v, error %v; the file is\n%s", removed, err, data)
	}
}
