package clean

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                              "",
		"plain ~ text,\n\tin two lines": "plain ~ text,\n\tin two lines",
		"a\x1b[2Jb\x7fc\rd\x00":         "abcd",
		"Zürich 日本\u200b\u202e\ufeff\U000e0041": "Zürich 日本",
		"a\xffb\ufffdc": "abc",
	} {
		if got := Text(in, 100); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for limit, want := range map[int]string{5: "abcde", 3: "abc…", 0: "…"} {
		if got := Text("abcde", limit); got != want {
			t.Errorf("cut at %d: %q", limit, got)
		}
	}
	if got := Text("aü", 2); got != "a…" {
		t.Errorf("cut in a letter: %q", got)
	}
}
