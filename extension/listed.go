package extension

import "context"

// Listed is an instance with entries that editors show, such as skills.
type Listed interface {
	// Listing returns lists by their keys in the result of hermes.extensions. They are encoded as JSON. Their
	// fields are those of `hermes-ls NAME list --json`.
	Listing(ctx context.Context) (map[string]any, error)
}

// Opens is an instance with entries that users open in their editor.
type Opens interface {
	// Document returns the file that a command opens, such as hermes.skill.open with a name. If the command is not of
	// this instance, ok is false.
	Document(ctx context.Context, command, name string) (path string, ok bool, err error)
}
