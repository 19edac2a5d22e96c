package file

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// A change in a minified file takes few tokens of the context window, and is visible.
func TestBriefDiff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é=1;", 200_000)
	p := newPlace(t, map[string]string{"min.js": "a\n" + long + "needle();" + long + "\nb\n"})
	diff := as[patchOut](t, p.call(t, "patch", `{"path":"min.js","old_string":"needle();","new_string":"pin();"}`)).Diff
	if len(diff) > 5_000 || !utf8.ValidString(diff) {
		t.Fatalf("%d bytes: %.300s", len(diff), diff)
	}
	for _, want := range []string{"\n a\n", "é=1;needle();é=1;", "é=1;pin();é=1;", " bytes]\n", "\n b\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("no %q in %s", want, diff)
		}
	}
	var before, want strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "line %d with an old word\n", i)
		fmt.Fprintf(&want, "line %d with a new word\n", i)
	}
	p = newPlace(t, map[string]string{"f": before.String()})
	diff = as[patchOut](t, p.call(t, "patch", `{"path":"f","old_string":"an old","new_string":"a new","replace_all":true}`)).Diff
	if got := p.text(t, "f"); got != want.String() || len(diff) > diffBytes+200 || !strings.Contains(diff, "bytes left out") {
		t.Errorf("a diff of %d bytes", len(diff))
	}
}

func FuzzBriefDiff(f *testing.F) {
	f.Add("-"+strings.Repeat("é", 3000)+"x\n+"+strings.Repeat("é", 3000)+"y\n", 7)
	f.Add(" "+strings.Repeat("x", 5000), 0)
	f.Add("+"+strings.Repeat("x", 5000)+"\n", 3)
	f.Fuzz(func(t *testing.T, diff string, repeat int) {
		diff = strings.Repeat(diff, 1+repeat&7)
		if got := briefDiff(diff); len(got) > max(len(diff)+100, diffBytes+100) || utf8.ValidString(diff) && !utf8.ValidString(got) {
			t.Errorf("%d bytes of %d", len(got), len(diff))
		}
	})
}
