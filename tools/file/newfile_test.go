package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/editorconfig"
)

func TestNewFilesFollowEditorconfig(t *testing.T) {
	t.Parallel()
	const crlf = "[*]\nend_of_line = crlf\n"
	all := func(settings string) map[string]string {
		return map[string]string{".editorconfig": "root = true\n[*]\n" + settings}
	}
	for _, c := range []struct {
		what                string
		files               map[string]string
		path, content, want string
		note                string // a part of it; empty: there is none
	}{
		{"no settings", nil, "a", "x\ny", "x\ny", ""},
		{"CRLF", all("end_of_line = crlf"), "d/a", "x\ny\n", "x\r\ny\r\n", "CRLF line ends"},
		{"CRLF that is there", all("end_of_line = crlf"), "a", "x\r\ny\r\n", "x\r\ny\r\n", ""},
		{"mixed", all("end_of_line = crlf"), "a", "x\r\ny\n", "x\r\ny\n", "were kept"},
		{"LF, and CRLF is meant", all("end_of_line = lf"), "a", "x\r\n", "x\r\n", "were kept"},
		{"LF", all("end_of_line = lf"), "a", "x\n", "x\n", ""},
		{"CR is not followed", all("end_of_line = cr"), "a", "x\n", "x\n", ""},
		{"a final line end", all("insert_final_newline = true"), "a", "x", "x\n", "a line end at its end"},
		{"a final CRLF", all("insert_final_newline = true\nend_of_line = crlf"), "a", "x\ny", "x\r\ny\r\n", "CRLF line ends, a line end"},
		{"a final CRLF after one line", all("insert_final_newline = true\nend_of_line = crlf"), "a", "x", "x\r\n", "a line end"},
		{"a final line end like the others", all("insert_final_newline = true"), "a", "x\r\ny", "x\r\ny\r\n", "a line end"},
		{"no final line end", all("insert_final_newline = false"), "a", "x\ny\n", "x\ny", "no line end"},
		{"an empty file", all("insert_final_newline = true\ncharset = utf-8-bom"), "a", "", "", ""},
		{"a byte order mark", all("charset = utf-8-bom"), "a", "é\n", "\ufeffé\n", "a byte order mark"},
		{"one byte order mark", all("charset = utf-8-bom"), "a", "\ufeffx\n", "\ufeffx\n", ""},
		{"UTF-16", all("charset = utf-16le\nend_of_line = crlf"), "a", "x\n", "\xff\xfex\x00\r\x00\n\x00", "UTF-16 LE"},
		{"Latin-1", all("charset = latin1"), "a", "caf\u00e9 x\n", "caf\xe9 x\n", "Latin-1"},
		{"Latin-1 lacks it", all("charset = latin1"), "a", "\u20ac\n", "\u20ac\n", ""},
		{"Latin-1 of ASCII", all("charset = latin1"), "a", "x\n", "x\n", ""},
		{"NUL", all("end_of_line = crlf"), "a", "x\x00\n", "x\x00\n", ""},
		{"another section", map[string]string{".editorconfig": "[*.bat]\nend_of_line = crlf"}, "a.sh", "x\n", "x\n", ""},
		{"the nearest file", map[string]string{".editorconfig": crlf, "d/.editorconfig": "[*]\nend_of_line = lf"}, "d/e/a", "x\n", "x\n", ""},
		{"both files", map[string]string{".editorconfig": crlf, "d/.editorconfig": "[*]\ninsert_final_newline = true"}, "d/a", "x\ny", "x\r\ny\r\n", "CRLF"},
		{"root", map[string]string{".editorconfig": crlf, "d/.editorconfig": "root = true\n"}, "d/a", "x\n", "x\n", ""},
		{"a path in a section", map[string]string{"d/.editorconfig": "[/e/*.x]\nend_of_line = crlf"}, "d/e/a.x", "x\n", "x\r\n", "CRLF"},
		{"too large", map[string]string{".editorconfig": crlf + strings.Repeat("#\n", editorconfig.Limit)}, "a", "x\n", "x\n", ""},
		{"no text", map[string]string{".editorconfig": "\x00\xff[*"}, "a", "x\n", "x\n", ""},
		{"a folder", map[string]string{".editorconfig/x": ""}, "a", "x\n", "x\n", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, c.files)
			got := as[writeOut](t, p.call(t, "write_file", map[string]string{"path": c.path, "content": c.content}))
			if text := p.text(t, c.path); text != c.want || !got.Created || got.BytesWritten != len(c.want) {
				t.Errorf("write_file: the file holds %q, want %q (%+v)", text, c.want, got)
			}
			if !strings.Contains(got.Note, c.note) || c.note == "" && got.Note != "" {
				t.Errorf("note: %q, want %q", got.Note, c.note)
			}
			if !strings.HasSuffix(c.content, "\n") || strings.Contains(c.content, "\r") {
				return // a patch cannot express it
			}
			added := "*** Begin Patch\n*** Add File: " + c.path + "2.x\n+" + strings.ReplaceAll(strings.TrimSuffix(c.content, "\n"), "\n", "\n+") + "\n*** End Patch"
			if strings.HasSuffix(c.path, ".sh") || strings.HasSuffix(c.path, ".x") {
				return // only the file name matters
			}
			patched := as[patchOut](t, p.call(t, "patch", map[string]string{"mode": "patch", "patch": added}))
			if text := p.text(t, c.path+"2.x"); text != c.want || !strings.Contains(patched.Note, c.note) {
				t.Errorf("patch: the file holds %q, want %q (%+v)", text, c.want, patched)
			}
		})
	}
}

// The settings apply only to new files, and only from inside the workspace folder.
func TestEditorconfigReachesNoFurther(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"old": "x\n", "sub/x": ""})
	outside := filepath.Join(t.TempDir(), "e")
	settings := []byte("[*]\nend_of_line = crlf\n")
	for _, name := range []string{outside, filepath.Join(filepath.Dir(p.dir), ".editorconfig")} {
		if err := os.WriteFile(name, settings, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(p.dir, "sub", ".editorconfig")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"new", "sub/new"} {
		p.call(t, "write_file", map[string]string{"path": path, "content": "x\n"})
		if text := p.text(t, path); text != "x\n" {
			t.Errorf("%s follows a file outside: %q", path, text)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, ".editorconfig"), settings, 0o644); err != nil {
		t.Fatal(err)
	}
	p.call(t, "write_file", map[string]string{"path": "old", "content": "y\nz\n"})
	if text := p.text(t, "old"); text != "y\nz\n" {
		t.Errorf("the file that exists holds %q", text)
	}
	p.call(t, "write_file", map[string]string{"path": "new2", "content": "x\n"})
	p.call(t, "patch", map[string]string{"path": "new2", "old_string": "x\n", "new_string": "x\ny\n"})
	if text := p.text(t, "new2"); text != "x\r\ny\r\n" {
		t.Errorf("after an edit the new file holds %q", text)
	}
}
