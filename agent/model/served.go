package model

import "context"

// Served is a [Model] that knows how a server runs it.
type Served interface {
	// WindowFrom says which source tells the context window, in a few words. It makes no request.
	WindowFrom() string
	// Inspect asks a server that runs models for the window, as a prompt would, but loads no model. If the
	// endpoint is none, it makes no request and returns false.
	Inspect(ctx context.Context) (local bool)
	// Tells says what the user should know about the server. It makes no request. If there is nothing, it returns "".
	Tells() string
}

// Sources of a window that the endpoint and the configuration do not tell.
const (
	FromTable = "the program's table of models"
	FromGuess = "a guess: the provider does not tell it"
)

// ServedOf returns m, or the model in it, as a [Served]. If it is none, it returns nil.
func ServedOf(m Model) Served {
	served, _ := as[Served](m)
	return served
}
