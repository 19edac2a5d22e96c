package syntax

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	ServeHelper()
	os.Exit(m.Run())
}

// deep returns texts nested as deeply as their length allows.
func deep(size int) map[string]string {
	files := map[string]string{}
	for ext, units := range map[string][]string{
		".yaml": {"[", "{", "- ", "? ", "a: ", "!a ", "---\n", "&a "},
		".toml": {"a.", "a=[", "a={b=", "[[", "[a."},
		".json": {"[", `{"a":`},
		".go":   {"(", "func(){", "[]", "*", "-"},
	} {
		for _, unit := range units {
			text := strings.Repeat(unit, size/len(unit))
			switch {
			case ext == ".go":
				text = "package a\nvar x = " + text
			case unit == "a." && ext == ".toml":
				text += "a=1"
			}
			files[ext+" "+unit] = text
		}
	}
	return files
}

// A file of any shape is checked in little time, and this process needs no memory for it.
func TestDeep(t *testing.T) {
	testneed.Long(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Run("each", func(t *testing.T) {
		for name, text := range deep(400_000) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ext, _, _ := strings.Cut(name, " ")
				began := time.Now()
				Check(t.Context(), ext, []byte(text))
				if took := time.Since(began); took > 30*time.Second { // ten times the limit of the helper, for a busy machine
					t.Errorf("it took %v", took)
				}
			})
		}
	})
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
		t.Errorf("%d MB were allocated", used)
	}
}

// Short files are checked in this process, and need little memory and processor time.
func TestShortDeep(t *testing.T) {
	for name, text := range deep(shortText - 30) {
		ext, _, _ := strings.Cut(name, " ")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := cpuTime()
		Check(t.Context(), ext, []byte(text))
		runtime.ReadMemStats(&after)
		if used := int64(after.TotalAlloc+after.StackSys-before.TotalAlloc-before.StackSys) >> 20; used > 64 || cpuTime()-began > 2*time.Second {
			t.Errorf("%q: %d MB, %v", name, used, cpuTime()-began)
		}
	}
}

// A long file is parsed like a short file.
func TestLong(t *testing.T) {
	for ext, parts := range map[string][2]string{
		".json": {"[" + strings.Repeat("1,\n", 3000) + "1]", "\n]"},
		".go":   {"package a\n" + strings.Repeat("// x\n", 1000), "func {"},
		".yaml": {strings.Repeat("- a\n", 1000), "- [b\n"},
		".toml": {strings.Repeat("# a\n", 1000), "a = \n"},
	} {
		if found := Check(t.Context(), ext, []byte(parts[0])); len(found) > 0 {
			t.Errorf("%s: what is right is said to be wrong: %v", ext, found)
		}
		if found := Check(t.Context(), ext, []byte(parts[0]+parts[1])); len(found) == 0 || found[0].Line < 1000 {
			t.Errorf("%s: found %v", ext, found)
		}
	}
}
