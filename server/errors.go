package server

import (
	"errors"
	"fmt"
)

// InputError is a mistake of the one who asked: which parameter, and what is wrong
// with it.
type InputError struct{ Param, Text string }

func (e *InputError) Error() string { return e.Param + ": " + e.Text }

func badInput(param, format string, a ...any) error {
	return &InputError{param, fmt.Sprintf(format, a...)}
}

// What may be wrong with a session that somebody names.
var (
	ErrNoSession = errors.New("no such session; the session list names those there are")
	ErrClosed    = errors.New("the session is closed: load or resume it first")
	ErrRunning   = errors.New("a turn is running in the session: cancel it or wait for it")
)

var (
	errClosing   = errors.New("the server is closing")
	errNewPrompt = errors.New("user sent a new message")
	errCancelled = errors.New("cancelled by the user")
)
