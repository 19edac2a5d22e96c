package server

import (
	"errors"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// InputError is a mistake in the input of a user or a client.
type InputError = extension.InputError

func badInput(param, format string, a ...any) error { return extension.BadInput(param, format, a...) }

// Errors of sessions named by a client.
var (
	ErrNoSession = errors.New("no such session; the session list names those there are")
	ErrClosed    = errors.New("the session is closed: load or resume it first")
	ErrRunning   = errors.New("a turn is running in the session: cancel it or wait for it")
)

// Why a turn is canceled.
var (
	errClosing   = tools.ErrClosing
	errNewPrompt = &tools.Stopped{Who: "the user sent a new prompt, which interrupted this", Again: "Run it again only if the new prompt needs it"}
	errCancelled = &tools.Stopped{Who: "the user canceled this", Again: "Do not run it again unless the user asks for it", Canceled: true}
)
