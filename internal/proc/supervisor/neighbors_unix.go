//go:build unix

package supervisor

// neighbors are whose processes a user namespace has beside a child's.
type neighbors int

const (
	hosts    neighbors = iota // all of this user: there is no separate namespace
	nobodys                   // none
	commands                  // other commands' processes
)
