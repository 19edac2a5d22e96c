package extension

import "context"

// Listed is an instance with entries for editors, such as skills.
type Listed interface {
	// Listing returns lists by their keys in the result of hermes.extensions. They are encoded as
	// JSON, with the fields of `hermes-ls NAME list --json`.
	Listing(ctx context.Context) (map[string]any, error)
}

// Opens is an instance with entries to open in the editor.
type Opens interface {
	// Document returns the file for a command, such as hermes.skill.open with a name. If the
	// command belongs to another instance, ok is false.
	Document(ctx context.Context, command, name string) (path string, ok bool, err error)
}
