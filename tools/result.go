package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// OK returns a result with v, which must marshal to a JSON object.
func OK(v any) Result {
	data, err := Marshal(v)
	if err != nil {
		return Fail("the result could not be written as JSON: %v", err)
	}
	return Result{JSON: data, marshalled: &data[0]}
}

// Brief sets a shorter result for the model: the same facts in fewer tokens. Scripts get r.
func (r Result) Brief(v any) Result {
	r.brief = v
	return r
}

// forModel returns the result for the model. Without a brief form, it is r.
func (r Result) forModel(script bool) Result {
	if r.brief != nil && !script {
		full := r
		if r = OK(full.brief); r.IsError {
			return full
		}
		r.IsError, r.Images, r.Shown = full.IsError, full.Images, full.Shown
	}
	return r
}

// Fail returns a failure that the model can correct: the problem and the next step, in at most 60
// words. A longer text loses its middle.
func Fail(format string, args ...any) Result {
	return Failure(BriefError(fmt.Sprintf(format, args...)))
}

// Failure returns a failure with unchanged text from the user or another program.
func Failure(text string) Result {
	data, err := Marshal(map[string]string{"error": text})
	if err != nil {
		data = []byte(`{"error":"unknown"}`)
	}
	return Result{JSON: data, IsError: true}
}

// The words of an error. The problem is at its beginning, and the next step at its end.
const (
	errorWords = 60
	errorHead  = 35
)

// BriefError limits an error to 60 words. A longer text loses its middle. The lines between the
// first and the last line are data, such as lines of a file: they stay and do not count.
func BriefError(text string) string {
	first, data := text, ""
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		end := strings.LastIndexByte(text, '\n') + 1
		first, data, text = text[:i], text[i:end], text[end:]
	} else {
		text = ""
	}
	head, tail := wordEnds(first), wordEnds(text)
	if len(head)+len(tail) <= errorWords {
		return first + data + text
	}
	if data == "" {
		return first[:head[errorHead-1]] + " […]" + first[head[len(head)-errorWords+errorHead]:]
	}
	last := min(len(tail), errorWords-errorHead)
	if most := errorWords - last; len(head) > most {
		first = first[:head[most-2]] + " […]"
	}
	if last < len(tail) {
		text = "[…]" + text[tail[len(tail)-last]:]
	}
	return first + data + text
}

// wordEnds returns the ends of the words of a text.
func wordEnds(text string) (ends []int) {
	within := false
	for i, r := range text {
		if space := unicode.IsSpace(r); space == within {
			within = !space
			if space {
				ends = append(ends, i)
			}
		}
	}
	if within {
		ends = append(ends, len(text))
	}
	return ends
}

// With adds content for the editor to show.
func (r Result) With(shown ...Content) Result {
	r.Shown = append(r.Shown, shown...)
	return r
}

// Marshal is json.Marshal without escapes for <, > and &: code is full of them, and the model pays
// for every escape.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// OrEmpty replaces a nil list by an empty list, which JSON shows as [].
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
