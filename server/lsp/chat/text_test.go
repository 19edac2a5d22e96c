package chat

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// edit is one change as an editor reports it: by range, or as the whole text.
func edit(c *Text, start, end int, text string, whole bool, enc textenc.Encoding) {
	c.mu.Lock()
	before, version := string(c.text), c.version
	c.mu.Unlock()
	change := workspace.Change{Text: before[:start] + text + before[end:]}
	if !whole {
		r := textenc.Range{
			Start: textenc.PositionAt([]byte(before), start, enc),
			End:   textenc.PositionAt([]byte(before), end, enc),
		}
		change = workspace.Change{Range: &r, Text: text}
	}
	c.Changed(version+1, []workspace.Change{change}, enc)
}

// The agent's words come out whole and in order wherever the user types.
func TestAnswerGrowsWhileTheUserTypes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		enc := []textenc.Encoding{"utf-8", "utf-16"}[rng.IntN(2)]
		whole := rng.IntN(3) == 0
		var c Text
		c.Opened(1, []byte("# Chat\n\n## You\n\nwhat is 1€?\n"))
		head, tail := c.begin("")
		want, typed := "", 0
		insert := func(piece string, back int) {
			in := c.insert("x.md", piece)
			edit(&c, in.at, in.at, piece, whole, enc)
			select {
			case <-in.landed:
			default:
				t.Fatalf("seed %d: %q did not land", seed, piece)
			}
			c.step(back)
		}
		insert(head+"\n", 1)
		for range 20 {
			if rng.IntN(2) == 0 {
				piece := fmt.Sprintf("w%dé\n", len(want))
				insert(piece, 0)
				want += piece
				continue
			}
			// The user types after the answer, or above it.
			text := string(c.snapshot())
			at := len(text)
			if rng.IntN(2) == 0 {
				at = strings.Index(text, "## You")
			}
			typed++
			edit(&c, at, at, "t€yped", whole, enc)
		}
		insert(tail, 0)
		text := string(c.snapshot())
		if !strings.Contains(text, "## Hermes\n\n"+want) {
			t.Fatalf("seed %d: the answer %q is not whole in %q", seed, want, text)
		}
		if strings.Count(text, "t€yped") != typed {
			t.Fatalf("seed %d: typed text was lost in %q", seed, text)
		}
		if _, prompt, _ := lastPrompt([]byte(text)); strings.Contains(prompt, "w0") {
			t.Fatalf("seed %d: the answer is in the prompt %q", seed, prompt)
		}
	}
}

// Some editors remove the spaces at the end of a line when the user begins a line below it.
func TestFollowLineBegunAtThePlace(t *testing.T) {
	t.Parallel()
	var c Text
	c.Opened(1, []byte("## You\n\nHi\n"))
	head, _ := c.begin("")
	for _, piece := range []string{head + "\n", "The sum "} {
		in := c.insert("x.md", piece)
		edit(&c, in.at, in.at, piece, true, "utf-16")
		c.step(strings.Count(piece, head+"\n"))
	}
	at := strings.Index(string(c.snapshot()), " \n")
	edit(&c, at, at+1, "\nI type", true, "utf-16")
	in := c.insert("x.md", "is 3.")
	if got := string(in.with("is 3.")); !strings.HasSuffix(got, "The sumis 3.\nI type\n") {
		t.Errorf("the answer goes on in what is typed: %q", got)
	}
}

func TestFollowDeletionOfThePlace(t *testing.T) {
	t.Parallel()
	var c Text
	c.Opened(1, []byte("abcdef"))
	c.at = 4
	edit(&c, 2, 5, "", false, "utf-8")
	if c.at != 2 {
		t.Errorf("the place is %d, want 2", c.at)
	}
	edit(&c, 0, 1, "", true, "utf-8")
	if c.at != 1 {
		t.Errorf("the place is %d, want 1", c.at)
	}
	edit(&c, 1, 1, "user", false, "utf-8")
	if c.at != 1 {
		t.Errorf("typing right at the place moved it to %d", c.at)
	}
}

// An editor may change line ends in an insertion.
func TestInsertionWithOtherLineEnds(t *testing.T) {
	t.Parallel()
	var c Text
	c.Opened(1, []byte("a\r\nb"))
	c.at = 3
	in := c.insert("x", "1\n2\n")
	edit(&c, 3, 3, "1\r\n2\r\n", false, "utf-8")
	select {
	case <-in.landed:
	default:
		t.Fatal("the insertion was not recognised")
	}
	if c.at != 9 {
		t.Errorf("the place is %d, want 9", c.at)
	}
}

func TestBegin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, shown, want string }{
		"prompt in the text":   {"# C\n\n## You\n\nhi", "", "# C\n\n## You\n\nhi\n\n## Hermes\n\n|"},
		"with a line end":      {"## You\n\nhi\n", "", "## You\n\nhi\n\n## Hermes\n\n|"},
		"an action":            {"# C\n\n## You\n\n", "Explain x", "# C\n\n## You\n\nExplain x\n\n## Hermes\n\n|"},
		"an action, a draft":   {"# C\n\n## You\n\nmy draft", "Explain x", "# C\n\n## You\n\nExplain x\n\n## Hermes\n\n|## You\n\nmy draft"},
		"an empty document":    {"", "Explain x", "## You\n\nExplain x\n\n## Hermes\n\n|"},
		"a heading in a quote": {"## You\n\n", "a\n## You\nb", "## You\n\na\n\\## You\nb\n\n## Hermes\n\n|"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := Text{text: []byte(c.text)}
			head, _ := doc.begin(c.shown)
			doc.wrote(doc.insert("x", head), head)
			got := string(doc.text[:doc.at]) + "|" + string(doc.text[doc.at:])
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPromptOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, draft string
		running     bool
		want, err   string
	}{
		"plain":         {text: "## You\n\nhi there\n\n", want: "hi there"},
		"the last":      {text: "## You\none\n## Hermes\ntwo\n## You\nthree", want: "three"},
		"CRLF":          {text: "## You\r\n\r\nhi\r\n", want: "hi"},
		"no heading":    {text: "hi", err: "no line"},
		"not a heading": {text: "## Yours\n\nhi", err: "no line"},
		"empty":         {text: "## You\n\n  \n", err: "nothing to send"},
		"cut off":       {text: "## You\nhi\n## Hermes\nanswer", err: "cut off"},
		"while running": {text: "## You\nhi\n## Hermes\nanswer\nnext", draft: "next", running: true, want: "next"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := PromptOf([]byte(c.text), c.draft, c.running)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// A late piece is found in the next change, which may also contain the user's text. If it is not
// there, it is given up.
func TestLatePiece(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next  string // the whole text of the editor's next change
		early bool   // before it counts as late
		gone  bool
	}{
		"with what was typed":        {next: "## Hermes\n\nAll is well.\n\nI type.\n"},
		"told before":                {next: "## Hermes\n\nAll is well.\n\nI type.\n", early: true},
		"lost":                       {next: "## Hermes\n\n\nI type.\n", gone: true},
		"the same words stand below": {next: "## Hermes\n\n\nI type: All is well.\n", gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text Text
			text.Opened(1, []byte("## Hermes\n\n\n"))
			text.at = len("## Hermes\n\n")
			in := text.insert("x.md", "All is well.\n")
			tell := func() { edit(&text, 0, len(text.text), c.next, true, "utf-8") }
			if c.early {
				tell()
			}
			text.late()
			if !c.early {
				tell()
			}
			select {
			case <-in.landed:
				if c.gone {
					t.Error("it has landed")
				}
				if draft := text.draft(); draft != "I type." {
					t.Errorf("behind the piece stands %q", draft)
				}
			case <-in.gone:
				if !c.gone {
					t.Error("it was given up")
				}
			default:
				t.Error("nothing is known of it")
			}
		})
	}
}
