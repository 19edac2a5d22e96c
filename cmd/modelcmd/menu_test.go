package modelcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestMenu checks which entry keys choose.
func TestMenu(t *testing.T) {
	t.Parallel()
	var all []entry
	for i := range 30 {
		all = append(all, entry{fmt.Sprintf("m%02d", i), "8,192 tokens"})
	}
	all = append(all, entry{"Ünder\x1b[2J", ""})
	for keys, want := range map[string]string{
		"\r": "m00", "\x1b[B\x1b[B\r": "m02", "\x1bOB\x1bOA\r": "m00", "\x1b[A\r": "m00", "\x1b[6~\n": "m05", "\x1b[F\x1b[A\r": "m29", "\x1b[F\x1b[H\r": "m00",
		"17\r": "m17", "M1\x1b[B\r": "m11", "17\x7f\x7f\r": "m00", "17\x15\r": "m00", "\x0e\x0e\x10\r": "m01", "ünd\r": "Ünder\x1b[2J", "\x1b[1;5Z\r": "m00",
		"other/model\r": "other/model", "\x03": "canceled", "\x04": "EOF", "": "EOF",
	} {
		var out bytes.Buffer
		m := menu{in: bufio.NewReader(strings.NewReader(keys)), out: &out, title: "Model", all: all, other: true, width: 30, height: 5}
		got, err := m.run()
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.HasSuffix(got, want)) {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
		for line := range strings.SplitSeq(out.String(), "\r\n") {
			if shown := line[strings.LastIndex(line, "\x1b[J")+1:]; len([]rune(shown)) > 32 || strings.Contains(shown, "\x1b[2J") {
				t.Errorf("%q: the line %q", keys, shown)
			}
		}
	}
	var out bytes.Buffer
	sizes := [][2]int{{80, 20}, {24, 7}, {24, 7}, {10, 2}}
	m := menu{in: bufio.NewReader(strings.NewReader("\x1b[B\x1b[B\x1b[B\r")), out: &out, title: "Model", all: all, width: 80, height: 15}
	m.size = func() (int, int, error) { size := sizes[0]; sizes = sizes[1:]; return size[0], size[1], nil }
	if got, err := m.run(); got != "m03" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, after, cleared := strings.Cut(out.String(), "\x1b[H\x1b[2J"); !cleared || strings.Contains(after, "\x1b[2J") || strings.Count(after, "m00") != 3 || strings.Contains(after, "m04") {
		t.Errorf("a smaller terminal shows %q", out.String())
	}
	m = menu{in: bufio.NewReader(strings.NewReader("xyz\r")), out: io.Discard, title: "Provider", all: all, width: 30, height: 5}
	if got, err := m.run(); !errors.Is(err, io.EOF) { // the answer must be in the list
		t.Errorf("%q %v", got, err)
	}
}
