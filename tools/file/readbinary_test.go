package file

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadPicture(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	var scan bytes.Buffer
	if err := tiff.Encode(&scan, image.NewGray(image.Rect(0, 0, 2, 3)), nil); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, map[string]string{"a.png": picture(t), "b.txt": picture(t), "big.png": picture(t) + strings.Repeat("\x00", 9<<20), "x.tiff": "II*\x00" + strings.Repeat("\x00", 100), "scan": scan.String()})
	const what = "PNG image, 30 × 20 pixels"
	for _, sees := range []bool{false, true} {
		p.env.Reader.Sees = func() bool { return sees }
		for name, want := range map[string]struct {
			note  string
			shown bool
		}{"a.png": {"the picture follows", true}, "b.txt": {"the picture follows", true}, "big.png": {"the picture follows", true}} {
			if want.shown && !sees {
				want.note = "the picture follows as text, because this model does not see pictures"
			}
			r := p.call(t, "read_file", map[string]string{"path": name})
			out := as[readOut](t, r)
			if !strings.Contains(out.Note, want.note) || (len(r.Images) == 1) != want.shown || !strings.HasSuffix(out.Content, what) {
				t.Errorf("%s, sees %v: %+v, %d pictures", name, sees, out, len(r.Images))
			}
			if want.shown && (r.Images[0].Name != name || r.Images[0].MIMEType != "image/png" || string(r.Images[0].Data) != picture(t)) {
				t.Errorf("%s: the picture is another", name)
			}
		}
		if got := as[readOut](t, p.call(t, "read_file", `{"path":"scan"}`)); got.Content != "binary file, 180 B, TIFF image, 2 × 3 pixels" {
			t.Errorf("a TIFF without an extension: %+v", got)
		}
		if got := p.call(t, "read_file", `{"path":"x.tiff"}`); string(got.JSON) != `{"error":"x.tiff cannot be decoded: it is broken"}` || len(got.Images) > 0 {
			t.Errorf("a broken picture: %s", got.JSON)
		}
	}
}

func TestReadNotebook(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"n.ipynb": `{"nbformat":4,"metadata":{},"cells":[
			{"cell_type":"markdown","source":["# Title\n","text"]},
			{"cell_type":"code","execution_count":3,"source":"x = 1\nx","outputs":[
				{"output_type":"execute_result","data":{"text/plain":["1"],"text/html":"<b>1</b>"}},
				{"output_type":"display_data","data":{"image/png":"aGVsbG8="}},
				{"output_type":"stream","name":"stdout","text":["\u001b[31mred\u001b[0m\n"]},
				{"output_type":"error","ename":"KeyError","evalue":"'a'","traceback":["\u001b[0;31mTraceback"]}]},
			{"cell_type":"code","execution_count":null,"source":[],"outputs":[]}]}`,
		"broken.ipynb": `{"nbformat":4,"cells":[`, "old.ipynb": `{"nbformat":3,"worksheets":[]}`, "other.ipynb": "just text\n",
	})
	want := strings.Join([]string{
		"1|# %% cell 1 [markdown]", "2|# Title", "3|text", "4|# %% cell 2 [code] In[3]", "5|x = 1", "6|x", "7|# %% output", "8|1",
		"9|# %% output", "10|[PNG image, 8 characters of data]", "11|# %% output", "12|red", "13|# %% output", "14|Traceback", "15|KeyError: 'a'", "16|# %% cell 3 [code]", "17|",
	}, "\n")
	got := as[readOut](t, p.call(t, "read_file", `{"path":"n.ipynb"}`))
	if got.Content != want || got.TotalLines != 17 || got.Truncated || !strings.Contains(got.Note, "edits are made in that") {
		t.Errorf("%+v", got)
	}
	got = as[readOut](t, p.call(t, "read_file", `{"path":"n.ipynb","offset":5,"limit":2}`))
	if got.Content != "5|x = 1\n6|x" || got.NextOffset != 7 || !got.Truncated {
		t.Errorf("a window: %+v", got)
	}
	for name, want := range map[string]string{"broken.ipynb": `1|{"nbformat":4,"cells":[`, "old.ipynb": `1|{"nbformat":3`, "other.ipynb": "1|just text"} {
		if got := as[readOut](t, p.call(t, "read_file", map[string]string{"path": name})); !strings.HasPrefix(got.Content, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A repeated read is shorter, once, and only if nothing has changed and the model still has the
// first result.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line of text that is long enough\n", 300)
	p := newPlace(t, map[string]string{"a": text, "small": "x\n"})
	p.env.Recall = NewRecall()
	read := func(args string) readOut { t.Helper(); return as[readOut](t, p.call(t, "read_file", args)) }
	whole := read(`{"path":"a"}`)
	check := func(when string, short bool) {
		t.Helper()
		got := read(`{"path":"a"}`)
		switch {
		case !short && (strings.Count(got.Content, "\n") != strings.Count(whole.Content, "\n") || got.Truncated || got.Note != ""):
			t.Errorf("%s: withheld: %.200s… %q", when, got.Content, got.Note)
		case short && (!strings.HasPrefix(whole.Content, got.Content+"\n") || !got.Truncated || got.NextOffset != repeatLines+1 || !strings.Contains(got.Note, "unchanged") || got.TotalLines != 300):
			t.Errorf("%s: %+v", when, got)
		}
	}
	check("again", true)
	check("and again", false)
	check("once more", true)
	if got := read(`{"path":"a","offset":11}`); !strings.HasPrefix(got.Content, "11|") || got.Note != "" {
		t.Errorf("another window: %.100s, %q", got.Content, got.Note)
	}
	check("after that", false)
	p.call(t, "patch", `{"path":"a","old_string":"long","new_string":"LONG","replace_all":true}`)
	whole = read(`{"path":"a"}`)
	p.call(t, "patch", `{"path":"a","old_string":"LONG","new_string":"long","replace_all":true}`)
	p.call(t, "patch", `{"path":"a","old_string":"long","new_string":"LONG","replace_all":true}`)
	check("changed there and back", false)
	if err := os.WriteFile(filepath.Join(p.dir, "a"), []byte(strings.Replace(text, "long", "short", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	check("changed by somebody", false)
	p.env.Recall.Forget()
	check("after a compaction", false)
	p.env.Recall = nil
	check("in a script", false)
	check("in a script, again", false)
	p.env.Recall = NewRecall()
	for range 3 {
		if got := read(`{"path":"small"}`); got.Content != "1|x" || got.Note != "" {
			t.Errorf("a small file: %+v", got)
		}
	}
}
