package config

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// docs/configuration.md names every key: in its YAML, or dotted in its text.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, word := range regexp.MustCompile("`([a-z_]+(\\.[a-z_]+)*)`").FindAllStringSubmatch(string(page), -1) {
		documented[word[1]] = true
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(block[1]), &tree); err != nil {
			t.Fatalf("%v in\n%s", err, block[1])
		}
		noteKeys("", tree, documented)
	}
	leaves(func(key string, _ field) {
		if !documented[key] {
			t.Errorf("%s is not in docs/configuration.md", key)
		}
	})
	for key := range documented {
		section, _, dotted := strings.Cut(key, ".")
		_, known := lookup(key)
		if _, ours := lookup(section); dotted && ours && !known {
			t.Errorf("docs/configuration.md names %s, which is no key", key)
		}
	}
}

func noteKeys(prefix string, tree map[string]any, into map[string]bool) {
	for name, value := range tree {
		into[prefix+name] = true
		if below, ok := value.(map[string]any); ok {
			noteKeys(prefix+name+".", below, into)
		}
	}
}
