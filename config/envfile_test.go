package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

func TestDotenvForms(t *testing.T) {
	t.Parallel()
	const none = ""
	for text, want := range map[string]struct{ value, problem string }{
		`K=v`:                         {"v", none},
		`export K=v`:                  {"v", none},
		"export\tK = v":               {"v", none},
		`set K=v`:                     {"v", none},
		`$env:K = "v"`:                {"v", none},
		`K: v`:                        {"v", none},
		`K: "v" # note`:               {"v", none},
		`"K"="v"`:                     {"v", none},
		`K="sk" # note`:               {"sk", none},
		`K="sk"# note`:                {"sk", none},
		`K='sk'	# note`:               {"sk", none},
		`K='a#b' # it's`:              {"a#b", none},
		`K="a # b"`:                   {"a # b", none},
		`K=v # note`:                  {"v", none},
		"K=v\t# note":                 {"v", none},
		`K=a#b`:                       {"a#b", none},
		`K= # note`:                   {"", none},
		`K=`:                          {"", none},
		`K=""`:                        {"", none},
		`K="a\"b" # c`:                {`a"b`, none},
		`K='a\n'`:                     {`a\n`, none},
		`K="a\nb"`:                    {"a\nb", none},
		`K="v",`:                      {"v", none},
		`K="v";`:                      {"v", none},
		`K=it's`:                      {"it's", none},
		`K=a=b==`:                     {"a=b==", none},
		`K=http://h:1/v1`:             {"http://h:1/v1", none},
		"K=v\u00a0":                   {"v", none},
		"\u00a0K\u00a0=\u00a0v\u200b": {"v", none},
		"\u200bK=v":                   {"v", none},
		"K\u200b=\ufeffv":             {"v", none},
		"K=“v”":                       {"v", none},
		"K=‘v’ # note":                {"v", none},
		"K=„v“":                       {"v", none},
		"K=v\u00a0# note":             {"v", none},
		`K="v`:                        {"v", "no closing quote"},
		`K="a"b`:                      {`"a"b`, "behind its closing quote"},
		"K=\"-----BEGIN\nabc==\n-----END\" # key": {"-----BEGIN\nabc==\n-----END", none},
		"K=\"a\nL=\"b\"": {"a", "no closing quote"},
		`K=${A}-${A}`:    {"1-1", none},
		`K="x${A}"`:      {"x1", none},
		`K='${A}'`:       {"${A}", none},
		`K=${NONE:-b}`:   {"b", none},
		`K=${NONE:-}`:    {"", none},
		`K=a$A$`:         {"a$A$", none},
		`K=${NONE}`:      {"${NONE}", "refers to NONE, which is not set"},
		`K=${Z}`:         {"${Z}", "refers to Z, which is not set"},
		`K v`:            {"", "no NAME=value line"},
		`http://h/v1`:    {"", "no NAME=value line"},
		`K B=v`:          {"", "no NAME=value line"},
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			r := new(reader)
			before, after := "# first\nA=1\n\n", "\nZ=2\n"
			file := strings.ReplaceAll(before+text+after, "\n", end)
			got := r.dotenv(".env", file)
			if got.values["K"] != want.value || got.values["A"] != "1" || got.values["Z"] != "2" {
				t.Errorf("%q with %q: %q", text, end, got.values)
			}
			if len(r.problems) == 0 != (want.problem == "") || want.problem != "" && (r.problems[0].Line != 4 || !strings.Contains(r.problems[0].Text, want.problem)) {
				t.Errorf("%q with %q: problems %v", text, end, r.problems)
			}
		}
	}
}

func TestEncodingsOfFiles(t *testing.T) {
	t.Parallel()
	const env, yaml = "# Größe über Maß, café à 5 €\nHERMES_API_KEY=sk-1\n", "# Größe über Maß, café à 5 €\nmodel:\n  default: größe\n"
	encode := func(c textenc.Charset, text string) string {
		out, err := c.Encode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, form := range map[string]func(string) string{
		"UTF-8":          func(s string) string { return s },
		"mark":           func(s string) string { return "\ufeff" + s },
		"UTF-16 LE":      func(s string) string { return encode(textenc.CharsetUTF16LE, "\ufeff"+s) },
		"UTF-16 BE":      func(s string) string { return encode(textenc.CharsetUTF16BE, "\ufeff"+s) },
		"without a mark": func(s string) string { return encode(textenc.CharsetUTF16LE, s) },
		"windows-1252":   func(s string) string { return encode(textenc.CharsetLatin1, s) },
		"CRLF":           func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	} {
		home, folder := t.TempDir(), t.TempDir()
		files := map[string]string{
			EnvPath(home): env, Path(home): yaml,
			filepath.Join(folder, ".hermes", "config.yaml"): "model: {default: other}\n",
		}
		for file, text := range files {
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(form(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		load := func() *Loaded { return newSchema().Load(home, Options{Folders: []string{folder}}) }
		l := load()
		if len(l.Problems) > 0 || l.Getenv("HERMES_API_KEY") != "sk-1" || l.Model.Default != "größe" {
			t.Errorf("%s: %q %q %v", name, l.Getenv("HERMES_API_KEY"), l.Model.Default, l.Problems)
		}
		// A change keeps the rest of the file.
		if err := SetEnv(home, "OTHER", "x"); err != nil {
			t.Fatal(err)
		}
		if err := newSchema().Set(home, "model.provider", "custom"); err != nil {
			t.Fatal(err)
		}
		if l = load(); len(l.Problems) > 0 || l.Getenv("HERMES_API_KEY") != "sk-1" || l.Getenv("OTHER") != "x" || l.Model.Default != "größe" || l.Model.Provider != "custom" {
			t.Errorf("%s after a change: %v %+v", name, l.Problems, l.Model)
		}
	}
}

func TestUnreadableFilesAreTold(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, file := range []string{EnvPath(home), Path(home)} {
		if err := os.WriteFile(file, []byte("# a\n# \xd3\xf6\xdc\xeb\xec\xe1 \xf3\xf4\xef \xe1\xf1\xf7\xe5\xdf\xef \xf1\xf5\xe8\xec\xdf\xf3\xe5\xf9\xed, \xe5\xeb\xdd\xe3\xee\xf4\xe5 \xf4\xe7 \xe4\xe9\xe1\xe4\xf1\xef\xec\xde\nA=1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := newSchema().Load(home, Options{})
	for _, file := range []string{EnvPath(home), Path(home)} {
		found := false
		for _, p := range l.Problems {
			found = found || p.Source == file && p.Line == 2 && strings.Contains(p.Text, "UTF-8")
		}
		if !found {
			t.Errorf("%s: %v", file, l.Problems)
		}
	}
}

func TestCleanKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		key string
		odd rune
	}{
		"sk-1":             {"sk-1", 0},
		" sk-1\r\n":        {"sk-1", 0},
		"\ufeffsk-1\u200b": {"sk-1", 0},
		"\u00a0sk\u200b-1": {"sk-1", 0},
		"“sk-1”":           {"sk-1", 0},
		`"sk-1"`:           {"sk-1", 0},
		"`sk-1`":           {"sk-1", 0},
		"Bearer sk-1":      {"sk-1", 0},
		"sk-1;":            {"sk-1", 0},
		`"sk-1",`:          {"sk-1", 0},
		"sk-…9":            {"sk-…9", '…'},
		"sk–1":             {"sk–1", '–'},
		"sk-1\nsk-2":       {"sk-1\nsk-2", '\n'},
		"":                 {"", 0},
		"\u200b":           {"", 0},
	} {
		if key, odd := CleanKey(text); key != want.key || odd != want.odd {
			t.Errorf("%q: %q, %q", text, key, odd)
		}
	}
}

func TestKeysThatWerePasted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(EnvPath(home), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		env, want string
		environ   []string
		init      string
	}{
		"in .env":            {env: "OPENAI_API_KEY=\u200bsk-1\u00a0\n", want: "sk-1"},
		"in the environment": {environ: []string{"OPENAI_API_KEY=\u201csk-1\u201d\n"}, want: "sk-1"},
		"in a setting":       {init: `{"model":{"api_key":" sk-1\n"}}`, want: "sk-1"},
		"a key that was cut": {env: "# a\nOPENAI_API_KEY=sk-1…9\n", want: EnvPath(home) + ":2 (OPENAI_API_KEY) has the character '…' (U+2026)"},
		"two words":          {env: "OPENAI_API_KEY=sk-1 sk-2\n", want: "has the character ' '"},
		"nothing but a mark": {env: "OPENAI_API_KEY=\u200b\n", want: "no key for openai"},
	} {
		write(c.env)
		l := newSchema().Load(home, Options{Environ: append([]string{"HERMES_MODEL_PROVIDER=openai"}, c.environ...), Init: []byte(c.init)})
		all, err := l.Endpoints()
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if len(all[0].Keys) != 1 || all[0].Keys[0] != c.want {
			t.Errorf("%s: %q", name, all[0].Keys)
		}
		secrets := l.Secrets(func(name string) bool { return strings.HasSuffix(name, "_KEY") })
		found := false
		for value := range maps.Values(secrets) {
			found = found || value == c.want
		}
		if !found {
			t.Errorf("%s: the key as it is sent is no secret: %q", name, secrets)
		}
	}
}

func FuzzDotenv(f *testing.F) {
	f.Add("K=\"a\\\"b\" # c\nexport L: 'x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := new(reader).dotenv(".env", text)
		for name, value := range got.values {
			if got.lines[name] < 1 || !variableName.MatchString(name) || utf8.ValidString(text) && !utf8.ValidString(value) {
				t.Errorf("%q: %q = %q", text, name, value)
			}
		}
	})
}
