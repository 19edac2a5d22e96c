package editorconfig

import (
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ glob, match, differ string }{
		{"*", "a .x d/e.go", ""},
		{"*.go", "a.go d/a.go", "a.goo go"},
		{"a?.c", "ab.c", "a.c a/.c"},
		{"/*.go", "a.go", "d/a.go"},
		{"d/*.go", "d/a.go", "a.go x/d/a.go d/e/a.go"},
		{"d/**.go", "d/a.go d/e/a.go", "a.go"},
		{"d/**/a.go", "d/a.go d/e/f/a.go", "da.go d/ea.go"},
		{"**/a.go", "a.go d/a.go", "ba.go"},
		{"*.{c,h,{cc,hh}}", "a.c a.h a.cc d/a.hh", "a.cpp"},
		{"{Makefile,*.mk}", "Makefile d/x.mk", "Make"},
		{"a{,b}.c", "a.c ab.c", "aa.c"},
		{"{one}.c", "{one}.c", "one.c"},
		{"{a,b", "{a,b", "a b"},
		{"v{2..11}.c", "v2.c v11.c", "v1.c v12.c v02.c vx.c"},
		{"v{3..-2}.c", "v0.c v-2.c v+3.c", "v4.c"},
		{"v{1..999999999999}.c", "v123456789.c", "v0.c"},
		{"{a,v{1..3}}.c", "a.c v2.c", "v4.c"},
		{"[ab].c", "a.c b.c", "c.c ab.c"},
		{"[!ab].c", "c.c", "a.c d/.c"},
		{"[a-c].c", "b.c", "d.c -.c"},
		{"[]].c", "].c", "a.c"},
		{"[a/b].c", "[a/b].c", "a.c"},
		{"[a", "[a", "a"},
		{`\*.c`, "*.c", "a.c"},
		{`\{a,b\}`, "{a,b}", "a"},
		{"ä?.txt", "äö.txt", "ä.txt"},
		{"(x|y)+$", "(x|y)+$", "x"},
	} {
		for _, name := range strings.Fields(c.match) {
			if !match(c.glob, name) {
				t.Errorf("[%s] does not match %s", c.glob, name)
			}
		}
		for _, name := range strings.Fields(c.differ) {
			if match(c.glob, name) {
				t.Errorf("[%s] matches %s", c.glob, name)
			}
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, text string
		root       bool
		ends       string
	}{
		{"the later section counts", "[*]\nend_of_line=lf\n[*.go]\nend_of_line=crlf\n", false, "\r\n"},
		{"a byte order mark, CRLF, capitals, comments", "\ufeff; x\r\n# y\r\nROOT = True\r\n[*.go] ; code\r\nEnd_Of_Line = CRLF # for all\r\n", true, "\r\n"},
		{"root in a section is not root", "[*]\nroot=true\nend_of_line=crlf", false, "\r\n"},
		{"a setting outside of sections does not count", "end_of_line=crlf\n", false, ""},
		{"unset", "[*]\nend_of_line=crlf\n[*.go]\nend_of_line=unset", false, ""},
		{"an unknown value", "[*]\nend_of_line=vms", false, ""},
		{"invalid lines", "[\n]\n=\n[]\nend_of_line=lf\n[x\nend_of_line=lf\n[*.go]\nend_of_line=crlf\nfoo\n\x00\xff", false, "\r\n"},
		{"an invalid section hides no other", "[z-a]\n[[z-a].go]\nend_of_line=lf\n[*.go]\nend_of_line=crlf\n", false, "\r\n"},
	} {
		var s Settings
		if root := s.Add("d/a.go", []byte(c.text)); root != c.root || s.LineEnd() != c.ends {
			t.Errorf("%s: root %v, line end %q", c.what, root, s.LineEnd())
		}
	}
	var s Settings
	s.Add("a.go", []byte("[*.go]\nend_of_line=unset\ncharset=latin1\n"))
	s.Add("d/a.go", []byte("[*]\nend_of_line=crlf\ncharset=utf-8-bom\ninsert_final_newline=false\n"))
	want, set := s.FinalLineEnd()
	if s.LineEnd() != "" || s.Charset() != "latin1" || want || !set {
		t.Errorf("the nearer file does not win: %+v", s)
	}
}

// Hostile globs are matched until their steps reach the bound. An invalid glob is never matched.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a/", 2000) + strings.Repeat("a", 90)
	for what, section := range map[string]string{
		"many sections": "a*", "stars": strings.Repeat("*a", 500), "double stars": strings.Repeat("**a", 300),
		"deep braces": strings.Repeat("{a,", 300) + strings.Repeat("}", 300), "ranges": strings.Repeat("{1..99999999}", 70),
		"a long section": strings.Repeat("x", 5000), "open braces": strings.Repeat("{", 1000), "classes": strings.Repeat("[!a]", 250),
	} {
		var settings Settings
		settings.Add(name, []byte(strings.Repeat("["+section+"]\nend_of_line=crlf\n", Limit/(len(section)+20))))
		if len(section) <= maxGlob && settings.steps < maxSteps {
			t.Errorf("%s: %d steps: too few to need the bound", what, settings.steps)
		}
		// A regular expression takes time in proportion to its length.
		glob := translator{in: []rune(section), braces: balanced(section)}
		if glob.all(); glob.out.Len() > 30*len(section) {
			t.Errorf("%s: %d bytes of a glob became %d", what, len(section), glob.out.Len())
		}
	}
}
