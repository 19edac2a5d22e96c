package proc

import "bytes"

// Bounded is a writer that keeps its first Limit bytes and drops the rest.
type Bounded struct {
	Limit int
	Over  bool // something was dropped

	kept bytes.Buffer // not embedded: its ReadFrom knows no limit
}

// Write keeps the bytes within the limit. It never returns an error, so the program can run to its
// end.
func (b *Bounded) Write(p []byte) (int, error) {
	room := max(0, b.Limit-b.kept.Len())
	b.Over = b.Over || len(p) > room
	b.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}

// Bytes returns the kept bytes.
func (b *Bounded) Bytes() []byte { return b.kept.Bytes() }

// String returns the kept bytes.
func (b *Bounded) String() string { return b.kept.String() }
