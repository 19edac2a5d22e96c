package hooks

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestPage checks that docs/hooks.md lists each event with its names, and each key of a hook.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for e, others := range names {
		for _, name := range append([]string{string(e)}, others...) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/hooks.md does not have the event %s", name)
			}
		}
	}
	fields := reflect.TypeFor[entry]()
	for i := range fields.NumField() {
		if key := fields.Field(i).Tag.Get("json"); !strings.Contains(string(text), "| `"+key+"` |") {
			t.Errorf("docs/hooks.md does not have the key %s", key)
		}
	}
}
