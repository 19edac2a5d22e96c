//go:build race

package spec

// Race is set if the race detector is in this program.
const Race = true
