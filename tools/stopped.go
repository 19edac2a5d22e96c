package tools

import (
	"context"
	"errors"
)

// Stopped is the cause of a canceled context, for the model: who stopped the call, and
// whether to run it again.
type Stopped struct {
	Who, Again string
	Effects    string // in place of Again, for a started call; may be empty
	Canceled   bool   // the user canceled the turn, and did not only send another prompt
}

// ErrClosing is the cause of a context that ends with the connection. It is also the kind of error
// of an editor request without an answer for the same reason.
var ErrClosing = &Stopped{
	Who: "the editor was closed, or the server was stopped", Again: "Run it again if it is still needed",
	Effects: "It may have had effects: check them before you run it again",
}

// ErrNotRun is the kind of a tool's error if the call has done nothing.
var ErrNotRun = errors.New("not run")

func (s *Stopped) Error() string { return s.Who }

// CanceledByUser reports whether ctx has ended because the user canceled the turn.
func CanceledByUser(ctx context.Context) bool {
	var s *Stopped
	return errors.As(context.Cause(ctx), &s) && s.Canceled
}

// StoppedText names who stopped a started call whose ctx has ended, and whether to run it again.
func StoppedText(ctx context.Context) string {
	var s *Stopped
	switch {
	case !errors.As(context.Cause(ctx), &s):
		return "it was canceled before its end. Run it again only if it is still needed"
	case s.Effects != "":
		return s.Who + ". " + s.Effects
	}
	return s.Who + ". " + s.Again
}

// NotRunText is [StoppedText] for a call that had not begun. when describes the time, such as
// "while it waited for approval"; it may be empty.
func NotRunText(ctx context.Context, when string) string {
	s := &Stopped{Who: "it was canceled", Again: "Run it only if it is still needed"}
	errors.As(context.Cause(ctx), &s)
	return s.NotRun(when)
}

// NotRun is [NotRunText] of a known cause.
func (s *Stopped) NotRun(when string) string {
	who := s.Who
	if when != "" {
		who += " " + when
	}
	return who + ". It has changed nothing. " + s.Again
}
