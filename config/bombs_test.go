package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bombs are texts on which a parser without limits takes all memory or time.
func bombs() map[string]string {
	many := func(s string) string { return strings.Repeat(s, 60_000/len(s)) }
	lines := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < 200_000; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	indented := strings.Builder{}
	for i := range 600 {
		indented.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	return map[string]string{
		"lists":          many("["),
		"listed":         "agent: " + many("[a, "),
		"maps":           many("{"),
		"mapped":         many("{a: "),
		"entries":        many("- "),
		"keys":           many("? "),
		"values":         many("a: "),
		"tags":           many("!"),
		"tagged":         many("!a "),
		"anchors":        many("&a "),
		"dashes":         many("-"),
		"documents":      many("---\na\n"),
		"indented":       indented.String(),
		"laughs":         laughs,
		"merged":         strings.NewReplacer("[", "{<<: [", "]", "]}").Replace(laughs),
		"itself":         "a: &a [*a]\n",
		"itself, mapped": "a: &a\n  b: *a\n",
		"merges":         many("<<: "),
		"flow list":      "a: [" + strings.Repeat("a, ", 80_000) + "]\n",
		"many keys":      lines("k%d: v\n"),
		"many anchors":   lines("k%d: &a v\n"),
		"many aliases":   "a: &a [1, 2]\nb:\n" + many("- *a\n"),
		"one long line":  "a: " + strings.Repeat("x ", 120_000),
		"one long key":   strings.Repeat("x", 250_000) + ": 1\n",
		"closing":        many("]"),
		"quotes":         many("\""),
		"bars":           many("|\n"),
		"comments":       strings.Repeat("# a\n", 60_000) + "a: b\n",
		"too large":      strings.Repeat("# a\n", 100_000),
		"tabs":           strings.Repeat("\t", 60_000),
		"fewer keys":     strings.Repeat("k: v\n", 6_500),
		"fewer lines":    lines("k%d: v\n")[:50_000] + "\n",
		"fewer entries":  "a:\n" + strings.Repeat("- a\n", 9_900),
		"fewer values":   "a: [" + strings.Repeat("a, ", 9_900) + "]\n",
		"number":         "agent: {max_turns: 1e999999999}\n",
	}
}

// TestBombs checks that a configuration with such a text is read fast, in any of the files. The
// settings of the other sources still apply.
func TestBombs(t *testing.T) {
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			home, folder := t.TempDir(), t.TempDir()
			for _, file := range []string{Path(home), filepath.Join(folder, ".hermes", "config.yaml")} {
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			l := Load(home, Options{Folders: []string{folder}, Environ: []string{"HERMES_MODEL_DEFAULT=mine"}})
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 400 {
				t.Errorf("%d MB were allocated", used)
			}
			if took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v, %d MB, %d problems, the first: %.200s", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, len(l.Problems), fmt.Sprint(append(l.Problems, Problem{})[0]))
			if len(l.Problems) > 100 {
				t.Errorf("%d problems", len(l.Problems))
			}
			if l.Model.Default != "mine" {
				t.Errorf("model.default is %q", l.Model.Default)
			}
		})
	}
}
