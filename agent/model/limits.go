package model

import (
	"fmt"
	"iter"
)

// Limits of a response. The longest responses of models contain about 130,000 tokens, or half a
// megabyte. A response beyond a limit counts as endless.
const (
	MaxText      = 4 << 20 // bytes
	MaxReasoning = 4 << 20 // bytes
	MaxArgs      = 8 << 20 // bytes of the arguments of all calls
	MaxCalls     = 128
)

// Bounded passes a stream on. If the stream exceeds a limit, it ends with an [*Error] of kind
// ErrEndless, after the deltas passed on so far.
func Bounded(in iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var text, reasoning, args int
		for d, err := range in {
			text, reasoning = text+len(d.Text), reasoning+len(d.Reasoning)
			if d.Call != nil {
				args += len(d.Call.ID) + len(d.Call.Name) + len(d.Call.Args)
			}
			switch {
			case err != nil:
			case text > MaxText:
				d, err = Delta{}, endless("more than %d MB of text came", MaxText>>20)
			case reasoning > MaxReasoning:
				d, err = Delta{}, endless("more than %d MB of reasoning came", MaxReasoning>>20)
			case args > MaxArgs:
				d, err = Delta{}, endless("more than %d MB of tool calls came; none of them was run", MaxArgs>>20)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func endless(format string, args ...any) *Error {
	return &Error{Kind: ErrEndless, Message: fmt.Sprintf(format, args...)}
}
