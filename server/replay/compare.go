package replay

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/diff"
)

// volatileFields are fields of results with a new value in each run.
var volatileFields = []string{"duration_seconds", "total_duration_seconds", "pid", "session_id", "started_at"}

// changing finds parts of outputs with a new value in each run: durations, times, memory addresses.
var changing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds)\b|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d\b|\b0x[0-9a-f]{6,16}\b|\(cached\)`)
})

// difference is a diff between two results, empty when they say the same.
func difference(then, now string) string {
	diff := diff.Unified("result", readable(then), readable(now))
	if _, hunks, ok := strings.Cut(diff, "\n@@"); ok {
		return "--- then\n+++ now\n@@" + hunks
	}
	return diff
}

// readable returns a result as lines for a comparison.
func readable(result string) []byte {
	var v any
	if json.Unmarshal([]byte(result), &v) != nil {
		return append([]byte(result), '\n')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(withoutVolatile(v)); err != nil {
		return append([]byte(result), '\n')
	}
	// Texts of many lines are compared by line.
	return bytes.ReplaceAll(b.Bytes(), []byte(`\n`), []byte("\n"))
}

// withoutVolatile removes the volatile fields.
func withoutVolatile(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if slices.Contains(volatileFields, name) {
				delete(v, name)
				continue
			}
			v[name] = withoutVolatile(inner)
		}
	case []any:
		for i := range v {
			v[i] = withoutVolatile(v[i])
		}
	case string:
		if said, _, ok := strings.Cut(v, " Available: "); ok && strings.HasPrefix(v, "Unknown tool") {
			return said // a replay offers other tools
		}
		return changing().ReplaceAllString(v, "…")
	}
	return v
}
