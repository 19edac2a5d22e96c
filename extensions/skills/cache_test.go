package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A second search finds the first search's results in the cache. If the cache is broken, it reads
// the files again.
func TestCache(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for i := range 30 {
		write(t, home, fmt.Sprintf("skills/k%d/s%d/SKILL.md", i%3, i), fmt.Sprintf("---\nname: s%d\ndescription: Does %d.\nargument-hint: h%d\nmetadata: {hermes: {tags: [a, b%d], requires_tools: [x]}}\n---\n", i, i, i, i))
	}
	write(t, home, "skills/plain/SKILL.md", skillText("plain", "Has no more."))
	write(t, home, "skills/broken/SKILL.md", "---\nname: [\n---\n")
	l := Library{Home: home}
	first := l.Find(t.Context())
	file := filepath.Join(home, "cache", cacheName)
	whole, err := os.ReadFile(file)
	if err != nil || len(first.Skills) != 31 || len(first.LeftOut) != 1 {
		t.Fatalf("%d skills, %d left out, %v", len(first.Skills), len(first.LeftOut), err)
	}
	if c := openCache(home); len(c.stored) != 32 {
		t.Errorf("%d entries", len(c.stored))
	}
	if again := l.Find(t.Context()); !reflect.DeepEqual(again, first) {
		t.Errorf("%v, not %v", again, first)
	}
	for _, data := range [][]byte{
		nil, whole[:3], whole[:4], whole[:300], whole[:len(whole)/2], whole[:len(whole)-1], []byte("{}"), []byte("[]"), []byte(`{"a":5}`), slices.Repeat([]byte{0xff}, 100),
		slices.Concat(whole[:10], slices.Repeat([]byte{0xff}, 10), whole[20:]), slices.Concat(whole[:len(whole)/2], slices.Repeat([]byte{0xff}, 20), whole[len(whole)/2+20:]),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if again := l.Find(t.Context()); !reflect.DeepEqual(again, first) {
			t.Errorf("with a broken cache of %d bytes: %v, not %v", len(data), again, first)
		}
	}
}

// The frontmatter is read from the head of the file, or from all of it if it is longer.
func TestLongFrontmatter(t *testing.T) {
	t.Parallel()
	for n := 4060; n < 4110; n++ {
		home, word := t.TempDir(), strings.Repeat("x", n)
		for name, text := range map[string]string{
			"a": "---\ndescription: D\nhint: " + word + "\nargument-hint: H\n---\nBody.\n",
			"b": "---\r\ndescription: D\r\nhint: " + word + "\r\nargument-hint: H\r\n---\r\n",
			"c": "---\ndescription: D\nargument-hint: H\nhint: " + word + "\n---more\n",
		} {
			write(t, home, "skills/"+name+"/SKILL.md", text)
		}
		f := Library{Home: home}.Find(t.Context())
		if len(f.Skills) != 2 || f.Skills[0].Meta.Hint != "H" || f.Skills[1].Meta.Hint != "H" || len(f.LeftOut) != 1 || !strings.Contains(f.LeftOut[0].Problem, `no second line "---"`) {
			t.Fatalf("%d bytes: %d skills, left out %+v", n, len(f.Skills), f.LeftOut)
		}
	}
}
