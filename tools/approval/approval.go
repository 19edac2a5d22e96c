// Package approval judges what the model wants to do before it is done: a shell
// command, a piece of Python, a path to write. It decides by parsing, not by
// searching text: what it cannot resolve asks, what does not parse is refused.
//
// It is a courtesy that catches mistakes, not a boundary: the boundaries are the
// path scope and the sandbox. It runs nothing and holds no state.
package approval

// Level is how far a verdict lets something go.
type Level int

const (
	Runs    Level = iota // without asking
	Asks                 // a person decides
	Refused              // nothing lifts it
)

// Verdict is a level with its reason.
type Verdict struct {
	Level  Level
	Reason string // for a person and the model: what it would do, such as "deletes files recursively"
	// Key is what a remembered yes covers, as narrow as it is honest, such as
	// "rm -rf build". Empty when Runs.
	Key string
}
