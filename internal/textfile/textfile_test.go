package textfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	const text = "# Größe → 日本\r\nkey: value\r\n"
	const latin = "# Größe über Maß, café à 5 €\r\nkey: value\r\n"
	const ascii = "key: value\nother: 1\n"
	encoded := func(c textenc.Charset, text string) string {
		out, err := c.Encode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, c := range map[string]struct{ data, want string }{
		"empty":                   {"", ""},
		"UTF-8":                   {text, text},
		"UTF-8 with a mark":       {"\ufeff" + text, text},
		"only a mark":             {"\ufeff", ""},
		"UTF-16 LE":               {encoded(textenc.CharsetUTF16LE, "\ufeff"+text), text},
		"UTF-16 BE":               {encoded(textenc.CharsetUTF16BE, "\ufeff"+text), text},
		"UTF-16 LE without mark":  {encoded(textenc.CharsetUTF16LE, ascii), ascii},
		"UTF-16 BE without mark":  {encoded(textenc.CharsetUTF16BE, ascii), ascii},
		"UTF-16 of one character": {encoded(textenc.CharsetUTF16LE, "\ufeffa"), "a"},
		"GBK":                     {encoded(textenc.CharsetGBK, "# 配置文件不存在，请检查路径\n"), "# 配置文件不存在，请检查路径\n"},
		"windows-1252":            {encoded(textenc.CharsetLatin1, latin), latin},
	} {
		got, err := Decode([]byte(c.data))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		data string
		line int
	}{
		"UTF-32":                                {"\xff\xfe\x00\x00a\x00\x00\x00", 0},
		"UTF-16 with an odd end":                {encoded(textenc.CharsetUTF16LE, "\ufeff"+ascii) + "\n", 0},
		"a NUL":                                 {"a\nb\x00c\n", 2},
		"an encoding that is not known (Greek)": {"first\n\xd3\xf6\xdc\xeb\xec\xe1 \xf3\xf4\xef \xe1\xf1\xf7\xe5\xdf\xef \xf1\xf5\xe8\xec\xdf\xf3\xe5\xf9\xed, \xe5\xeb\xdd\xe3\xee\xf4\xe5 \xf4\xe7 \xe4\xe9\xe1\xe4\xf1\xef\xec\xde\n", 2},
	} {
		_, err := Decode([]byte(c.data))
		var problem *EncodingError
		if !errors.As(err, &problem) || problem.Line != c.line || !strings.Contains(err.Error(), "save it as UTF-8") {
			t.Errorf("%s: %v (%+v)", name, err, problem)
		}
	}
}

func TestReadDecodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("\xff\xfea\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() // only read
	for name, read := range map[string]func() ([]byte, error){
		"Read":      func() ([]byte, error) { return Read(filepath.Join(dir, "f"), 10) },
		"ReadIn":    func() ([]byte, error) { return ReadIn(root, "f", 10) },
		"ReadBelow": func() ([]byte, error) { return ReadBelow(dir, "f", 10) },
	} {
		if got, err := read(); err != nil || string(got) != "a" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 10); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("\x00a\x00b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := Decode(data)
		if err == nil && strings.ContainsRune(string(text), 0) {
			t.Errorf("%q has NUL: %q", data, text)
		}
		if utf8.Valid(data) && err == nil && !strings.ContainsRune(string(data), 0) && string(text) != strings.TrimPrefix(string(data), "\ufeff") {
			t.Errorf("valid text changed: %q, %q", data, text)
		}
	})
}
