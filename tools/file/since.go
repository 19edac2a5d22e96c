package file

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// sinceRead describes how a file changed since the session read or wrote it.
type sinceRead struct {
	workspace.Since
	present string // without CR, where each line ends with CRLF
}

// onPresent is onText for a change that also receives the file's changes since it was read.
func onPresent(change func(old string, since sinceRead) (string, error)) func([]byte, workspace.Since) ([]byte, error) {
	return func(old []byte, since workspace.Since) ([]byte, error) {
		return onText(func(text string) (string, error) {
			s := sinceRead{Since: since}
			if since.Changed {
				s.present = text
				if n := strings.Count(text, "\r\n"); n > 0 && n == strings.Count(text, "\n") {
					s.present = strings.ReplaceAll(text, "\r\n", "\n")
				}
			}
			return change(text, s)
		})(old)
	}
}

// note names the changed lines of the current text. Without changes, it is empty.
func (s sinceRead) note() string {
	switch {
	case !s.Changed:
		return ""
	case s.Text == nil:
		return "the file had changed since it was read; the edit is made of the present text"
	}
	lines := rangesIn(diff.Unified("f", s.Text, []byte(s.present)))
	word := "lines"
	if !strings.ContainsAny(lines, "-, ") {
		word = "line"
	}
	return fmt.Sprintf("%s %s had changed since the file was read, not by this edit", word, lines)
}

// explain adds to an error: the file has changed.
func (s sinceRead) explain(err error) error {
	if err == nil || !s.Changed || errors.Is(err, errUnchanged) {
		return err
	}
	return fmt.Errorf("%w. The file has changed since it was read; read it again", err)
}

// check rejects a replacement of all places if the session has not read all of them.
func (s sinceRead) check(edits []patchEdit) error {
	if !s.Changed {
		return nil
	}
	for _, e := range edits {
		if e.ReplaceAll && (s.Text == nil || strings.Count(string(s.Text), e.OldString) != strings.Count(s.present, e.OldString)) {
			return fmt.Errorf("the file has changed since it was read, and old_string occurs at other places now (%d). Nothing was changed. Read it again: %w", strings.Count(s.present, e.OldString), workspace.ErrStale)
		}
	}
	return nil
}

// joined joins the notes that are not empty.
func joined(all ...string) string {
	var n notes
	for _, note := range all {
		if note != "" {
			n.add(note)
		}
	}
	return n.String()
}
