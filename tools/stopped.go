package tools

import (
	"context"
	"errors"
)

// Stopped is the cause of a canceled context, for the model: who stopped the call, and
// whether to run it again.
type Stopped struct {
	Who, Again string
	Canceled   bool // the user canceled the turn, and did not only send another prompt
}

func (s *Stopped) Error() string { return s.Who }

// CanceledByUser reports whether ctx has ended because the user canceled the turn.
func CanceledByUser(ctx context.Context) bool {
	var s *Stopped
	return errors.As(context.Cause(ctx), &s) && s.Canceled
}

// StoppedText says who stopped a call whose ctx has ended, and whether to run it again.
func StoppedText(ctx context.Context) string {
	var s *Stopped
	if errors.As(context.Cause(ctx), &s) {
		return s.Who + ". " + s.Again
	}
	return "it was canceled before its end. Run it again only if it is still needed"
}
