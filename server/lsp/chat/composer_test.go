package chat

import (
	"slices"
	"strings"
	"testing"
)

// checkComposed plays events into a composer, whole and cut into single bytes, and compares the
// output. A step is "text", "- item" or "> note".
func checkComposed(t *testing.T, want string, steps ...string) {
	t.Helper()
	for _, cut := range []bool{false, true} {
		c := newComposer()
		var got strings.Builder
		for _, step := range steps {
			switch {
			case strings.HasPrefix(step, "- "):
				c.item(step[2:])
			case strings.HasPrefix(step, "> "):
				c.note(step)
			case cut:
				for i := range len(step) {
					c.text(step[i : i+1])
					got.WriteString(c.drain())
				}
			default:
				c.text(step)
			}
			got.WriteString(c.drain())
		}
		c.close("\n\n" + HeadingYou + "\n")
		got.WriteString(c.drain())
		whole := strings.TrimPrefix(want+"\n\n## You\n", "\n\n") // the heading before ends with a blank line
		if got.String() != whole {
			t.Errorf("cut %v: composed %q, want %q", cut, got.String(), whole)
		}
	}
}

func TestComposer(t *testing.T) {
	t.Parallel()
	checkComposed(t, "Hello.", "Hello.")
	checkComposed(t, "Hello.", "\n\nHel", "lo.")
	checkComposed(t, "Hello.", "Hello.\n\n")
	checkComposed(t, "Let me look.\n\n- ✓ Read a\n- ✓ Read b\n\nDone.", "Let me look.", "- ✓ Read a", "- ✓ Read b", "Done.")
	checkComposed(t, "- ✓ Read a\n\nDone.", "- ✓ Read a", "\n\nDone.\n")
	checkComposed(t, "One\n\n> busy\n\nTwo", "One", "> busy", "Two")
	checkComposed(t, "a\n\\## You\nb", "a\n## You\nb")
	checkComposed(t, "\\## Hermes", "## Hermes")
	checkComposed(t, "\\## You  \nx", "## You  \nx")
	checkComposed(t, "## Your plan\n# H", "## Your plan\n# H")
	checkComposed(t, "text ## You", "text ## You")
	checkComposed(t, "a## You\nb]c\td", "a\r## You\r\nb\x1b]\x00c\td") // a lone carriage return is a line end to some editors
	checkComposed(t, "\\## You\nb", "\r## You\r\nb")
	checkComposed(t, "", "")
}

// Overrides and isolates in an answer would reorder the text that the user reads. Marks of right-to-left
// scripts stay.
func TestComposerLeavesOutDirections(t *testing.T) {
	t.Parallel()
	c := newComposer()
	c.text("a\u202eb\u2066c\u2069 \u200fד\u200e\u061c")
	if got := c.drain(); got != "abc \u200fד\u200e\u061c" {
		t.Errorf("composed %+q", got)
	}
}

// Spaces at the end of the output come with the next word.
func TestComposerKeepsSpaces(t *testing.T) {
	t.Parallel()
	c := newComposer()
	c.text("The sum ")
	first := c.drain()
	c.text("is 3.  \n")
	if got := []string{first, c.drain()}; !slices.Equal(got, []string{"The sum", " is 3.  \n"}) {
		t.Errorf("pieces = %q", got)
	}
}
