package model

import "context"

// Served is a [Model] with information about its server.
type Served interface {
	// WindowFrom names the source of the context window, in a few words. It makes no request.
	WindowFrom() string
	// Inspect asks a model server for the window, as a prompt would, but loads no model. If the
	// endpoint is no model server, Inspect makes no request and returns false.
	Inspect(ctx context.Context) (local bool)
	// Tells returns a notice for the user about the server. It makes no request. If there is
	// nothing to report, it returns "".
	Tells() string
}

// Sources of a window unknown to the endpoint and the configuration.
const (
	FromTable = "the program's table of models"
	FromGuess = "a guess: the provider does not tell it"
)

// ServedOf returns m, or the model inside it, as a [Served]. If there is none, it returns nil.
func ServedOf(m Model) Served {
	served, _ := as[Served](m)
	return served
}
